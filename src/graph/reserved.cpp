#include "graph/reserved.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "memory/job.h"
#include "os/mapping.h"
#include "os/mapping_error.h"
#include "pages/placer.h"

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

// Reserves as much as is available: less under ulimit -v, and in valgrind. If there is none, nothing changes.
void reserved_memory::move_to_larger_range(std::size_t least_bytes) noexcept {
  const std::size_t most =
      growth_ == growth::in_place
          ? reserved_bytes
          : std::min(reserved_bytes, std::bit_ceil(std::max(least_reserved_bytes, larger_range * least_bytes)));
  for (std::size_t bytes = most; bytes >= std::max(least_bytes, least_reserved_bytes); bytes /= 2) {
    os::mapping larger = os::mapping::reserve(bytes);
    if (!larger) continue;
    follow_job(larger.begin(), bytes);
    if (usable_ != 0) {
      if (!os::open_reserved(larger.begin(), usable_)) return;
      // is on small pages, and so a mapping of its own
      const std::size_t first = std::min(usable_, step_bytes);
      range_.move_front(larger.begin(), first);
      if (usable_ > first) range_.move_front(larger.begin() + first, usable_ - first);
    }
    range_ = std::move(larger);
    return;
  }
}

void reserved_memory::extend(std::size_t bytes) {
  const auto fail = [bytes] {
    throw_error(errc::out_of_memory, fmt::format("{} bytes of working memory to copy an object graph cannot be had: {}",
                                                 bytes, why_not_mapped(errno)));
  };
  errno = ENOMEM;  // for a range that cannot grow
  if (bytes > range_.bytes() && (!range_ || growth_ == growth::moving)) move_to_larger_range(bytes);
  if (bytes > range_.bytes()) fail();
  const std::size_t wanted =
      std::min(range_.bytes(), (std::max(bytes, usable_ + usable_ / 2) + step_bytes - 1) & ~(step_bytes - 1));
  std::byte* const end = range_.begin() + usable_;
  if (!os::open_reserved(end, wanted - usable_)) fail();
  if (wanted > step_bytes) ::madvise(end, wanted - usable_, MADV_HUGEPAGE);  // only a hint
  usable_ = wanted;
}

void* reserved_memory::reserve_all(std::size_t bytes) noexcept {
  os::mapping range = os::mapping::reserve(bytes);
  if (!range || !os::open_reserved(range.begin(), bytes)) return nullptr;
  ::madvise(range.begin(), bytes, MADV_NOHUGEPAGE);  // only a few entries, far apart, are used
  range_ = std::move(range);
  usable_ = bytes;
  return range_.begin();
}

void reserved_memory::shrink(std::size_t bytes) noexcept {
  const std::size_t kept = (bytes + step_bytes - 1) & ~(step_bytes - 1);
  if (kept < usable_) ::madvise(range_.begin() + kept, usable_ - kept, MADV_DONTNEED);
}

}  // namespace situ::detail
