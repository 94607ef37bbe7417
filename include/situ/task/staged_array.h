// An array in slow memory whose tiles are in fast memory while units that declare them run. The slow memory is a file,
// memory of another kind or node, another place's segment, or a store that the program supplies.
//
//   situ::task_graph graph;
//   situ::staged_array<double> a{graph, "matrix.bin", n * n, {.tile_bytes = 1 << 20, .budget_bytes = 1 << 30}};
//   graph.add({situ::reads(situ::region(a.data() + i * n, n)), ...}, [row = a.data() + i * n] { ... row[k] ... });
//   graph.wait();
//   a.flush();
//
// The elements have addresses that do not change during the life of the array, so units access them like any memory. A
// thread of the array fetches tiles ahead, several at a time, in the order in which units were added and within the
// budget; a unit starts once its tiles are there. The thread evicts tiles of no unit under way: first the tile that
// waiting units need last, or the least recently used one; it writes dirty tiles back at eviction. The program must not
// touch elements that no unit under way has declared: a load or store to a tile that is not in memory ends the program
// (SIGSEGV). In a checked graph, an access to any tile that no unit under way has declared for it does so, with a
// message that names unit, array and element. read() and write() are for the time between units.
//
// An array belongs to the thread of its graph, which must outlive the array. wait() reports errors of the store as it
// does those of a unit. Accesses through two arrays over the same bytes are not ordered (docs/design/task.md).
#pragma once

#include <situ/pages/backing_store.h>
#include <situ/task/task_graph.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace situ {

// The size of the fast part of an array, the size of its tiles, and the kind of fast memory.
struct staging_options {
  std::size_t tile_bytes = std::size_t{1} << 20;      // a multiple of 4096
  std::size_t budget_bytes = std::size_t{256} << 20;  // most bytes of tiles in fast memory; no unit may declare more
  memory_kind fast_memory;                            // memory for the tiles: intent::bandwidth, for example
  page_cache cache = page_cache::past;                // whether file accesses use the page cache
};

// Bytes moved since the array was made, counted in whole tiles.
struct staging_statistics {
  std::uint64_t fetched_bytes = 0;   // from slow memory
  std::uint64_t written_bytes = 0;   // to slow memory
  std::uint64_t resident_bytes = 0;  // in fast memory now
  std::uint64_t most_bytes = 0;      // the maximum of resident_bytes
};

// Makes a store of `bytes` bytes, or `count` elements, from `first` on, in the segment of any place. A staged_array
// over it fetches tiles from there by get and writes them back by put. The store belongs to the thread of the calling
// place, which must destroy it; the store's own thread is one of the place's (place_threads). The contents are those of
// the segment. Throws no_runtime, bad_address. cost: a thread.
[[nodiscard]] std::shared_ptr<backing_store> make_segment_store(ptr<std::byte> first, std::uint64_t bytes);
template <class T>
[[nodiscard]] std::shared_ptr<backing_store> make_segment_store(ptr<T> first, std::size_t count) {
  return make_segment_store(ptr<std::byte>{reinterpret_cast<std::byte*>(first.local())},
                            std::uint64_t{count} * sizeof(T));
}

namespace detail {

class staging;
struct close_staging {
  void operator()(staging* s) const noexcept;
};
using staging_owner = std::unique_ptr<staging, close_staging>;

struct element_count {
  std::size_t count, bytes_each;
};
[[nodiscard]] staging_owner open_staging(graph_core& core, const std::string& file, element_count elements,
                                         const staging_options& options);
[[nodiscard]] staging_owner open_staging(graph_core& core, std::shared_ptr<backing_store> store, element_count elements,
                                         const staging_options& options);
[[nodiscard]] std::byte* base_of(const staging& s) noexcept;
void copy_out(staging& s, std::size_t from, void* to, std::size_t bytes);
void copy_in(staging& s, std::size_t to, const void* from, std::size_t bytes);
void flush_staging(staging& s);
[[nodiscard]] staging_statistics statistics_of(const staging& s);

}  // namespace detail

// Elements in slow memory, with tiles of them in fast memory. cost: making an array takes a thread and addresses;
// accessing an element costs what memory costs.
template <class T>
class staged_array {
  static_assert(std::is_trivially_copyable_v<T>, "what lies in a file is trivially copyable");

 public:
  // Opens `count` elements in a file. Creates the file, or extends it with zeroes, if it is missing or shorter. Throws
  // bad_file if it cannot be opened, bad_argument for a tile that is not a whole number of pages (of `fast_memory`) or
  // a budget below one tile, out_of_memory if `fast_memory` has no room for the budget.
  staged_array(task_graph& graph, const std::string& file, std::size_t count, const staging_options& options = {})
      : count_{count}, staging_{detail::open_staging(detail::core_of(graph), file, {count, sizeof(T)}, options)} {}
  // Opens `count` elements in a store, which no one else may use from then on: memory of any kind (make_memory_store),
  // another place's segment, or a store of the program. Also throws what the store's allocate() throws.
  staged_array(task_graph& graph, std::shared_ptr<backing_store> store, std::size_t count,
               const staging_options& options = {})
      : count_{count},
        staging_{detail::open_staging(detail::core_of(graph), std::move(store), {count, sizeof(T)}, options)} {}

  // Returns the address of the first element, for units that declare elements.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(detail::base_of(*staging_)); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  // Copy elements out of the array, or into it, whether their tiles are in fast or slow memory. Wait for all units
  // first. Throws as task_graph::wait, bad_argument for elements beyond the end, and what the store throws. cost: a
  // copy, and the cost of the store.
  void read(std::size_t first, std::size_t count, T* to) {
    detail::copy_out(*staging_, first * sizeof(T), to, count * sizeof(T));
  }
  void write(std::size_t first, std::size_t count, const T* from) {
    detail::copy_in(*staging_, first * sizeof(T), from, count * sizeof(T));
  }

  // Waits for all units and writes dirty tiles back to slow memory; they also stay in fast memory. Throws as
  // task_graph::wait, and what the store throws. The destructor does the same, but leaves exceptions of units to wait()
  // and discards errors of the store. cost: a write for each dirty tile.
  void flush() { detail::flush_staging(*staging_); }

  // Returns the bytes moved so far. cost: a lock.
  [[nodiscard]] staging_statistics statistics() const { return detail::statistics_of(*staging_); }

 private:
  std::size_t count_;
  detail::staging_owner staging_;
};

}  // namespace situ
