// The choice of the next memory, and the accounting of each process: the arithmetic of the control block. No system
// calls.
#pragma once

#include "preload/control.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace situ::preload {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint32_t no_memory = ~0U;
inline constexpr std::uint64_t least_of_node = std::uint64_t{64} << 10;

using detail::difference;
using detail::memory_use;  // of a node; no total: the kernel does not report it

// Returns the bytes of the memory that may be in use.
[[nodiscard]] std::uint64_t threshold_of(const memory_row& memory, const memory_use& use) noexcept;
// Returns the bytes that the memory can take up to its threshold.
[[nodiscard]] std::uint64_t room_of(const memory_row& memory, const memory_use& use) noexcept;

// Returns the memory that takes the next pages, no_memory if none has room. `use(i)` returns the use of memory i's
// node; it is called only for memories that matter. `current` keeps its turn as long as it has one page of its budget
// left, or (a node) the larger of `reserve` and least_of_node; another memory must have some more room, so that the
// choice does not alternate for a few pages. Within a step the memory that has least for its weight is chosen.
template <class Use>
[[nodiscard]] std::uint32_t choose(const control& all, std::uint32_t current, std::uint32_t forbidden, Use use,
                                   std::uint64_t reserve = least_of_node) {
  std::uint32_t best = no_memory;
  double least = 0;
  for (std::uint32_t i = 0; i < all.memory_count && all.memories[i].step != not_ordered; ++i) {
    const memory_row& memory = all.memories[i];
    if (best != no_memory && memory.step != all.memories[best].step) break;
    if ((forbidden >> i & 1) != 0) continue;
    const memory_use its = memory.budget_bytes != 0 ? memory_use{} : use(i);
    const std::uint64_t total = memory.budget_bytes != 0 ? memory.budget_bytes : its.total_bytes;
    std::uint64_t wanted = memory.budget_bytes != 0 ? page_bytes : std::max(reserve, least_of_node);
    if (i != current && current != no_memory) wanted = std::max(wanted, detail::room_to_return(total));
    if (room_of(memory, its) < wanted) continue;
    const double has = static_cast<double>(memory.used.load(std::memory_order_relaxed)) / memory.weight;
    if (best == no_memory || has < least) {
      best = i;
      least = has;
    }
  }
  return best;
}

// Returns the last memory of the ordering that is not forbidden.
[[nodiscard]] std::uint32_t last_of(const control& all, std::uint32_t forbidden) noexcept;

// Charges a process's growth since the last look to memory `first`, and bytes beyond a budget to the next memories of
// the ordering; the last memory takes the remaining bytes. Returns the memory that took the last byte.
template <class Use>
std::uint32_t charge(control& all, process_row& row, std::uint64_t bytes, std::uint32_t first, std::uint32_t forbidden,
                     Use use);
// Gives back bytes that the process has no more, of its worst memories first.
void give_back(control& all, process_row& row, std::uint64_t bytes) noexcept;
// Sets the bytes that the process has in a memory, as the kernel tells them.
void set_bytes(control& all, process_row& row, std::uint32_t memory, std::uint64_t bytes) noexcept;
// Gives back all bytes of the row, and frees the row.
void release(control& all, process_row& row) noexcept;
// As release(), for a process that has ended, called by another one. Does nothing if that process has given back the
// row itself; the row may belong to another process by now.
void release_of(control& all, process_row& row, std::int32_t process) noexcept;
// Returns null if all rows are taken.
[[nodiscard]] process_row* take_row(control& all, std::int32_t process) noexcept;
// If the processes have more in all memories together than ever before, records the bytes in each memory.
void note_peak(control& all) noexcept;

void add_bytes(control& all, process_row& row, std::uint32_t memory, std::uint64_t bytes) noexcept;
// Takes up to `bytes` bytes from the memory's budget, counts them as used, and returns how many.
[[nodiscard]] std::uint64_t reserve(memory_row& memory, std::uint64_t bytes) noexcept;

template <class Use>
std::uint32_t charge(control& all, process_row& row, std::uint64_t bytes, std::uint32_t first, std::uint32_t forbidden,
                     Use use) {
  std::uint32_t to = first;
  while (bytes != 0) {
    if (to == no_memory) {
      to = last_of(all, forbidden);
      if (to == no_memory) return to;
      add_bytes(all, row, to, bytes);
      all.memories[to].used.fetch_add(bytes, std::memory_order_relaxed);
      return to;
    }
    memory_row& memory = all.memories[to];
    const std::uint64_t taken = memory.budget_bytes != 0 ? reserve(memory, bytes) : bytes;
    if (memory.budget_bytes == 0) memory.used.fetch_add(bytes, std::memory_order_relaxed);
    add_bytes(all, row, to, taken);
    bytes -= taken;
    if (bytes != 0) to = choose(all, no_memory, forbidden, use);
  }
  return to;
}

}  // namespace situ::preload
