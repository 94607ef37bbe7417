// Which memory comes next, and who is charged for what: the arithmetic of the control block. No system calls.
#pragma once

#include "preload/control.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace situ::preload {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint32_t no_memory = ~0U;
inline constexpr std::uint64_t least_of_node = std::uint64_t{64} << 10;

// How much of a node is in use, as the kernel tells it.
struct node_use {
  std::uint64_t total_bytes = 0;  // 0: it does not tell
  std::uint64_t used_bytes = 0;
};

[[nodiscard]] inline std::uint64_t difference(std::uint64_t more, std::uint64_t less) noexcept {
  return more > less ? more - less : 0;
}

// How many bytes of it may be in use.
[[nodiscard]] std::uint64_t threshold_of(const memory_row& memory, const node_use& use) noexcept;
// How many bytes it takes up to its threshold.
[[nodiscard]] std::uint64_t room_of(const memory_row& memory, const node_use& use) noexcept;

// The memory that takes the next pages, no_memory where none has room. `use(i)` tells of memory i's node, and is asked
// only of memories that matter. `current` keeps its turn down to its last page; another one must have some room more,
// so that nobody goes back and forth for a few pages. Of a step it is the one that has least for its weight.
template <class Use>
[[nodiscard]] std::uint32_t choose(const control& all, std::uint32_t current, std::uint32_t forbidden, Use use,
                                   std::uint64_t reserve = least_of_node) {
  constexpr std::uint64_t most_to_come_back = std::uint64_t{16} << 20;
  std::uint32_t best = no_memory;
  double least = 0;
  for (std::uint32_t i = 0; i < all.memory_count && all.memories[i].step != not_ordered; ++i) {
    const memory_row& memory = all.memories[i];
    if (best != no_memory && memory.step != all.memories[best].step) break;
    if ((forbidden >> i & 1) != 0) continue;
    const node_use its = memory.budget_bytes != 0 ? node_use{} : use(i);
    const std::uint64_t total = memory.budget_bytes != 0 ? memory.budget_bytes : its.total_bytes;
    std::uint64_t wanted = memory.budget_bytes != 0 ? page_bytes : std::max(reserve, least_of_node);
    if (i != current && current != no_memory) wanted = std::max(wanted, std::min(total / 64, most_to_come_back));
    if (room_of(memory, its) < wanted) continue;
    const double has = static_cast<double>(memory.used.load(std::memory_order_relaxed)) / memory.weight;
    if (best == no_memory || has < least) {
      best = i;
      least = has;
    }
  }
  return best;
}

// The last memory of the ordering that may be used.
[[nodiscard]] std::uint32_t last_of(const control& all, std::uint32_t forbidden) noexcept;

// Adds what a process has got since it was last looked at: to `first`, and what a budget has no room for along the
// ordering; the last memory takes what is left. Returns the memory that took the last byte.
template <class Use>
std::uint32_t charge(control& all, process_row& row, std::uint64_t bytes, std::uint32_t first, std::uint32_t forbidden,
                     Use use);
// Gives back what it has no more, of its worst memories first.
void give_back(control& all, process_row& row, std::uint64_t bytes) noexcept;
// It has so much of a memory, as the kernel says.
void set_bytes(control& all, process_row& row, std::uint32_t memory, std::uint64_t bytes) noexcept;
// All of it; the row is free.
void release(control& all, process_row& row) noexcept;
// The same for one that has ended, by another: nothing is done where it has given back its row itself, which may be
// somebody else's by now.
void release_of(control& all, process_row& row, std::int32_t process) noexcept;
// Null where all rows are taken.
[[nodiscard]] process_row* take_row(control& all, std::int32_t process) noexcept;
// If they have more in all than ever: what they have where.
void note_peak(control& all) noexcept;

void add_bytes(control& all, process_row& row, std::uint32_t memory, std::uint64_t bytes) noexcept;
// How much a budget could give of these bytes, which are its used ones now.
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
