// An array that lies in slow memory (a file), of which the tiles that units declare are in fast memory while they run.
//
//   situ::task_graph graph;
//   situ::staged_array<double> a{graph, "matrix.bin", n * n, {.tile_bytes = 1 << 20, .budget_bytes = 1 << 30}};
//   graph.add({situ::reads(situ::region(a.data() + i * n, n)), ...}, [row = a.data() + i * n] { ... row[k] ... });
//   graph.wait();
//   a.flush();
//
// Its elements have addresses, the same from beginning to end, so units use them as any memory. A thread of its own
// fetches tiles ahead, in the order in which units were added, as far as the budget goes; the units wait for theirs.
// Tiles of no unit under way are evicted, the one first that was used longest ago; changed ones are written back then.
// What no unit under way has declared must not be touched: such a load or store ends the program (SIGSEGV), for a tile
// that is not there; read() and write() are for the time between.
//
// Belongs to the thread of its graph, which outlives it. Errors of the file reach wait(), as of a unit that threw.
#pragma once

#include <situ/task/task_graph.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace situ {

// How much of an array is in fast memory, and in which pieces.
struct staging_options {
  std::size_t tile_bytes = std::size_t{1} << 20;      // a multiple of 4096
  std::size_t budget_bytes = std::size_t{256} << 20;  // of tiles in fast memory; no unit may declare more
};

// What has been moved since the array was made, in bytes of whole tiles.
struct staging_statistics {
  std::uint64_t fetched_bytes = 0;   // from the file
  std::uint64_t written_bytes = 0;   // to the file
  std::uint64_t resident_bytes = 0;  // in fast memory now
  std::uint64_t most_bytes = 0;      // that ever were
};

namespace detail {

class staging;
struct close_staging {
  void operator()(staging* s) const noexcept;
};
using staging_owner = std::unique_ptr<staging, close_staging>;

[[nodiscard]] staging_owner open_staging(graph_core& core, const std::string& file, std::size_t bytes,
                                         const staging_options& options);
[[nodiscard]] std::byte* base_of(const staging& s) noexcept;
void copy_out(staging& s, std::size_t from, void* to, std::size_t bytes);
void copy_in(staging& s, std::size_t to, const void* from, std::size_t bytes);
void flush_staging(staging& s);
[[nodiscard]] staging_statistics statistics_of(const staging& s);

}  // namespace detail

// Elements in a file, tiles of them in memory. cost: making one, a thread and addresses; an element, what memory costs.
template <class T>
class staged_array {
  static_assert(std::is_trivially_copyable_v<T>, "what lies in a file is trivially copyable");

 public:
  // `count` elements in a file, which is made, or made longer with zeroes, where it has fewer. Throws bad_file where it
  // cannot be opened, bad_argument for a tile that is not whole pages or a budget below one tile.
  staged_array(task_graph& graph, const std::string& file, std::size_t count, const staging_options& options = {})
      : count_{count}, staging_{detail::open_staging(detail::core_of(graph), file, count * sizeof(T), options)} {}

  // Where the elements are for units that declare them.
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(detail::base_of(*staging_)); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  // Copies elements out of the array, or into it, wherever they are. Waits for all units first; throws as
  // task_graph::wait, bad_argument for elements that are not there, bad_file. cost: a copy, and the file's.
  void read(std::size_t first, std::size_t count, T* to) {
    detail::copy_out(*staging_, first * sizeof(T), to, count * sizeof(T));
  }
  void write(std::size_t first, std::size_t count, const T* from) {
    detail::copy_in(*staging_, first * sizeof(T), from, count * sizeof(T));
  }

  // Waits for all units, and writes what has changed to the file; it stays in fast memory, too. Throws as
  // task_graph::wait, and bad_file. The destructor does the same, but leaves what units threw to wait(), and errors of
  // the file to nobody. cost: a write for each changed tile.
  void flush() { detail::flush_staging(*staging_); }

  // What has been moved so far. cost: a lock.
  [[nodiscard]] staging_statistics statistics() const { return detail::statistics_of(*staging_); }

 private:
  std::size_t count_;
  detail::staging_owner staging_;
};

}  // namespace situ
