#include "graph/reserved.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "memory/job.h"
#include "pages/placer.h"
#include "os/addresses.h"
#include "os/mapping_error.h"

namespace situ::detail {
namespace {
constexpr std::size_t step_bytes = std::size_t{1} << 21;  // a huge page
constexpr std::size_t least_reserved_bytes = std::size_t{64} << 20;
constexpr std::size_t larger_range = 8;  // times the bytes needed at once, so that moves are rare

// Binds the range to the node of the job's memory, if it has one. A failure is ignored, and the kernel chooses: the
// job's own memory was bound.
void follow_job(std::byte* range, std::size_t bytes) noexcept {
  if (current->job == nullptr || current->job->memory_node == job_control::no_node) return;
  system_placement_calls().prefer(range, bytes, current->job->memory_node);
}
}  // namespace

reserved_memory::~reserved_memory() {
  if (base_ != nullptr) release_addresses(base_, reserved_);
}

// Reserves as much as is available: less under ulimit -v, and in valgrind. If there is none, nothing changes.
void reserved_memory::move_to_larger_range(std::size_t least_bytes) noexcept {
  const std::size_t most =
      growth_ == growth::in_place
          ? reserved_bytes
          : std::min(reserved_bytes, std::bit_ceil(std::max(least_reserved_bytes, larger_range * least_bytes)));
  for (std::size_t bytes = most; bytes >= std::max(least_bytes, least_reserved_bytes); bytes /= 2) {
    std::byte* const to = reserve_addresses(bytes);
    if (to == nullptr) continue;
    follow_job(to, bytes);
    if (usable_ != 0) {
      if (!open_addresses(to, usable_)) return release_addresses(to, bytes);
      // is on small pages, and so a mapping of its own
      const std::size_t first = std::min(usable_, step_bytes);
      move_pages(to, base_, first);
      if (usable_ > first) move_pages(to + first, base_ + first, usable_ - first);
      if (reserved_ > usable_) release_addresses(base_ + usable_, reserved_ - usable_);
    }
    base_ = to;
    reserved_ = bytes;
    return;
  }
}

void reserved_memory::extend(std::size_t bytes) {
  const auto fail = [bytes] {
    throw_error(errc::out_of_memory, fmt::format("{} bytes of working memory to copy an object graph cannot be had: {}",
                                                 bytes, why_not_mapped(errno)));
  };
  errno = ENOMEM;  // for a range that cannot grow
  if (bytes > reserved_ && (base_ == nullptr || growth_ == growth::moving)) move_to_larger_range(bytes);
  if (bytes > reserved_) fail();
  const std::size_t wanted =
      std::min(reserved_, (std::max(bytes, usable_ + usable_ / 2) + step_bytes - 1) & ~(step_bytes - 1));
  if (!open_addresses(base_ + usable_, wanted - usable_)) fail();
  if (wanted > step_bytes) ::madvise(base_ + usable_, wanted - usable_, MADV_HUGEPAGE);  // only a hint
  usable_ = wanted;
}

void* reserved_memory::reserve_all(std::size_t bytes) noexcept {
  std::byte* const range = reserve_addresses(bytes);
  if (range == nullptr) return nullptr;
  if (!open_addresses(range, bytes)) {
    release_addresses(range, bytes);
    return nullptr;
  }
  ::madvise(range, bytes, MADV_NOHUGEPAGE);  // only a few entries, far apart, are used
  base_ = range;
  reserved_ = usable_ = bytes;
  return range;
}

void reserved_memory::shrink(std::size_t bytes) noexcept {
  const std::size_t kept = (bytes + step_bytes - 1) & ~(step_bytes - 1);
  if (kept < usable_) ::madvise(base_ + kept, usable_ - kept, MADV_DONTNEED);
}

}  // namespace situ::detail
