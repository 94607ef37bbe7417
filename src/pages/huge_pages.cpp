#include "pages/huge_pages.h"

#include <algorithm>
#include <cerrno>

#include "os/host.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; the headers may be older than the kernel
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace situ::detail {
namespace {

constexpr std::size_t small_pages = huge_page_bytes / page_bytes;

// To look at all 512 pages of a range takes 24 us if none exists, at 8 of them 2 us (measured); to collapse a range,
// 130 us.
constexpr std::size_t looked_at = 8;

// After a range that was slow or refused, the maker leaves one range to faults, then 2, 4 ... and at most this many:
// 128 MiB. A host that backs a guest's memory page by page takes 4.8 ms for a huge page that it has not backed, four
// times as long as the faults (measured); seven attempts in 120 ranges then cost a sixth more than the faults.
constexpr std::uint32_t most_held_back = 64;

}  // namespace

const page_calls& system_page_calls() noexcept {
  static constexpr page_calls calls{
      .advise = [](void* address, std::size_t bytes, int advice) noexcept { return ::madvise(address, bytes, advice); },
      .residence = [](void* address, std::size_t bytes,
                      unsigned char* resident) noexcept { return ::mincore(address, bytes, resident); },
      .now_ns = steady_ns};
  return calls;
}

void huge_page_maker::make(std::byte* range) noexcept {
  if (!is_supported_) return;
  if (to_skip_ != 0) {
    --to_skip_;
    return;
  }
  if (exists_mostly(range)) return;
  const std::uint64_t start = calls_.now_ns();
  if (calls_.advise(range, page_bytes, MADV_POPULATE_WRITE) != 0) {
    is_supported_ = errno != EINVAL;
    return hold_back();
  }
  const std::uint64_t populated = calls_.now_ns();
  // A mean, since a single time may include an interruption.
  page_ns_ = page_ns_ == 0 ? populated - start : (7 * page_ns_ + (populated - start)) / 8;
  if (calls_.advise(range, huge_page_bytes, MADV_COLLAPSE) != 0) {
    is_supported_ = errno != EINVAL;  // the page exists, so the kernel or its settings do not allow it
    return hold_back();
  }
  made_bytes_ += huge_page_bytes;
  if (calls_.now_ns() - populated > small_pages * page_ns_) return hold_back();
  held_back_ = 0;
}

bool huge_page_maker::exists_mostly(std::byte* range) const noexcept {
  constexpr std::size_t distance = huge_page_bytes / looked_at;
  std::size_t exist = 0;
  for (std::size_t i = 0; i < looked_at; ++i) {
    unsigned char resident = 0;
    if (calls_.residence(range + i * distance + distance / 2, page_bytes, &resident) != 0) return false;
    exist += resident & 1;
  }
  return exist > looked_at / 2;
}

void huge_page_maker::hold_back() noexcept {
  held_back_ = std::clamp<std::uint32_t>(2 * held_back_, 1, most_held_back);
  to_skip_ = held_back_;
}

void write_front::advance(std::size_t upto) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(block_);
  while (prepared_ < upto) {
    const std::uintptr_t at = start + prepared_;
    const std::uintptr_t range = (at + huge_page_bytes - 1) & ~(huge_page_bytes - 1);
    const std::size_t end = range - start + huge_page_bytes;  // end of the next range
    if (maker_ == nullptr || end > bytes_) {                  // no further range is within the block
      prepared_ = bytes_;
    } else if (range != at) {
      prepared_ = range - start;  // skips the bytes before the first range
    } else {
      maker_->make(block_ + prepared_);
      prepared_ = end;
    }
  }
}

}  // namespace situ::detail
