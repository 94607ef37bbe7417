#include "preload/spill.h"

namespace situ::preload {

std::uint64_t threshold_of(const memory_row& memory, const memory_use& use) noexcept {
  const std::uint64_t total = memory.budget_bytes != 0 ? memory.budget_bytes : use.total_bytes;
  return detail::threshold_of(total, memory.fill, memory.budget_bytes != 0 ? 0 : memory.kept_bytes);
}

std::uint64_t room_of(const memory_row& memory, const memory_use& use) noexcept {
  if (memory.budget_bytes != 0)
    return difference(threshold_of(memory, use), memory.used.load(std::memory_order_relaxed));
  if (use.total_bytes == 0) return ~std::uint64_t{0};
  return difference(threshold_of(memory, use), use.used_bytes);
}

std::uint32_t last_of(const control& all, std::uint32_t forbidden) noexcept {
  for (std::uint32_t i = all.memory_count; i-- != 0;)
    if (all.memories[i].step != not_ordered && (forbidden >> i & 1) == 0) return i;
  return no_memory;
}

std::uint64_t reserve(memory_row& memory, std::uint64_t bytes) noexcept {
  return detail::take_bytes(memory.used, threshold_of(memory, {}), 1, bytes);
}

// Adds to the row, and to the total; the memory's `used` has the bytes already.
void add_bytes(control& all, process_row& row, std::uint32_t memory, std::uint64_t bytes) noexcept {
  row.bytes[memory].fetch_add(bytes, std::memory_order_relaxed);
  all.total.fetch_add(bytes, std::memory_order_relaxed);
}

void give_back(control& all, process_row& row, std::uint64_t bytes) noexcept {
  for (std::uint32_t i = all.memory_count; i-- != 0 && bytes != 0;) {
    const std::uint64_t has = row.bytes[i].load(std::memory_order_relaxed);
    const std::uint64_t given = std::min(bytes, has);
    set_bytes(all, row, i, has - given);
    bytes -= given;
  }
}

void set_bytes(control& all, process_row& row, std::uint32_t memory, std::uint64_t bytes) noexcept {
  const std::uint64_t before = row.bytes[memory].exchange(bytes, std::memory_order_relaxed);
  all.memories[memory].used.fetch_add(bytes - before, std::memory_order_relaxed);  // modulo 2^64
  all.total.fetch_add(bytes - before, std::memory_order_relaxed);
}

void release(control& all, process_row& row) noexcept {
  for (std::uint32_t i = 0; i < all.memory_count; ++i) set_bytes(all, row, i, 0);
  row.data_limit.store(0, std::memory_order_relaxed);
  row.process.store(0, std::memory_order_release);
}

void release_of(control& all, process_row& row, std::int32_t process) noexcept {
  constexpr std::int32_t nobody = -1;  // the row is neither free nor a process's
  if (row.process.compare_exchange_strong(process, nobody, std::memory_order_acquire)) release(all, row);
}

// A process that has become another program already has a row.
process_row* take_row(control& all, std::int32_t process) noexcept {
  for (process_row& row : all.rows) {
    if (row.process.load(std::memory_order_relaxed) != process) continue;
    for (std::uint32_t i = 0; i < all.memory_count; ++i) set_bytes(all, row, i, 0);
    return &row;
  }
  for (process_row& row : all.rows) {
    std::int32_t none = 0;
    if (!row.process.compare_exchange_strong(none, process, std::memory_order_acquire)) continue;
    all.processes.fetch_add(1, std::memory_order_relaxed);
    return &row;
  }
  all.uncounted.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void note_peak(control& all) noexcept {
  for (std::uint32_t i = 0; i < all.memory_count; ++i) {
    memory_row& memory = all.memories[i];
    const std::uint64_t now = memory.used.load(std::memory_order_relaxed);
    std::uint64_t most = memory.most.load(std::memory_order_relaxed);
    while (now > most && !memory.most.compare_exchange_weak(most, now, std::memory_order_relaxed)) {}
  }
  const std::uint64_t now = all.total.load(std::memory_order_relaxed);
  std::uint64_t most = all.most_total.load(std::memory_order_relaxed);
  do {
    if (now <= most) return;
  } while (!all.most_total.compare_exchange_weak(most, now, std::memory_order_relaxed));
  // Two processes at the same time both write values near the peak.
  for (std::uint32_t i = 0; i < all.memory_count; ++i)
    all.memories[i].at_peak.store(all.memories[i].used.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace situ::preload
