#include "pages/promises.h"

#include <algorithm>
#include <array>

#include "pages/huge_pages.h"

namespace situ::detail {
namespace {

constexpr unsigned node_shift = 5;
constexpr unsigned use_shift = 16;
constexpr std::uint32_t pages_mask = (1u << node_shift) - 1;
constexpr std::size_t looked_at_once = huge_page_bytes / promise_map::cell_bytes;  // cells

static_assert(promise_map::cell_bytes / page_bytes <= pages_mask && node_limit <= 1u << (use_shift - node_shift));

constexpr std::uint32_t node_of(std::uint32_t cell) noexcept { return (cell & 0xffff) >> node_shift; }
constexpr std::size_t bytes_of(std::uint32_t cell) noexcept { return (cell & pages_mask) * page_bytes; }

}  // namespace

// All accesses are relaxed: the cells are counts.
void promise_map::note(const std::byte* address, std::size_t bytes, std::uint32_t node) noexcept {
  const auto from = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = from + bytes;
  for (std::uintptr_t at = from; at < end;) {
    const std::uintptr_t next = std::min((at / cell_bytes + 1) * cell_bytes, end);
    const auto pages = static_cast<std::uint32_t>((next - at) / page_bytes);
    const std::uint32_t use = (cells_[cell_of(at)].load(std::memory_order_relaxed) >> use_shift) + 1;
    cells_[cell_of(at)].store(use << use_shift | node << node_shift | pages, std::memory_order_relaxed);
    at = next;
  }
  if (open_ != nullptr) open_->fetch_add(bytes, std::memory_order_relaxed);
}

std::uint64_t promise_map::withdraw(const std::byte* address, std::size_t bytes) noexcept {
  const auto from = reinterpret_cast<std::uintptr_t>(address);
  std::uint64_t withdrawn = 0;
  for (std::size_t i = cell_of(from); start_of(i) < from + bytes; ++i) {
    std::uint32_t seen = cells_[i].load(std::memory_order_relaxed);
    while (bytes_of(seen) != 0 &&
           !cells_[i].compare_exchange_weak(seen, seen & ~pages_mask, std::memory_order_relaxed)) {}
    count_down(seen, seen & ~pages_mask);
    withdrawn += bytes_of(seen);
  }
  return withdrawn;
}

void promise_map::settle(residence_call residence) noexcept {
  const std::size_t cells = cell_of(end_ - 1) + 1;
  for (std::size_t i = 0; i < cells;) {
    if (bytes_of(cells_[i].load(std::memory_order_relaxed)) == 0) {
      ++i;
      continue;
    }
    const std::size_t end = std::min(i / looked_at_once * looked_at_once + looked_at_once, cells);
    settle_cells(i, end, residence);
    i = end;
  }
}

void promise_map::settle_cells(std::size_t first, std::size_t end, residence_call residence) noexcept {
  std::array<unsigned char, huge_page_bytes / page_bytes> resident{};
  // Cells that change while the kernel answers are left for the next call.
  std::array<std::uint32_t, looked_at_once> before{};
  for (std::size_t i = first; i < end; ++i) before[i - first] = cells_[i].load(std::memory_order_relaxed);
  const std::uintptr_t start = start_of(first);
  if (residence(reinterpret_cast<void*>(start), start_of(end) - start, resident.data()) != 0) return;
  for (std::size_t i = first; i < end; ++i) {
    std::uint32_t seen = before[i - first];
    std::uint32_t absent = 0;
    for (std::uintptr_t page = start_of(i); page < start_of(i + 1); page += page_bytes)
      absent += (resident[(page - start) / page_bytes] & 1) == 0;
    if (absent >= (seen & pages_mask)) continue;
    const std::uint32_t now = (seen & ~pages_mask) | absent;
    if (cells_[i].compare_exchange_strong(seen, now, std::memory_order_relaxed)) count_down(seen, now);
  }
}

// Subtracts from the sum the bytes by which a cell was decreased.
void promise_map::count_down(std::uint32_t from, std::uint32_t to) noexcept {
  const std::uint64_t bytes = bytes_of(from) - bytes_of(to);
  if (bytes == 0) return;
  sums_->bytes[node_of(from)].fetch_sub(bytes, std::memory_order_relaxed);
  if (open_ != nullptr) open_->fetch_sub(bytes, std::memory_order_relaxed);
}

std::uint64_t promise_map::promised_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i <= cell_of(end_ - 1); ++i) bytes += bytes_of(cells_[i].load(std::memory_order_relaxed));
  return bytes;
}

std::uint64_t promise_map::promised_bytes(const std::byte* address, std::size_t bytes,
                                          std::uint32_t node) const noexcept {
  const auto from = reinterpret_cast<std::uintptr_t>(address);
  std::uint64_t found = 0;
  for (std::size_t i = cell_of(from); start_of(i) < from + bytes; ++i) {
    const std::uint32_t seen = cells_[i].load(std::memory_order_relaxed);
    if (node_of(seen) == node) found += bytes_of(seen);
  }
  return found;
}

}  // namespace situ::detail
