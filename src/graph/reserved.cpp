#include "graph/reserved.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

namespace situ::detail {
namespace {
constexpr std::size_t step_bytes = std::size_t{1} << 21;  // a huge page
constexpr std::size_t least_reserved_bytes = std::size_t{64} << 20;
}

reserved_memory::~reserved_memory() {
  if (base_ != nullptr) ::munmap(base_, reserved_);
}

// As much as there is: less under ulimit -v, and in valgrind.
void reserved_memory::reserve() noexcept {
  for (std::size_t bytes = reserved_bytes; bytes >= least_reserved_bytes; bytes /= 2) {
    void* const range = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    base_ = static_cast<std::byte*>(range);
    reserved_ = bytes;
    return;
  }
}

void reserved_memory::extend(std::size_t bytes) {
  const auto fail = [bytes] { throw_error(errc::out_of_memory, fmt::format("{} bytes of working memory to copy an object graph cannot be had", bytes)); };
  if (base_ == nullptr) reserve();
  if (bytes > reserved_) fail();
  const std::size_t wanted = std::min(reserved_, (std::max(bytes, usable_ + usable_ / 2) + step_bytes - 1) & ~(step_bytes - 1));
  if (::mprotect(base_ + usable_, wanted - usable_, PROT_READ | PROT_WRITE) != 0) fail();
  if (wanted > step_bytes) ::madvise(base_ + usable_, wanted - usable_, MADV_HUGEPAGE);  // a wish
  usable_ = wanted;
}

void* reserved_memory::reserve_all(std::size_t bytes) noexcept {
  void* const range = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
