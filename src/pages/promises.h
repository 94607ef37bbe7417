// Counts promised memory: ranges whose pages have a chosen memory to come from, but do not exist yet because no thread
// has touched them.
//
// A node's free memory does not show promises, so the next placer would promise the same room again. Promised bytes
// are therefore counted per node, by all places that share a job's memory (job_control), or by a process for its own
// pages. The kernel (mincore) tells which of the pages exist by now, whichever process has touched them; it is asked
// only when little of a node is left beyond the promises.
//
//   promise_sums   | bytes of node 0 | node 1 | ...                        against nodeN/meminfo, by placer
//   promise_map    | 4 pages | 4 pages | ...     of a range of addresses: how many of them are promised, of which node
//
// Invariants
//   1. A sum equals the cells of its node plus the pages about to be put into cells. Bytes are added to it before
//      pages are promised, never beyond the room of the node, and subtracted after a cell has changed, by the thread
//      that has changed the cell, so that each page is subtracted once.
//   2. A cell that has reached 0 stays 0 until its range is promised again. So existing pages are not examined again.
//   3. Any process that maps the range may settle it, at any time. Only the owner promises and withdraws.
// Thread-safe: everything shared is atomic; the counts publish nothing, so they are relaxed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os/host.h"
#include "pages/room_ledger.h"

namespace situ::detail {

// Tells which pages exist, as mincore: the lowest bit of a byte for each page. Returns 0, or -1.
using residence_call = int (*)(void* address, std::size_t bytes, unsigned char* resident) noexcept;

// The promises of one range. A value, computed on demand, over cells that another object owns.
class promise_map {
 public:
  // Bytes of a cell: a chunk of a heap, so that blocks which have pages of their own have cells of their own.
  static constexpr std::size_t cell_bytes = std::size_t{16} << 10;
  // | uses so far : 16 | node : 11 | pages : 5 |. Uses are counted so that a thread that reads a cell and then changes
  // it detects that the cell was withdrawn and promised anew in between.
  using cell = std::atomic<std::uint32_t>;
  // Returns the number of cells for a range. Cells are at multiples of their size, so a range that begins amid a cell
  // has one more.
  [[nodiscard]] static constexpr std::size_t cells_for(std::size_t bytes) noexcept { return bytes / cell_bytes + 2; }

  // cells: cells_for(bytes) of them, zero at first. open: counter of the bytes that the map has promised, or null.
  promise_map(const std::byte* begin, std::size_t bytes, cell* cells, promise_sums& sums,
              std::atomic<std::uint64_t>* open = nullptr) noexcept
      : begin_{reinterpret_cast<std::uintptr_t>(begin)},
        end_{begin_ + bytes},
        cells_{cells},
        sums_{&sums},
        open_{open} {}

  // Records promised pages of a node, which its sum includes already. pre: they are all of the range's pages in their
  // cells, and nothing is promised in those.
  void note(const std::byte* address, std::size_t bytes, std::uint32_t node) noexcept;
  // Withdraws the promises of a range whose pages are gone, or about to go. Returns the number of bytes withdrawn.
  std::uint64_t withdraw(const std::byte* address, std::size_t bytes) noexcept;
  // Removes the promises of pages that exist by now. cost: up to 24 us for each 2 MiB that has promised pages.
  void settle(residence_call residence) noexcept;
  // cost: a look at each cell.
  [[nodiscard]] std::uint64_t promised_bytes() const noexcept;
  // Returns the bytes promised in a range on one node. pre: as note. cost: a look at each of its cells.
  [[nodiscard]] std::uint64_t promised_bytes(const std::byte* address, std::size_t bytes,
                                             std::uint32_t node) const noexcept;

 private:
  void settle_cells(std::size_t first, std::size_t end, residence_call residence) noexcept;
  [[nodiscard]] std::size_t cell_of(std::uintptr_t address) const noexcept {
    return address / cell_bytes - begin_ / cell_bytes;
  }
  // Returns the start of a cell's part of the range.
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

// A set of promise maps that share their sums.
class promises {
 public:
  [[nodiscard]] virtual promise_sums& sums() noexcept = 0;
  // Settles every map of the set.
  virtual void settle(residence_call residence) noexcept = 0;

 protected:
  ~promises() = default;
};

}  // namespace situ::detail
