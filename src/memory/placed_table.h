// What a place's segment holds of which memory, for which intent: for the report of `situ run --stats`, and `situ top`.
//
// Part of what a place shows of itself (place_status.h): its own thread writes, everybody reads at any time. A row is
// there once `count` counts it, and its names do not change after that. Who reads it trusts neither: it may have come
// from another host.
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
  std::atomic<std::uint64_t> most{0};   // that it ever held

  [[nodiscard]] std::string_view intent_name() const noexcept { return {intent, ::strnlen(intent, sizeof intent)}; }
  [[nodiscard]] std::string_view memory_name() const noexcept { return {memory, ::strnlen(memory, sizeof memory)}; }
};
static_assert(sizeof(placed_row) == 128);

struct alignas(64) placed_table {
  static constexpr std::uint32_t most_rows = 30;
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::uint32_t> is_full{0};  // something is in no row
  placed_row rows[most_rows];

  [[nodiscard]] std::span<const placed_row> all() const noexcept {
    return {rows, std::min(count.load(std::memory_order_acquire), most_rows)};
  }
  // Null where there is no room. cost: a look at each row.
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
