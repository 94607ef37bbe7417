// The number of bytes that a place's segment holds in each memory, per intent: for the report of `situ run --stats`,
// and `situ top`.
//
// It is part of a place's published status (place_status.h): the place's own thread writes, and any thread may read at
// any time. A row is valid once `count` includes it, and its names do not change after that. A reader must validate
// both, since the table may have come from another host.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace situ::detail {

struct alignas(64) placed_row {
  char intent[32]{};
  char memory[64]{};                    // zero-terminated; longer names are cut
  std::atomic<std::uint64_t> bytes{0};  // now
  std::atomic<std::uint64_t> most{0};   // maximum so far

  [[nodiscard]] std::string_view intent_name() const noexcept { return {intent, ::strnlen(intent, sizeof intent)}; }
  [[nodiscard]] std::string_view memory_name() const noexcept { return {memory, ::strnlen(memory, sizeof memory)}; }
};
static_assert(sizeof(placed_row) == 128);

struct alignas(64) placed_table {
  static constexpr std::uint32_t most_rows = 30;
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::uint32_t> is_full{0};  // some bytes are counted in no row
  placed_row rows[most_rows];

  [[nodiscard]] std::span<const placed_row> all() const noexcept {
    return {rows, std::min(count.load(std::memory_order_acquire), most_rows)};
  }
  // Returns the row for an intent and a memory, and adds it if needed; null if the table is full. cost: a look at each
  // row.
  [[nodiscard]] placed_row* find_or_add(std::string_view intent, std::string_view memory) noexcept;
};

inline void add_placed(placed_row* row, std::uint64_t bytes) noexcept {
  if (row == nullptr) return;
  const std::uint64_t now = row->bytes.load(std::memory_order_relaxed) + bytes;  // one writer
  row->bytes.store(now, std::memory_order_relaxed);
  if (now > row->most.load(std::memory_order_relaxed)) row->most.store(now, std::memory_order_relaxed);
}
inline void remove_placed(placed_row* row, std::uint64_t bytes) noexcept {
  if (row != nullptr) row->bytes.store(row->bytes.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
}

}  // namespace situ::detail
