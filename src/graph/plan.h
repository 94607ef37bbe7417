// The plan of a copy: the copy itself, in working memory, with offsets for pointers; and the types of its objects.
//
// Two passes (docs/decisions/0004-graph-copy.md). discover() is Cheney's: it appends each object to the image when it
// is first met, and scans the image from its start, replacing each pointer by the offset of its target; the image is
// the queue. Adjacent objects of one type are one run, so types cost a record only when they change. write() goes along
// the runs and moves the image to its destination, turning offsets into addresses on the way. Large plain data stays at
// the source until then. Values (values.h) are copied after that, from the source.
//
//   runs     | units 4 to 7: list | 7 to 9: leaf | 9 to 512009: block of doubles, left | ...    16 bytes each
//   image    | head, 4 units | object 1 | object 2 | room for a block | ...
//   left     | address and bytes of each left block | ...
//   values   | address of each object with values, at the source and in the copy | ...
//
// Invariants
//   1. The image holds the objects in the order in which they were met, simple pointers before `others`; each at the
//      next unit that suits its alignment.
//   2. Within a run, objects lie without gaps. The last run is open: it ends at next_.
//   3. Below the scan, pointers of the image are offsets in bytes from its start, plus pointer_base_ (null stays null);
//      beyond it they are the source's.
//   4. The source is only read.
// A plan is reused: its memory stays with the thread, as do the copy maps, which only discover() needs. Not
// thread-safe.
#pragma once

#include <situ/graph/clone.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "graph/copy_map.h"
#include "graph/reserved.h"
#include "graph/scan_run.h"
#include "graph/values.h"
#include "pages/huge_pages.h"

namespace situ::detail {

// A list whose capacity the caller reserves ahead, so that pushing is a store.
template <class T>
class growing_list {
 public:
  void reserve_more(std::size_t n) {
    if (size_ + n > capacity_) [[unlikely]] {
      (void)memory_.at(0, (size_ + n) * sizeof(T));
      data_ = static_cast<T*>(memory_.at(0, 0));
      capacity_ = memory_.usable_bytes() / sizeof(T);
    }
  }
  void push(T value) noexcept { data_[size_++] = value; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Clears the list, and keeps up to `kept_bytes` of memory.
  void clear(std::size_t kept_bytes) noexcept {
    if (size_ * sizeof(T) > kept_bytes) memory_.shrink(kept_bytes);
    size_ = 0;
  }

 private:
  reserved_memory memory_{reserved_memory::growth::moving};
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

inline constexpr std::uint32_t first_unit = sizeof(arena) / 8;
inline constexpr unsigned type_shift = 48;  // of an element of the finalizers
inline constexpr std::uint64_t address_mask = (std::uint64_t{1} << type_shift) - 1;

[[nodiscard]] constexpr std::uint64_t align_units(std::uint64_t unit, std::uint32_t alignment) noexcept {
  return (unit + alignment - 1) & ~std::uint64_t{alignment - 1};
}

// The memory that a graph may lie in, and the check of each source.
enum class source_check : std::uint8_t {
  none,         // this process's memory: any address that the program points to
  handed_over,  // the same, for a reader elsewhere: each object is written back as it is met (coherence.h)
  segments,     // another place's memory: the open part of a segment, since other memory is not mapped here
};

// Thrown by a checked walk that meets values: their memory is private to the source's process.
struct values_met {};

class graph_plan {
 public:
  graph_plan() = default;
  graph_plan(const graph_plan&) = delete;
  graph_plan& operator=(const graph_plan&) = delete;

  // Walks the graph of these roots (null roots are left out). Errors: bad_argument, out_of_memory, bad_address and
  // values_met (with source_check::segments). place: memory for the copy, used if the copy fits; the image is then made
  // there, with addresses for pointers, and need not be moved. front: of the place.
  void discover(const graph_root* roots, std::size_t count, copy_map map, source_check check,
                std::span<std::byte> place = {}, write_front front = {});
  // Does the same, but gives up soon after a copy of most_bytes: then returns false with an empty plan.
  [[nodiscard]] bool discover_small(const graph_root* roots, std::size_t count, std::uint64_t most_bytes, copy_map map);
  [[nodiscard]] bool is_in_place() const noexcept { return is_in_place_; }
  [[nodiscard]] graph_size size() const noexcept { return {objects_, (next_ - first_unit) * 8}; }
  // Returns the bytes of the copy, head included.
  [[nodiscard]] std::uint64_t copy_bytes() const noexcept { return next_ * 8; }
  [[nodiscard]] std::uint32_t alignment_bytes() const noexcept { return alignment_units_ * 8; }
  // Returns the offset of root i in the copy, in units; 0 for null.
  [[nodiscard]] std::uint32_t root(std::size_t i) const noexcept { return roots_[i]; }
  // Returns the number of words that the finalizers of the copy take.
  [[nodiscard]] std::uint64_t finalizer_words() const noexcept { return finalizer_words_; }
  // The size of the last copy from such a root, and whether the one before it was about as large: then the next copy
  // may be, too.
  struct expectation {
    std::uint64_t bytes = 0;
    std::uint32_t alignment_bytes = 0;
    bool is_stable = false;
    std::uint32_t pulls_ahead = 0;  // further calls that may skip the test whether their graph is small
  };
  [[nodiscard]] expectation& expected(const type_descriptor& root);
  // Returns the tagged types of the graph's objects.
  [[nodiscard]] const std::vector<const type_descriptor*>& tagged_types() const noexcept { return tagged_types_; }

  // Writes the copy's objects after its head at `to`, which has copy_bytes() bytes, with pointers for a copy at address
  // `base` (0: offsets). finalizers: null, or room for finalizer_words() words. In place, only the missing parts are
  // written.
  void write(std::byte* to, std::uint64_t base, std::uint64_t* finalizers) const;
  // Writes the image in message form: offsets for pointers, and zeroes for bytes that are no value. pre: not in place.
  void write_image(std::byte* to) const;

  // Allocates `count` objects and stores their addresses in to[0], to[distance], ...
  using give_memory = std::function<void(std::uint64_t bytes, std::uint32_t alignment, std::uint64_t count,
                                         std::byte** to, std::uint64_t distance)>;
  // Writes each object, and each block of a container, to memory of its own, allocated in the order of the copy. A
  // pool's container owns its block there; other containers do not. Returns the address of the first root. Throws the
  // exceptions of `give` before anything is written. pre: not in place, no values. cost: during the call, 8 bytes for
  // each 8 of the copy.
  std::byte* scatter(const give_memory& give) const;
  // Visits the type of each run; a type may come more than once.
  void visit_types(const std::function<void(const type_descriptor&)>& visit) const;

  // Functions for the values of the graph: whether there are any, their bytes when written, and writing them.
  [[nodiscard]] bool has_values() const noexcept { return values_.size() != 0; }
  [[nodiscard]] std::uint64_t value_bytes() const noexcept { return value_bytes_; }
  void write_values(wire_writer& writer) const;
  // Makes the values of a copy that is otherwise written. Throws the exceptions of their types; then no value is left.
  void copy_values(std::byte* to) const;

  void clear() noexcept;

 private:
  struct run {
    std::uint32_t begin;
    std::uint32_t end;  // of the last run: not set yet
    const type_descriptor* type;
  };
  static_assert(sizeof(run) == 16);
  // The data of a run that stays at the source until write().
  struct left_data {
    std::uint32_t begin;
    std::uint64_t bytes;
    const std::byte* source;
  };
  // An object, or a block, whose values are not copied yet.
  struct value_source {
    std::uint64_t begin;
    value_holders holders;  // at the source
  };
  // How scan_run.h scans objects of a type; unused if function is null.
  struct scan_method {
    bool is_known = false;
    scan_run_function function = nullptr;
    const type_descriptor* target = nullptr;
    scanned_run job;
  };
  template <class Map, bool Checked>
  friend class graph_walk;
  template <bool Checked>
  void discover_with(const graph_root* roots, std::size_t count, copy_map map);
  struct writer;
  struct scattering;
  template <class Write>
  void write_runs(std::byte* to, Write write_run) const;

  [[nodiscard]] std::uint64_t end_of(std::size_t i) const noexcept {
    return i + 1 == runs_.size() ? next_ : runs_[i].end;
  }
  void begin_run(std::uint64_t at, const type_descriptor& type);
  void end_run(std::uint64_t end) noexcept;
  void make_room(std::uint64_t units);
  template <class Visit>
  void visit_values(Visit visit) const;
  void measure_values();
  [[nodiscard]] const scan_method& method_of(const type_descriptor& type, bool checked);

  reserved_memory image_memory_{reserved_memory::growth::moving};
  std::byte* image_ = nullptr;
  std::uint64_t room_ = 0;          // units of the image that can be written now
  std::uint64_t place_units_ = 0;   // in place: units that the destination has
  write_front front_;               // in place: populates the pages between room_ and place_units_
  std::uint64_t pointer_base_ = 0;  // the base of the image's pointers
  bool is_in_place_ = false;        // the image is at the copy's destination
  bool writes_back_ = false;        // source_check::handed_over
  std::uint64_t next_ = first_unit;
  std::uint64_t stop_at_ = no_stop;  // a copy that reaches beyond this unit is given up
  static constexpr std::uint64_t no_stop = ~std::uint64_t{0};
  growing_list<run> runs_;
  growing_list<left_data> left_;
  growing_list<value_source> values_;
  std::uint64_t value_bytes_ = 0;
  std::vector<std::uint32_t> roots_;
  std::vector<const type_descriptor*> tagged_types_;
  std::vector<scan_method> methods_;   // by type, and whether sources are checked
  std::vector<expectation> expected_;  // by type
  std::uint64_t objects_ = 0;
  std::uint64_t finalizer_words_ = 0;
  std::uint32_t alignment_units_ = 2;
  std::size_t scanned_runs_ = 0;  // completely scanned runs,
  std::uint64_t scan_ = 0;        // and the end of the scan in the next run
};

// The plan of this thread, returned by the destructor; a new plan if the thread's is in use (a copy within a copy's
// error handling).
class borrowed_plan {
 public:
  borrowed_plan();
  ~borrowed_plan();
  borrowed_plan(const borrowed_plan&) = delete;
  borrowed_plan& operator=(const borrowed_plan&) = delete;
  [[nodiscard]] graph_plan* operator->() const noexcept { return plan_.get(); }
  [[nodiscard]] graph_plan& operator*() const noexcept { return *plan_; }

 private:
  std::unique_ptr<graph_plan> plan_;
};

// Makes an arena of a plan's size, with its head filled in.
[[nodiscard]] arena_reference make_arena(const graph_plan& plan);
// Makes an arena that is apart, modulo pages, from `source`, which is read while the arena is written.
[[nodiscard]] arena_reference make_arena(std::uint64_t bytes, std::size_t alignment, std::uint64_t objects,
                                         std::uint64_t finalizer_words, const void* source = nullptr);
// Returns the address of a copy's object by its unit; null for 0.
[[nodiscard]] inline const void* object_at(const arena& copy, std::uint32_t unit) noexcept {
  return unit == 0 ? nullptr : reinterpret_cast<const std::byte*>(&copy) + std::uint64_t{unit} * 8;
}
// Copies the graph of these roots, and sets `roots` to the copies. Errors: as graph_plan::discover().
[[nodiscard]] arena_reference copy_graph(std::span<graph_root> roots, copy_map map, source_check check);

}  // namespace situ::detail
