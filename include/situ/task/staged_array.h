// An array that lies in slow memory, of which the tiles that units declare are in fast memory while they run. The slow
// memory is a file, memory of another kind or node, another place's segment, or a store of the program's own.
//
//   situ::task_graph graph;
//   situ::staged_array<double> a{graph, "matrix.bin", n * n, {.tile_bytes = 1 << 20, .budget_bytes = 1 << 30}};
//   graph.add({situ::reads(situ::region(a.data() + i * n, n)), ...}, [row = a.data() + i * n] { ... row[k] ... });
//   graph.wait();
//   a.flush();
//
// Its elements have addresses, the same from beginning to end, so units use them as any memory. A thread of its own
// fetches tiles ahead, several at a time, in the order in which units were added, as far as the budget goes; the units
// wait for theirs. Tiles of no unit under way are evicted, the one first that the units which wait need last, or that
// was used longest ago; changed ones are written back then. What no unit under way has declared must not be touched:
// such a load or store ends the program (SIGSEGV), for a tile that is not there; in a checked graph, for any tile that
// no unit under way has declared so, and with words that name unit, array and element. read() and write() are for the
// time between.
//
// Belongs to the thread of its graph, which outlives it. Errors of the store reach wait(), as of a unit that threw. Two
// arrays over the same bytes have no order between them (docs/design/task.md).
#pragma once

#include <situ/memory/backing_store.h>
#include <situ/task/task_graph.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace situ {

// How much of an array is in fast memory, in which pieces, and where.
struct staging_options {
  std::size_t tile_bytes = std::size_t{1} << 20;      // a multiple of 4096
  std::size_t budget_bytes = std::size_t{256} << 20;  // of tiles in fast memory; no unit may declare more
  memory_kind fast_memory;                            // what the budget lies in: intent::bandwidth, say
  page_cache cache = page_cache::past;                // of a file
};

// What has been moved since the array was made, in bytes of whole tiles.
struct staging_statistics {
  std::uint64_t fetched_bytes = 0;   // from slow memory
  std::uint64_t written_bytes = 0;   // to slow memory
  std::uint64_t resident_bytes = 0;  // in fast memory now
  std::uint64_t most_bytes = 0;      // that ever were
};

// `bytes` bytes, or `count` elements, from `first` on, in the segment of any place, as a store: a staged_array over it
// fetches them ahead from there, by get, and writes them back by put. Belongs to the thread of the calling place, which
// destroys it; its own thread is one of the place's (place_threads). What it has is what the segment has. Throws
// no_runtime, bad_address. cost: a thread.
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

// Elements in slow memory, tiles of them in fast. cost: making one, a thread and addresses; an element, what memory
// costs.
template <class T>
class staged_array {
  static_assert(std::is_trivially_copyable_v<T>, "what lies in a file is trivially copyable");

 public:
  // `count` elements in a file, which is made, or made longer with zeroes, where it has fewer. Throws bad_file where it
  // cannot be opened, bad_argument for a tile that is not whole pages (of `fast_memory`) or a budget below one tile,
  // out_of_memory where `fast_memory` has no room for the budget.
  staged_array(task_graph& graph, const std::string& file, std::size_t count, const staging_options& options = {})
      : count_{count}, staging_{detail::open_staging(detail::core_of(graph), file, {count, sizeof(T)}, options)} {}
  // In a store, which it alone uses from here on: memory of any kind (make_memory_store), another place's
  // segment, or what the program supplies. Throws what the store's allocate() throws, too.
  staged_array(task_graph& graph, std::shared_ptr<backing_store> store, std::size_t count,
               const staging_options& options = {})
      : count_{count},
        staging_{detail::open_staging(detail::core_of(graph), std::move(store), {count, sizeof(T)}, options)} {}

  // Where the elements are for units that declare them.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(detail::base_of(*staging_)); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  // Copies elements out of the array, or into it, wherever they are. Waits for all units first; throws as
  // task_graph::wait, bad_argument for elements that are not there, and what the store throws. cost: a copy, and the
  // store's.
  void read(std::size_t first, std::size_t count, T* to) {
    detail::copy_out(*staging_, first * sizeof(T), to, count * sizeof(T));
  }
  void write(std::size_t first, std::size_t count, const T* from) {
    detail::copy_in(*staging_, first * sizeof(T), from, count * sizeof(T));
  }

  // Waits for all units, and writes what has changed to slow memory; it stays in fast memory, too. Throws as
  // task_graph::wait, and what the store throws. The destructor does the same, but leaves what units threw to wait(),
  // and errors of the store to nobody. cost: a write for each changed tile.
  void flush() { detail::flush_staging(*staging_); }

  // What has been moved so far. cost: a lock.
  [[nodiscard]] staging_statistics statistics() const { return detail::statistics_of(*staging_); }

 private:
  std::size_t count_;
  detail::staging_owner staging_;
};

}  // namespace situ
