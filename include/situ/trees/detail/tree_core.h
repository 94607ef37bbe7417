// The inside of a place tree: its levels, the memory of its children, and the graph that runs units there.
#pragma once

#include <situ/memory/ptr.h>
#include <situ/task/place_graph.h>
#include <situ/task/task_graph.h>
#include <situ/trees/tree_node.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace situ {

struct memory_kind;  // pages/memory_kind.h

// Bytes that have been moved in a tree since it was made, by direction (section 2.1 of the paper).
struct tree_traffic {
  std::uint64_t down = 0;    // from the parent's memory into its children's
  std::uint64_t up = 0;      // from the children's memories into the parent's
  std::uint64_t across = 0;  // from a child's memory to a sibling's
  std::uint64_t cached = 0;  // between the children's memories and tiles for their caches, both ways

  friend bool operator==(const tree_traffic&, const tree_traffic&) = default;
};

namespace detail {

// Counters in each child's memory, on a cache line of their own, which units there increment.
struct alignas(64) child_record {
  std::atomic<std::uint64_t> cached_bytes{0};
};
// Counters for each child and each placed_rows, on a cache line of their own.
struct alignas(64) child_speed {
  std::atomic<std::uint64_t> rows{0};         // rows done since they were dealt
  std::atomic<std::uint64_t> nanoseconds{0};  // time that units took for these rows

  void note(std::uint64_t more_rows, std::uint64_t more_nanoseconds) noexcept;
};

// Returns the bytes of a row. Throws bad_argument for an empty row, out_of_memory for more than an address space holds.
[[nodiscard]] std::size_t row_bytes_for(std::size_t columns, std::size_t size);

// Copies bytes between places of any hosts, this place's among them or not. For units.
void copy_bytes_of_any_host(ptr<std::byte> to, ptr<const std::byte> from, std::size_t bytes);
[[nodiscard]] std::uint32_t host_of_place(std::uint32_t place) noexcept;

// Memory of a child, freed with its last owner.
using child_memory = std::shared_ptr<std::byte>;

// The part of a tree that allocates memory and runs units. There are two kinds of children: the places of the job, and
// memories of one place.
class tree_core {
 public:
  // Makes a tree over the places of the job, on one host or several, each with its part of `shape`; only one place
  // calls it.
  static std::shared_ptr<tree_core> of_places(tree_node shape);
  // Makes a tree over memories of this process, one for each child of `shape`.
  static std::shared_ptr<tree_core> of_memories(tree_node shape, const std::vector<memory_kind>& memories,
                                                std::uint32_t threads);
  virtual ~tree_core();
  tree_core(const tree_core&) = delete;
  tree_core& operator=(const tree_core&) = delete;

  // Allocates zeroed bytes, aligned to cache lines. what: names them in errors.
  [[nodiscard]] virtual child_memory allocate(std::uint32_t child, std::size_t bytes, std::string_view what) = 0;

  [[nodiscard]] const tree_node& root() const noexcept { return root_; }
  [[nodiscard]] std::uint32_t children() const noexcept { return static_cast<std::uint32_t>(root_.children.size()); }
  [[nodiscard]] child_record& record(std::uint32_t child) const noexcept {
    return *reinterpret_cast<child_record*>(records_[child].get());
  }
  [[nodiscard]] bool has_places() const noexcept { return places_ != nullptr; }
  // Returns the host of a child, and the number of hosts: one unless the children are places of several.
  [[nodiscard]] virtual std::uint32_t host_of(std::uint32_t) const noexcept { return 0; }
  [[nodiscard]] std::uint32_t hosts() const noexcept;
  // Reads or sets a counter of a child, on any host. Throws place_lost_error if its host is lost.
  [[nodiscard]] std::uint64_t read(std::atomic<std::uint64_t>& counter) const;
  void reset(std::atomic<std::uint64_t>& counter) const;

  // Adds a unit that runs at the child that holds most of its bytes: f(arguments...), on copies.
  template <class F, class... Arguments>
  void add(std::span<const declared_access> accesses, F f, Arguments... arguments) {
    if (places_ != nullptr)
      places_->add(accesses, std::move(f), std::move(arguments)...);
    else
      units_->add(accesses, [f = std::move(f), ... each = std::move(arguments)] { f(each...); });
  }
  void wait();
  // For destructors: waits until no unit uses memory that is about to be freed. Exceptions of units stay for wait().
  void settle() noexcept;

  // Adds a unit that copies `rows` rows of `bytes` bytes.
  void copy(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride, std::size_t bytes,
            std::size_t rows);
  // Adds a unit that copies bytes which units of other children wait for: ghost rows. It goes before loops (place_graph.h).
  void copy_first(const std::byte* from, std::byte* to, std::size_t bytes);

  tree_traffic traffic;  // except `cached`, which the records count

 protected:
  explicit tree_core(tree_node root);
  void make_records();

  tree_node root_;
  std::vector<child_memory> records_;
  std::unique_ptr<place_graph> places_;
  std::unique_ptr<task_graph> units_;
};

}  // namespace detail
}  // namespace situ
