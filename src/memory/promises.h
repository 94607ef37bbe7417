// Memory that has been promised and that nobody has touched yet: its pages have a place to come from, and do not exist.
//
// A node's free memory does not tell of it, so whoever places next would promise the same room again. What is promised
// is therefore counted by node, by all who share a job's memory (job_control), or by a process for pages of its own.
// What of it exists by now is learnt from the kernel (mincore), whoever has touched it, when it matters: when what is
// left of a node without the promises is little.
//
//   promise_sums   | bytes of node 0 | node 1 | ...                        against nodeN/meminfo, by placer
//   promise_map    | 4 pages | 4 pages | ...     of a range of addresses: how many of them are promised, of which node
//
// Invariants
//   1. A sum is what the cells of its node add up to, and what is about to be put into them. It is taken from before
//      pages are promised, never beyond what the node has left, and given back after a cell has changed: by whoever has
//      changed it, so that each page is given back once.
//   2. A cell that has come to 0 stays there until its range is promised again. So what exists is looked at once.
//   3. Any process that maps the range may settle it, at any time. Only the owner promises and withdraws.
// Thread-safe: everything shared is atomic; the counts publish nothing, so they are relaxed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/host.h"

namespace situ::detail {

inline constexpr std::uint32_t node_limit = 1024;  // MAX_NUMNODES of the largest kernels

struct promise_sums {
  std::atomic<std::uint64_t> bytes[node_limit]{};  // by the node's number
};

// Which pages exist, as mincore: an answer for each page in its lowest bit. 0, or -1.
using residence_call = int (*)(void* address, std::size_t bytes, unsigned char* resident) noexcept;

// What is promised of one range. A value: computed where needed, over cells that somebody else keeps.
class promise_map {
 public:
  // Of the range: a chunk of a heap, so that blocks which have pages of their own have cells of their own.
  static constexpr std::size_t cell_bytes = std::size_t{16} << 10;
  // | uses so far : 16 | node : 11 | pages : 5 |. Uses are counted so that who looks and then changes a cell finds that
  // it has been given back and promised anew meanwhile.
  using cell = std::atomic<std::uint32_t>;
  // One more, since a range may begin amid a cell: they lie at multiples of their size.
  [[nodiscard]] static constexpr std::size_t cells_for(std::size_t bytes) noexcept { return bytes / cell_bytes + 2; }

  // cells: cells_for(bytes) of them, zero at first. open: counts all that the map has promised, or null.
  promise_map(const std::byte* begin, std::size_t bytes, cell* cells, promise_sums& sums,
              std::atomic<std::uint64_t>* open = nullptr) noexcept
      : begin_{reinterpret_cast<std::uintptr_t>(begin)},
        end_{begin_ + bytes},
        cells_{cells},
        sums_{&sums},
        open_{open} {}

  // Notes pages of a node that are in its sum. pre: they are all that the range has of
  // their cells, and nothing is promised of those.
  void note(const std::byte* address, std::size_t bytes, std::uint32_t node) noexcept;
  // What is promised there is no more: the pages are gone, or about to go. How many bytes that were.
  std::uint64_t withdraw(const std::byte* address, std::size_t bytes) noexcept;
  // Pages that exist by now are no longer promised. cost: up to 24 us for each 2 MiB of which a part is promised.
  void settle(residence_call residence) noexcept;
  // cost: a look at each cell.
  [[nodiscard]] std::uint64_t promised_bytes() const noexcept;
  // What is promised there of one node. pre: as note. cost: a look at each of its cells.
  [[nodiscard]] std::uint64_t promised_bytes(const std::byte* address, std::size_t bytes,
                                             std::uint32_t node) const noexcept;

 private:
  void settle_cells(std::size_t first, std::size_t end, residence_call residence) noexcept;
  [[nodiscard]] std::size_t cell_of(std::uintptr_t address) const noexcept {
    return address / cell_bytes - begin_ / cell_bytes;
  }
  // Where a cell's part of the range starts.
  [[nodiscard]] std::uintptr_t start_of(std::size_t index) const noexcept {
    return index == 0 ? begin_ : std::min((begin_ / cell_bytes + index) * cell_bytes, end_);
  }
  void count_down(std::uint32_t from, std::uint32_t to) noexcept;

  std::uintptr_t begin_;
  std::uintptr_t end_;
  cell* cells_;
  promise_sums* sums_;
  std::atomic<std::uint64_t>* open_;
};

// All that count their promises together.
class promises {
 public:
  [[nodiscard]] virtual promise_sums& sums() noexcept = 0;
  // Settles every map of them.
  virtual void settle(residence_call residence) noexcept = 0;

 protected:
  ~promises() = default;
};

}  // namespace situ::detail
