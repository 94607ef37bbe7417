// OPS's API (version 2, C++) over situ::stencil: the declarations and queries of programs. Parallel loops are in
// ops_seq_v2.h. The behaviour is that of OPS's documentation; docs/guide/ops.md lists the parts that are missing.
//
// One thread makes all calls. Loops are queued; calls that return data execute them first (situ/stencil/context.h).
#pragma once

#ifndef OPS_API
#define OPS_API 2
#endif

#include "ops_acc.h"
#include "ops_exceptions.h"

#include <situ/stencil/context.h>

// Includes both kinds: programs call isnan, and abs of a floating-point number, with std:: and without.
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include <cfloat>
#include <climits>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#define OPS_MAX_DIM 5

#define OPS_READ 0
#define OPS_WRITE 1
#define OPS_RW 2
#define OPS_INC 3
#define OPS_MIN 4
#define OPS_MAX 5

#define OPS_ARG_GBL 0
#define OPS_ARG_DAT 1
#define OPS_ARG_IDX 2

#define OPS_HOST 1
#define OPS_DEVICE 2

#ifndef MIN
#define MIN(a, b) (((a) < (b)) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#endif
#ifndef MIN3
#define MIN3(a, b, c) MIN(a, MIN(b, c))
#endif
#ifndef MAX3
#define MAX3(a, b, c) MAX(a, MAX(b, c))
#endif
#ifndef SIGN
#define SIGN(a, b) (((b) < 0.0) ? ((a) * (-1)) : (a))
#endif

#define ZERO_double 0.0
#define INFINITY_double DBL_MAX
#define ZERO_float 0.0f
#define INFINITY_float FLT_MAX
#define ZERO_int 0
#define INFINITY_int INT_MAX
#define ZERO_long 0
#define INFINITY_long LONG_MAX

// Qualifiers of other back ends that appear in kernels.
#define OPS_FUN_PREFIX
#ifndef __host__
#define __host__
#define __device__
#endif

typedef int ops_access;
typedef int ops_arg_type;
typedef int ops_memspace;
typedef std::complex<double> complexd;
typedef std::complex<float> complexf;
typedef _Float16 half;
typedef long long ll;
typedef unsigned long long ull;

class OPS_instance;
class ops_dat_core;
class ops_block_core;
class ops_stencil_core;
struct ops_reduction_core;
struct ops_halo_core;
struct ops_halo_group_core;
typedef ops_block_core* ops_block;
typedef ops_dat_core* ops_dat;
typedef ops_stencil_core* ops_stencil;
typedef ops_reduction_core* ops_reduction;
typedef ops_halo_core* ops_halo;
typedef ops_halo_group_core* ops_halo_group;

// The address of memory that loops change. Taking it executes the queued loops first; and since the program may look
// there at any time from then on, loops over such a dataset run at once. The object converts to any pointer type that
// the program asks for. (reinterpret_cast does not convert.)
class situ_ops_address {
 public:
  situ_ops_address(char* (*look)(void* owner), void* owner) noexcept : look_{look}, owner_{owner} {}
  situ_ops_address(const situ_ops_address&) = default;
  situ_ops_address& operator=(const situ_ops_address&) = delete;
  template <class T>
  operator T*() const {  // NOLINT
    return static_cast<T*>(static_cast<void*>(look_(owner_)));
  }
  char& operator[](std::ptrdiff_t byte) const { return look_(owner_)[byte]; }
  char& operator*() const { return *look_(owner_); }
  friend char* operator+(const situ_ops_address& a, std::ptrdiff_t bytes) { return a.look_(a.owner_) + bytes; }
  friend bool operator==(const situ_ops_address& a, std::nullptr_t) { return a.look_(a.owner_) == nullptr; }
  explicit operator bool() const { return look_(owner_) != nullptr; }

 private:
  char* (*look_)(void* owner);
  void* owner_;
};

class ops_block_core {
 public:
  int index = 0;
  int dims = 0;
  char const* name = nullptr;
  OPS_instance* instance = nullptr;
  int situ_block = 0;
  std::string situ_name;

  template <class T>
  ops_dat decl_dat(int dim, int* size, int* base, int* d_m, int* d_p, int* stride, T* data, char const* type,
                   char const* name);
  template <class T>
  ops_dat decl_dat(int dim, int* size, int* base, int* d_m, int* d_p, T* data, char const* type, char const* name);
};

struct ops_reduction_core {
  static char* situ_look(void* reduction);
  situ_ops_address data{situ_look, this};  // the sum so far
  int size = 0;
  int initialized = 0;
  int index = 0;
  ops_access acc = -1;
  char const* type = nullptr;
  char const* name = nullptr;
  OPS_instance* instance = nullptr;
  situ::stencil::reduction_core* core = nullptr;
  std::string situ_name, situ_type;

  template <class T>
  void get_result(T* to);
};

class ops_stencil_core {
 public:
  int index = 0;
  int dims = 0;
  int points = 0;
  char const* name = nullptr;
  int* stencil = nullptr;
  int* stride = nullptr;
  int type = 0;  // 0 or 1: the index is multiplied by the stride; 2: divided by it
  OPS_instance* instance = nullptr;
  std::unique_ptr<situ::stencil::shape> shape;
  std::vector<int> situ_points, situ_stride;
};

class ops_dat_core {
  static char* situ_look(void* dat);

 public:
  int index = 0;
  ops_block block = nullptr;
  int dim = 1;
  int type_size = 0;
  int elem_size = 0;
  int size[OPS_MAX_DIM] = {1, 1, 1, 1, 1};  // with ghost points and padding
  int base[OPS_MAX_DIM] = {};
  int d_m[OPS_MAX_DIM] = {};
  int d_p[OPS_MAX_DIM] = {};  // with padding
  int x_pad = 0;
  int stride[OPS_MAX_DIM] = {1, 1, 1, 1, 1};
  situ_ops_address data{situ_look, this};  // the lowest ghost point; out of core, of a copy that follows each loop
  char const* name = nullptr;
  char const* type = nullptr;
  int user_managed = 0;
  int is_hdf5 = 0;  // declared from a file
  char const* hdf5_file = "none";
  size_t mem = 0;
  situ::stencil::dataset_core* core = nullptr;
  int reduced_by = -1;  // the access mode of the last reduction into it, until its value is read
  std::string situ_name, situ_type, situ_file;
  situ::stencil::dataset_layout situ_layout;
  bool situ_is_seen = false;    // the program has an address into it
  bool situ_is_lent = false;    // until the program releases it
  std::vector<char> situ_copy;  // out of core: the copy that the program sees

  int ghosts_above(int d) const {
    return core->valid.high[static_cast<std::size_t>(d)] - core->inner.high[static_cast<std::size_t>(d)];
  }
  int get_local_npartitions() { return 1; }
  int get_global_npartitions() { return 1; }
  void get_extents(int part, int* disp, int* sizes);
  size_t get_slab_extents(int part, int* disp, int* sizes, int* slab);
  void get_raw_metadata(int part, int* disp, int* sizes, int* strides, int* m, int* p);
  char* get_raw_pointer(int part, ops_stencil stencil, ops_memspace* memspace);
  void release_raw_data(int part, ops_access acc);
  void release_raw_data(int part, ops_access acc, ops_memspace* memspace);
  void fetch_data(int part, char* to, ops_memspace memspace = OPS_HOST);
  void fetch_data_slab(int part, char* to, int* range, ops_memspace memspace = OPS_HOST);
  void set_data(int part, char* from, ops_memspace memspace = OPS_HOST);
  void set_data_slab(int part, char* from, int* range, ops_memspace memspace = OPS_HOST);
  void print_to_txtfile(const char* file_name);
  void get_data();
};

struct ops_halo_core {
  ops_dat from = nullptr;
  ops_dat to = nullptr;
  int iter_size[OPS_MAX_DIM] = {1, 1, 1, 1, 1};
  int from_base[OPS_MAX_DIM] = {};
  int to_base[OPS_MAX_DIM] = {};
  int from_dir[OPS_MAX_DIM] = {1, 2, 3, 4, 5};
  int to_dir[OPS_MAX_DIM] = {1, 2, 3, 4, 5};
  int index = 0;
};

struct ops_halo_group_core {
  int nhalos = 0;
  ops_halo* halos = nullptr;
  int index = 0;
  OPS_instance* instance = nullptr;
  std::vector<ops_halo> situ_halos;

  void halo_transfer();
};

// The argument type of ops_par_loop. The kinds are types, so that the loop is compiled for them.
struct ops_arg {
  ops_dat dat = nullptr;
  ops_stencil stencil = nullptr;
  int dim = 1;
  char* data = nullptr;
  ops_access acc = OPS_READ;
  ops_arg_type argtype = OPS_ARG_GBL;
  int opt = 1;
  int elem_size = 0;
  ops_reduction reduction = nullptr;
};
struct situ_ops_arg_dat : ops_arg {};
struct situ_ops_arg_gbl : ops_arg {};
struct situ_ops_arg_idx : ops_arg {};
struct situ_ops_arg_reduce : ops_arg {};

class OPS_instance {
 public:
  OPS_instance();
  OPS_instance(int argc, const char* const* argv, int diags_level, std::ostream& out = std::cout);
  ~OPS_instance();
  OPS_instance(const OPS_instance&) = delete;
  OPS_instance& operator=(const OPS_instance&) = delete;
  static OPS_instance* getOPSInstance();
  static int numInstances();
  void exit();  // executes the queued loops

  ops_block decl_block(int dims, const char* name);
  ops_stencil decl_stencil(int dims, int points, int* stencil, char const* name);
  ops_stencil decl_strided_stencil(int dims, int points, int* stencil, int* stride, char const* name);
  ops_stencil decl_restrict_stencil(int dims, int points, int* stencil, int* stride, char const* name);
  ops_stencil decl_prolong_stencil(int dims, int points, int* stencil, int* stride, char const* name);
  ops_reduction decl_reduction_handle(int size, const char* type, const char* name);
  ops_halo decl_halo(ops_dat from, ops_dat to, int* iter_size, int* from_base, int* to_base, int* from_dir,
                     int* to_dir);
  ops_halo_group decl_halo_group(int nhalos, ops_halo* halos);
  template <class T>
  void decl_const(char const* name, int dim, char const*, T* data) {
    note_constant(name, data, static_cast<std::size_t>(dim) * sizeof(T));
  }
  template <class T>
  void update_const(char const* name, int dim, char const*, T* data) {
    note_constant(name, data, static_cast<std::size_t>(dim) * sizeof(T));
  }
  void partition(const char*) {}
  void diagnostic_output();
  void timing_output(std::ostream& to);
  void reset_power_counters() {}
  int is_root() { return 1; }
  std::ostream& ostream() { return *out_; }
  void set_ostream(std::ostream& to) { out_ = &to; }

  int OPS_diags = 1;
  int OPS_soa = 0;

  // The rest is for the templates of the headers, and for other files of this library.
  void init(int argc, const char* const* argv, int diags_level);
  situ::stencil::context& situ();
  // Returns the access mode that executors get for an argument. Kernels declared with OPS_WRITE may leave out points
  // or components, which keep their values in OPS: so data in a store is read first, unless the program promises never
  // to do that (SITU_WRITE_ALL).
  [[nodiscard]] situ::stencil::access_mode access_of(const ops_arg& a) const;
  // Queues a loop. A loop over memory that the program can see runs at once.
  void enqueue(std::unique_ptr<situ::stencil::loop> l);
  // Copies between a dataset and a buffer with the components of a point side by side. Both execute the queued loops.
  void fetch(ops_dat dat, const situ::stencil::box& what, void* to);
  void store(ops_dat dat, const situ::stencil::box& what, const void* from);
  // Enclose any other read or change of data: they keep the program's view of a dataset equal to its contents.
  void begin_access(ops_dat dat);
  void end_access(ops_dat dat);
  // Returns the lowest valid element. The program may read and change the data until it releases the pointer.
  char* show(ops_dat dat);
  void show_no_more(ops_dat dat);
  ops_dat add_dat(ops_block block, int dim, const int* size, const int* base, const int* d_m, const int* d_p,
                  const int* stride, char* data, int type_size, char const* type, char const* name);
  void free_dat(ops_dat dat);
  ops_dat copy_dat(ops_dat dat);
  // Constants are global variables that kernels read when they run, so queued loops must run with the values that the
  // constants had when the loops were queued.
  void note_constant(const std::string& name, void* at, std::size_t bytes);
  void keep_constants();
  void execute();
  std::deque<ops_block_core>& blocks() { return blocks_; }
  std::deque<ops_dat_core>& dats() { return dats_; }
  std::deque<ops_stencil_core>& stencils() { return stencils_; }
  std::deque<ops_halo_core>& halos() { return halos_; }

 private:
  struct constant {
    char* at;
    std::vector<char> value;
  };
  ops_stencil add_stencil(int dims, int points, int* stencil, const int* stride, char const* name, int type);
  [[nodiscard]] situ::stencil::options parse(int argc, const char* const* argv);
  void place(ops_dat dat);
  void move_to_new_context();

  std::ostream* out_ = &std::cout;
  situ::stencil::options how_;
  std::unique_ptr<situ::stencil::context> context_;  // null until the first block or reduction is declared
  std::deque<ops_block_core> blocks_;
  std::deque<ops_dat_core> dats_;
  std::deque<ops_stencil_core> stencils_;
  std::deque<ops_reduction_core> reductions_;
  std::deque<ops_halo_core> halos_;
  std::deque<ops_halo_group_core> groups_;
  std::map<std::string, constant> constants_;
  std::vector<ops_dat> seen_;  // datasets whose memory the program can see
  bool at_once_ = false;       // all loops run at once
  bool writes_all_ = false;
};

void ops_init(int argc, const char* const argv[], int diags_level);
inline void ops_init(int argc, char** argv, int diags_level) {
  ops_init(argc, const_cast<const char* const*>(argv), diags_level);
}
void ops_exit();
void _ops_init(OPS_instance* instance, int argc, const char* const argv[], int diags_level);
void ops_set_soa(int soa);
ops_block ops_decl_block(int dims, const char* name);
// Fills from std::mt19937, ghost points included; integers are not negative.
void ops_randomgen_init(unsigned int seed, int options);
void ops_fill_random_uniform(ops_dat dat);  // [0, 1)
void ops_fill_random_normal(ops_dat dat);
inline void ops_randomgen_exit() {}
void ops_free_dat(ops_dat dat);
ops_dat ops_dat_copy(ops_dat dat);
void ops_dat_deep_copy(ops_dat target, ops_dat source);
ops_reduction ops_decl_reduction_handle(int size, const char* type, const char* name);
ops_stencil ops_decl_stencil(int dims, int points, int* stencil, char const* name);
ops_stencil ops_decl_strided_stencil(int dims, int points, int* stencil, int* stride, char const* name);
ops_stencil ops_decl_restrict_stencil(int dims, int points, int* stencil, int* stride, char const* name);
ops_stencil ops_decl_prolong_stencil(int dims, int points, int* stencil, int* stride, char const* name);
ops_halo ops_decl_halo(ops_dat from, ops_dat to, int* iter_size, int* from_base, int* to_base, int* from_dir,
                       int* to_dir);
ops_halo_group ops_decl_halo_group(int nhalos, ops_halo* halos);
void ops_halo_transfer(ops_halo_group group);
void ops_partition(const char* method);
inline void ops_partition_opts(const char* method, std::map<std::string, void*>&) { ops_partition(method); }
void ops_execute(OPS_instance* instance = nullptr);

void ops_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
void ops_fprintf(FILE* stream, const char* format, ...) __attribute__((format(printf, 2, 3)));
void ops_diagnostic_output();
void ops_timing_output(std::ostream& to);
void ops_timing_output(FILE* to);
void ops_timing_output_stdout();
void ops_timers(double* cpu, double* elapsed);
void ops_timers_core(double* cpu, double* elapsed);
void ops_print_dat_to_txtfile(ops_dat dat, const char* file);
void ops_print_dat_to_txtfile_core(ops_dat dat, const char* file);
void ops_get_data(ops_dat dat);
int ops_is_root();
int ops_num_procs();
int ops_get_proc();
void ops_NaNcheck(ops_dat dat);

// No checkpoints are written: the program restarts itself. false: this is no restart, and no loop was skipped.
#define OPS_CHECKPOINT_INITPHASE 1
#define OPS_CHECKPOINT_MANUAL_DATLIST 2
#define OPS_CHECKPOINT_FASTFW 4
#define OPS_CHECKPOINT_MANUAL 8
inline bool ops_checkpointing_init(const char*, double, int) { return false; }
inline void ops_checkpointing_initphase_done() {}
inline void ops_checkpointing_manual_datlist(int, ops_dat*) {}
inline bool ops_checkpointing_fastfw(int, char*) { return false; }
inline bool ops_checkpointing_manual_datlist_fastfw(int, ops_dat*, int, char*) { return false; }
inline bool ops_checkpointing_manual_datlist_fastfw_trigger(int, ops_dat*, int, char*) { return false; }

// Allocates as malloc does, but ends the program with a message if malloc would return null.
void* xmalloc(size_t bytes);
void* xrealloc(void* old, size_t bytes);
void* xcalloc(size_t count, size_t bytes);
inline void* ops_malloc(size_t bytes) { return xmalloc(bytes); }
inline void* ops_realloc(void* old, size_t bytes) { return xrealloc(old, bytes); }
inline void* ops_calloc(size_t count, size_t bytes) { return xcalloc(count, bytes); }
inline void ops_free(void* at) { std::free(at); }

int ops_dat_get_local_npartitions(ops_dat dat);
int ops_dat_get_global_npartitions(ops_dat dat);
void ops_dat_get_extents(ops_dat dat, int part, int* disp, int* sizes);
size_t ops_dat_get_slab_extents(ops_dat dat, int part, int* disp, int* sizes, int* slab);
void ops_dat_get_raw_metadata(ops_dat dat, int part, int* disp, int* size, int* stride, int* d_m, int* d_p);
char* ops_dat_get_raw_pointer(ops_dat dat, int part, ops_stencil stencil, ops_memspace* memspace);
void ops_dat_release_raw_data(ops_dat dat, int part, ops_access acc);
void ops_dat_release_raw_data_memspace(ops_dat dat, int part, ops_access acc, ops_memspace* memspace);
void ops_dat_fetch_data(ops_dat dat, int part, char* data);
void ops_dat_fetch_data_memspace(ops_dat dat, int part, char* data, ops_memspace memspace);
void ops_dat_fetch_data_slab_memspace(ops_dat dat, int part, char* data, int* range, ops_memspace memspace);
void ops_dat_set_data(ops_dat dat, int part, char* data);
void ops_dat_set_data_memspace(ops_dat dat, int part, char* data, ops_memspace memspace);
void ops_dat_set_data_slab_memspace(ops_dat dat, int part, char* data, int* range, ops_memspace memspace);

situ_ops_arg_dat ops_arg_dat(ops_dat dat, int dim, ops_stencil stencil, char const* type, ops_access acc);
situ_ops_arg_dat ops_arg_dat_opt(ops_dat dat, int dim, ops_stencil stencil, char const* type, ops_access acc, int flag);
situ_ops_arg_idx ops_arg_idx();
situ_ops_arg_reduce ops_arg_reduce(ops_reduction handle, int dim, const char* type, ops_access acc);
// Checks the values that the program has there now. Throws bad_argument unless acc is OPS_READ: sums are for
// ops_arg_reduce.
void situ_ops_check_global(ops_access acc);
template <class T>
situ_ops_arg_gbl ops_arg_gbl(T* data, int dim, char const*, ops_access acc) {
  situ_ops_check_global(acc);
  situ_ops_arg_gbl a;
  a.data = const_cast<char*>(reinterpret_cast<const char*>(data));
  a.dim = dim;
  a.acc = acc;
  a.elem_size = static_cast<int>(sizeof(T));
  return a;
}

void situ_ops_reduction_result(ops_reduction handle, void* to, std::size_t element_bytes);
template <class T>
void ops_reduction_result(ops_reduction handle, T* to) {
  situ_ops_reduction_result(handle, to, sizeof(T));
}
template <class T>
void ops_reduction_core::get_result(T* to) {
  ops_reduction_result(this, to);
}

template <class T>
ops_dat ops_decl_dat(ops_block block, int dim, int* size, int* base, int* d_m, int* d_p, int* stride, T* data,
                     char const* type, char const* name) {
  return block->instance->add_dat(block, dim, size, base, d_m, d_p, stride, reinterpret_cast<char*>(data),
                                  static_cast<int>(sizeof(T)), type, name);
}
template <class T>
ops_dat ops_decl_dat(ops_block block, int dim, int* size, int* base, int* d_m, int* d_p, T* data, char const* type,
                     char const* name) {
  return ops_decl_dat(block, dim, size, base, d_m, d_p, static_cast<int*>(nullptr), data, type, name);
}
template <class T>
ops_dat ops_block_core::decl_dat(int n, int* size, int* base, int* d_m, int* d_p, int* stride, T* data,
                                 char const* type, char const* label) {
  return ops_decl_dat(this, n, size, base, d_m, d_p, stride, data, type, label);
}
template <class T>
ops_dat ops_block_core::decl_dat(int n, int* size, int* base, int* d_m, int* d_p, T* data, char const* type,
                                 char const* label) {
  return ops_decl_dat(this, n, size, base, d_m, d_p, data, type, label);
}

template <class T>
void ops_decl_const(char const* name, int dim, char const* type, T* data) {
  OPS_instance::getOPSInstance()->decl_const(name, dim, type, data);
}
template <class T>
void ops_update_const(char const* name, int dim, char const* type, T* data) {
  OPS_instance::getOPSInstance()->update_const(name, dim, type, data);
}

#include "ops_hdf5.h"
#include "ops_tridiag.h"
