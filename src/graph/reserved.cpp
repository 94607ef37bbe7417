#include "graph/reserved.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace situ::detail {
namespace {
constexpr std::size_t step_bytes = std::size_t{1} << 21;  // a huge page
constexpr std::size_t least_reserved_bytes = std::size_t{64} << 20;
constexpr std::size_t larger_range = 8;  // than what it must hold at once, so that little is moved

// Pages go as they are, without a copy, where the system can. What is left behind is unmapped.
void move_pages(std::byte* to, std::byte* from, std::size_t bytes) noexcept {
  if (::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) return;
  std::memcpy(to, from, bytes);
  ::munmap(from, bytes);
}
}  // namespace

reserved_memory::~reserved_memory() {
  if (base_ != nullptr) ::munmap(base_, reserved_);
}

// As much as there is: less under ulimit -v, and in valgrind. Where there is none, all stays as it is.
void reserved_memory::move_to_larger_range(std::size_t least_bytes) noexcept {
  const std::size_t most =
      growth_ == growth::in_place
          ? reserved_bytes
          : std::min(reserved_bytes, std::bit_ceil(std::max(least_reserved_bytes, larger_range * least_bytes)));
  for (std::size_t bytes = most; bytes >= std::max(least_bytes, least_reserved_bytes); bytes /= 2) {
    void* const range = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    auto* const to = static_cast<std::byte*>(range);
    if (usable_ != 0) {
      if (::mprotect(to, usable_, PROT_READ | PROT_WRITE) != 0) {
        ::munmap(to, bytes);
        return;
      }
      // is on small pages, which makes it a mapping of its own
      const std::size_t first = std::min(usable_, step_bytes);
      move_pages(to, base_, first);
      if (usable_ > first) move_pages(to + first, base_ + first, usable_ - first);
      if (reserved_ > usable_) ::munmap(base_ + usable_, reserved_ - usable_);
    }
    base_ = to;
    reserved_ = bytes;
    return;
  }
}

void reserved_memory::extend(std::size_t bytes) {
  const auto fail = [bytes] {
    throw_error(errc::out_of_memory,
                fmt::format("{} bytes of working memory to copy an object graph cannot be had", bytes));
  };
  if (bytes > reserved_ && (base_ == nullptr || growth_ == growth::moving)) move_to_larger_range(bytes);
  if (bytes > reserved_) fail();
  const std::size_t wanted =
      std::min(reserved_, (std::max(bytes, usable_ + usable_ / 2) + step_bytes - 1) & ~(step_bytes - 1));
  if (::mprotect(base_ + usable_, wanted - usable_, PROT_READ | PROT_WRITE) != 0) fail();
  if (wanted > step_bytes) ::madvise(base_ + usable_, wanted - usable_, MADV_HUGEPAGE);  // a wish
  usable_ = wanted;
}

void* reserved_memory::reserve_all(std::size_t bytes) noexcept {
  void* const range =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  ::madvise(range, bytes, MADV_NOHUGEPAGE);  // a few entries are used, far apart
  base_ = static_cast<std::byte*>(range);
  reserved_ = usable_ = bytes;
  return range;
}

void reserved_memory::shrink(std::size_t bytes) noexcept {
  const std::size_t kept = (bytes + step_bytes - 1) & ~(step_bytes - 1);
  if (kept < usable_) ::madvise(base_ + kept, usable_ - kept, MADV_DONTNEED);
}

}  // namespace situ::detail
