#include "memory/segment_promises.h"

#include "memory/heap_map.h"
#include "os/host.h"

namespace situ::detail {

static_assert(promise_map::cell_bytes == chunk_bytes, "a cell is one block's");

std::uint64_t segment_promises::metadata_bytes(const job_control& control) noexcept {
  const std::uint64_t cells = promise_map::cells_for(std::uint64_t{1} << control.slice_shift);
  return (cells * sizeof(promise_map::cell) + page_bytes - 1) / page_bytes * page_bytes;
}

// Zeroed cells are a map without promises; constructing them would touch their pages.
promise_map segment_promises::map_of(std::uint32_t place, std::uint64_t bytes) noexcept {
  const std::uintptr_t heap = base_ + (std::uintptr_t{place} << control_.slice_shift) + heap_offset_;
  const std::uintptr_t cells = heap - heap_map::metadata_bytes(control_.slice_shift) - metadata_bytes(control_);
  return {reinterpret_cast<const std::byte*>(heap), bytes, reinterpret_cast<promise_map::cell*>(cells),
          control_.promised, &control_.slot(place).promised_bytes};
}

void segment_promises::settle(residence_call residence) noexcept {
  for (std::uint32_t place = 0; place < control_.place_count; ++place) {
    const place_slot& slot = control_.slot(place);
    if (slot.promised_bytes.load(std::memory_order_relaxed) == 0) continue;
    // acquire: pairs with segment::open().
    map_of(place, slot.extent.load(std::memory_order_acquire)).settle(residence);
  }
}

}  // namespace situ::detail
