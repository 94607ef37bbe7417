// Declarations, constants, command line.
#include "ops_seq_v2.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <link.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <string_view>

namespace {

namespace st = situ::stencil;

// The C API's instance. OPS keeps a global one, too: its functions have no other place to find it.
std::unique_ptr<OPS_instance> global;
std::atomic<int> instances = 0;

// Tells whether an argument is "OPS_TILESIZE_X=200" or "-OPS_TILESIZE_X=200", and takes its value.
bool takes(std::string_view argument, std::string_view name, int& value) {
  while (argument.starts_with('-')) argument.remove_prefix(1);
  if (!argument.starts_with(name)) return false;
  argument.remove_prefix(name.size());
  return std::from_chars(argument.data(), argument.data() + argument.size(), value).ec == std::errc{};
}

bool says(std::string_view argument, std::string_view name) {
  while (argument.starts_with('-')) argument.remove_prefix(1);
  return argument == name;
}

}  // namespace

OPS_instance::OPS_instance() : OPS_instance{0, nullptr, 1} {}

OPS_instance::OPS_instance(int argc, const char* const* argv, int diags_level, std::ostream& out)
    : OPS_diags{diags_level}, out_{&out} {
  how_ = parse(argc, argv);
  ++instances;
}

// Static initializers may have declared things before: those stay, as in OPS, and their settings are valid (also
// OPS_soa).
void OPS_instance::init(int argc, const char* const* argv, int diags_level) {
  OPS_diags = diags_level;
  how_ = parse(argc, argv);
  if (context_ != nullptr) move_to_new_context();
}

situ::stencil::context& OPS_instance::situ() {
  if (context_ == nullptr) context_ = std::make_unique<st::context>(how_);
  return *context_;
}

void OPS_instance::move_to_new_context() {
  execute();
  const auto old = std::exchange(context_, std::make_unique<st::context>(how_));
  for (auto& b : blocks_) b.situ_block = context_->add_block(b.situ_name, b.dims);
  for (auto& r : reductions_) {
    auto* const from = std::exchange(r.core, context_->add_reduction(r.situ_name, 1, r.size));
    *r.core = *from;
    r.core->owner = context_.get();
  }
  for (auto& dat : dats_) {
    if (dat.core == nullptr) continue;
    const auto& from = *dat.core;
    if (!from.is_foreign && std::find(seen_.begin(), seen_.end(), &dat) != seen_.end()) {
      situ::throw_error(
          situ::errc::bad_argument,
          fmt::format("ops_init after the program took the address of dataset '{}', which may move now", dat.name));
    }
    place(&dat);
    if (from.is_foreign) continue;
    std::vector<char> values(static_cast<std::size_t>(from.valid.points()) * static_cast<std::size_t>(dat.elem_size));
    old->fetch(from, from.valid, st::component_order::interleaved, values.data());
    context_->store(*dat.core, from.valid, st::component_order::interleaved, values.data());
  }
}

int OPS_instance::numInstances() { return instances; }
void OPS_instance::exit() { execute(); }

// Executes the queued loops, as an executor would have: a program may look at its own memory (user-managed datasets)
// after the last loop.
OPS_instance::~OPS_instance() {
  --instances;
  try {
    execute();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ops: queued loops failed at the end: %s\n", e.what());
  }
}

st::options OPS_instance::parse(int argc, const char* const* argv) {
  st::options how;
  how.run_by = st::executor::plain;
  how.check_bounds = false;  // OPS programs declare wider stencils than their kernels use
  for (int n = 0; n < argc; ++n) {
    const std::string_view a = argv[n];
    int value = 0;
    if (says(a, "OPS_TILING"))
      how.run_by = st::executor::tiled;
    else if (says(a, "SITU_OUT_OF_CORE"))
      how.run_by = st::executor::out_of_core;
    else if (says(a, "SITU_AT_ONCE"))
      at_once_ = true;
    else if (says(a, "SITU_WRITE_ALL"))
      writes_all_ = true;
    else if (takes(a, "OPS_DIAGS=", value))
      OPS_diags = value;
    else if (takes(a, "OPS_CACHE_SIZE=", value))
      how.cache_bytes = static_cast<std::uint64_t>(value) << 20;
    else if (takes(a, "OPS_TILESIZE_X=", value))
      how.tile[0] = value;
    else if (takes(a, "OPS_TILESIZE_Y=", value))
      how.tile[1] = value;
    else if (takes(a, "OPS_TILESIZE_Z=", value))
      how.tile[2] = value;
    else if (takes(a, "OPS_TILESIZE_U=", value))
      how.tile[3] = value;
    else if (takes(a, "OPS_TILESIZE_V=", value))
      how.tile[4] = value;
  }
  how.report = OPS_diags > 1;
  return st::options::from_environment(how);
}

OPS_instance* OPS_instance::getOPSInstance() {
  if (!global) global = std::make_unique<OPS_instance>();
  return global.get();
}

void ops_init(int argc, const char* const argv[], int diags_level) {
  OPS_instance::getOPSInstance()->init(argc, argv, diags_level);
}
void _ops_init(OPS_instance* instance, int argc, const char* const argv[], int diags_level) {
  instance->init(argc, argv, diags_level);
}
void ops_exit() { global.reset(); }
void ops_set_soa(int soa) { OPS_instance::getOPSInstance()->OPS_soa = soa; }

ops_block OPS_instance::decl_block(int dims, const char* name) {
  auto& b = blocks_.emplace_back();
  b.index = static_cast<int>(blocks_.size()) - 1;
  b.dims = dims;
  b.situ_name = name;
  b.name = b.situ_name.c_str();
  b.instance = this;
  b.situ_block = situ().add_block(name, dims);
  return &b;
}

ops_dat OPS_instance::add_dat(ops_block block, int dim, const int* size, const int* base, const int* d_m,
                              const int* d_p, const int* stride, char* data, int type_size, char const* type,
                              char const* name) {
  st::dataset_layout layout;
  for (int d = 0; d < block->dims; ++d) {
    layout.inner.low[static_cast<std::size_t>(d)] = base[d];
    layout.inner.high[static_cast<std::size_t>(d)] = base[d] + size[d];
    layout.below[static_cast<std::size_t>(d)] = -d_m[d];
    layout.above[static_cast<std::size_t>(d)] = d_p[d];
  }
  layout.components = dim;
  // The order that programs see through raw pointers, and that they use in memory of their own.
  layout.order = OPS_soa != 0 ? st::component_order::planar : st::component_order::interleaved;
  layout.memory = data;
  auto& t = dats_.emplace_back();
  t.index = static_cast<int>(dats_.size()) - 1;
  t.block = block;
  t.dim = dim;
  t.type_size = type_size;
  t.elem_size = dim * type_size;
  t.situ_name = name;
  t.situ_type = type;
  t.name = t.situ_name.c_str();
  t.type = t.situ_type.c_str();
  t.user_managed = data != nullptr ? 1 : 0;
  for (int d = 0; d < block->dims; ++d) {
    t.base[d] = base[d];
    t.d_m[d] = d_m[d];
    if (stride != nullptr) t.stride[d] = stride[d];
  }
  t.situ_layout = layout;
  place(&t);
  if (data != nullptr) {
    t.situ_is_seen = true;
    seen_.push_back(&t);
  }
  return &t;
}

// Makes the dataset, and describes its memory to the program.
void OPS_instance::place(ops_dat dat) {
  const auto& layout = dat->situ_layout;
  const auto& type = dat->situ_type;
  dat->core = situ().add_dataset(dat->block->situ_block, dat->situ_name, dat->block->dims, layout,
                                 static_cast<std::size_t>(dat->type_size),
                                 type == "double"  ? typeid(double).name()
                                 : type == "float" ? typeid(float).name()
                                                   : type);
  const auto& core = *dat->core;
  for (int d = 0; d < dat->block->dims; ++d) {
    const auto n = static_cast<std::size_t>(d);
    // As in OPS, the padding of rows counts as ghost points: programs index memory by size.
    const int room = d + 1 < dat->block->dims && !core.in_file ? static_cast<int>(core.stride[n + 1] / core.stride[n])
                                                               : core.valid.extent(d);
    dat->size[d] = room;
    dat->d_p[d] = layout.above[n] + room - core.valid.extent(d);
    if (d == 0) dat->x_pad = room - core.valid.extent(d);
  }
  dat->mem = core.bytes;
}

void OPS_instance::free_dat(ops_dat dat) {
  execute();
  show_no_more(dat);
  context_->remove_dataset(dat->core);
  dat->core = nullptr;
}

ops_dat OPS_instance::copy_dat(ops_dat from) {
  int base[OPS_MAX_DIM], size[OPS_MAX_DIM], d_p[OPS_MAX_DIM];
  for (int d = 0; d < OPS_MAX_DIM; ++d) {
    base[d] = from->base[d];
    size[d] = from->core->inner.extent(d);
    d_p[d] = from->ghosts_above(d);
  }
  const ops_dat made = add_dat(from->block, from->dim, size, base, from->d_m, d_p, from->stride, nullptr,
                               from->type_size, from->type, from->name);
  ops_dat_deep_copy(made, from);
  return made;
}

ops_stencil OPS_instance::add_stencil(int dims, int points, int* stencil, const int* stride, char const* name,
                                      int type) {
  std::vector<st::coordinates> offsets(static_cast<std::size_t>(points));
  for (int p = 0; p < points; ++p) {
    for (int d = 0; d < dims; ++d)
      offsets[static_cast<std::size_t>(p)][static_cast<std::size_t>(d)] = stencil[p * dims + d];
  }
  st::coordinates multiplier{1, 1, 1, 1, 1}, divisor{1, 1, 1, 1, 1};
  for (int d = 0; d < dims && stride != nullptr; ++d)
    (type == 2 ? divisor : multiplier)[static_cast<std::size_t>(d)] = stride[d];
  auto& s = stencils_.emplace_back();
  s.index = static_cast<int>(stencils_.size()) - 1;
  s.dims = dims;
  s.points = points;
  s.type = type;
  s.instance = this;
  s.shape = std::make_unique<st::shape>(name, dims, offsets, multiplier, divisor);
  s.name = s.shape->name().c_str();
  s.situ_points.assign(stencil, stencil + points * dims);
  s.situ_stride.assign(static_cast<std::size_t>(dims), 1);
  if (stride != nullptr) s.situ_stride.assign(stride, stride + dims);
  s.stencil = s.situ_points.data();
  s.stride = s.situ_stride.data();
  return &s;
}

ops_stencil OPS_instance::decl_stencil(int dims, int points, int* stencil, char const* name) {
  return add_stencil(dims, points, stencil, nullptr, name, 0);
}
ops_stencil OPS_instance::decl_strided_stencil(int dims, int points, int* stencil, int* stride, char const* name) {
  return add_stencil(dims, points, stencil, stride, name, 0);
}
ops_stencil OPS_instance::decl_restrict_stencil(int dims, int points, int* stencil, int* stride, char const* name) {
  return add_stencil(dims, points, stencil, stride, name, 1);
}
ops_stencil OPS_instance::decl_prolong_stencil(int dims, int points, int* stencil, int* stride, char const* name) {
  return add_stencil(dims, points, stencil, stride, name, 2);
}

ops_reduction OPS_instance::decl_reduction_handle(int size, const char* type, const char* name) {
  auto& r = reductions_.emplace_back();
  r.index = static_cast<int>(reductions_.size()) - 1;
  r.size = size;
  r.situ_name = name;
  r.situ_type = type;
  r.name = r.situ_name.c_str();
  r.type = r.situ_type.c_str();
  r.instance = this;
  r.core = situ().add_reduction(name, 1, size);
  return &r;
}

namespace {

// Tells whether an address is in a global variable of the program or a library. Kernels can read only those by name,
// and other memory may be gone later: programs pass temporaries to ops_update_const.
bool is_global_variable(const void* at) {
  struct search {
    std::uintptr_t at;
  } what{reinterpret_cast<std::uintptr_t>(at)};
  return dl_iterate_phdr(
             [](dl_phdr_info* object, std::size_t, void* data) {
               const auto address = static_cast<const search*>(data)->at;
               for (int n = 0; n < object->dlpi_phnum; ++n) {
                 const auto& segment = object->dlpi_phdr[n];
                 const std::uintptr_t first = object->dlpi_addr + segment.p_vaddr;
                 if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && address >= first &&
                     address < first + segment.p_memsz)
                   return 1;
               }
               return 0;
             },
             &what) != 0;
}

}  // namespace

void OPS_instance::note_constant(const std::string& name, void* at, std::size_t bytes) {
  execute();
  auto* const first = static_cast<char*>(at);
  if (is_global_variable(at)) constants_[name] = {first, {first, first + bytes}};
}

void OPS_instance::keep_constants() {
  bool changed = false;
  for (const auto& [name, c] : constants_) changed = changed || std::memcmp(c.at, c.value.data(), c.value.size()) != 0;
  if (!changed) return;
  const auto exchange = [this] {
    for (auto& [name, c] : constants_) std::swap_ranges(c.value.begin(), c.value.end(), c.at);
  };
  if (context_ != nullptr && context_->is_queued()) {
    exchange();  // back to the old values
    try {
      context_->execute();
    } catch (...) {
      exchange();
      throw;
    }
    exchange();
  }
  for (auto& [name, c] : constants_) std::copy_n(c.at, c.value.size(), c.value.begin());
}

void OPS_instance::execute() {
  keep_constants();
  if (context_ != nullptr) context_->execute();
}

ops_block ops_decl_block(int dims, const char* name) { return OPS_instance::getOPSInstance()->decl_block(dims, name); }
ops_reduction ops_decl_reduction_handle(int size, const char* type, const char* name) {
  return OPS_instance::getOPSInstance()->decl_reduction_handle(size, type, name);
}
ops_stencil ops_decl_stencil(int dims, int points, int* stencil, char const* name) {
  return OPS_instance::getOPSInstance()->decl_stencil(dims, points, stencil, name);
}
ops_stencil ops_decl_strided_stencil(int dims, int points, int* stencil, int* stride, char const* name) {
  return OPS_instance::getOPSInstance()->decl_strided_stencil(dims, points, stencil, stride, name);
}
ops_stencil ops_decl_restrict_stencil(int dims, int points, int* stencil, int* stride, char const* name) {
  return OPS_instance::getOPSInstance()->decl_restrict_stencil(dims, points, stencil, stride, name);
}
ops_stencil ops_decl_prolong_stencil(int dims, int points, int* stencil, int* stride, char const* name) {
  return OPS_instance::getOPSInstance()->decl_prolong_stencil(dims, points, stencil, stride, name);
}
void ops_partition(const char* method) { OPS_instance::getOPSInstance()->partition(method); }
void ops_execute(OPS_instance* instance) {
  (instance != nullptr ? instance : OPS_instance::getOPSInstance())->execute();
}

namespace {
void* checked(void* at, std::size_t bytes) {
  if (at == nullptr && bytes > 0) {
    std::fprintf(stderr, "ops: no memory for %zu bytes\n", bytes);
    std::exit(1);
  }
  return at;
}
}  // namespace

void* xmalloc(size_t bytes) { return checked(std::malloc(bytes), bytes); }
void* xrealloc(void* old, size_t bytes) { return checked(std::realloc(old, bytes), bytes); }
void* xcalloc(size_t count, size_t bytes) { return checked(std::calloc(count, bytes), count * bytes); }
