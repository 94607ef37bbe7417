#include "runtime/barrier.h"

#include <situ/base/detail/assert.h>
#include <situ/base/detail/coherence.h>
#include <situ/base/detail/test_points.h>

#include <algorithm>
#include <utility>

#include "memory/liveness.h"

namespace situ::detail {
namespace {

constexpr std::uint32_t most_flags = 8;  // reading eight lines costs about as much as one more crossing would
constexpr std::uint32_t fan_in = 8;

}  // namespace

team_barrier::team_barrier(barrier_block& block, const std::vector<std::uint32_t>& members, std::uint32_t index,
                           job_control& control)
    : block_{block}, count_{static_cast<std::uint32_t>(members.size())}, index_{index}, fences_{control.sender_fences} {
  for (std::uint32_t i = 0; i < count_; ++i)
    if (i != index) others_.push_back(&control.slot(members[i]));
  if (count_ <= most_flags && !control.oversubscribed) return;
  std::uint32_t first_line = 0;
  std::uint32_t position = index;
  for (std::uint32_t width = count_;;) {
    const std::uint32_t groups = (width + fan_in - 1) / fan_in;
    const std::uint32_t group = position / fan_in;
    way_up_.push_back({.line = first_line + group, .arrivals = std::min(fan_in, width - group * fan_in)});
    if (groups == 1) return;
    first_line += groups;
    position = group;
    width = groups;
  }
}

bool team_barrier::arrive() {
  if (std::exchange(interrupted_, false)) return false;
  SITU_POINT(barrier_entered);
  SITU_ASSERT(1, is_complete(),
              "a barrier of this team is still in progress at this place: wait for it before the next");
  ++round_;
  write_back_all();
  if (way_up_.empty()) {
    complete_until_ = 0;
    block_.line(index_).set(round_);  // what was written before is seen by who reads it
    wake_others();
    return true;
  }
  for (const counter& c : way_up_) {
    if (block_.line(c.line).add(1, std::memory_order_acq_rel) + 1 != c.arrivals * round_) return true;
    SITU_POINT(barrier_counted);
  }
  block_.release.set(round_);
  SITU_POINT(barrier_released);
  wake_others();
  return true;
}

bool team_barrier::is_complete() noexcept {
  if (!way_up_.empty()) {
    if (block_.release.look() < round_) return false;
    invalidate_all();
    return true;
  }
  for (; complete_until_ < count_; ++complete_until_) {
    if (block_.line(complete_until_).look() < round_) return false;
  }
  invalidate_all();
  return true;
}

void team_barrier::wake_others() const noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (fences_) std::atomic_thread_fence(std::memory_order_seq_cst);  // endpoint.h: publish, then look at `sleeping`
  for (place_slot* const other : others_) wake(*other);
}

bool team_barrier::let_go() noexcept { return block_.holders.add(~std::uint64_t{0}, std::memory_order_acq_rel) == 1; }

}  // namespace situ::detail
