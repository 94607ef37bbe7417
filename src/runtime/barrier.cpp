#include "runtime/barrier.h"

#include <situ/base/detail/assert.h>
#include <situ/base/detail/coherence.h>
#include <situ/base/detail/test_points.h>
#include <situ/fabric/detail/far.h>

#include <algorithm>
#include <utility>

#include "cluster/host_words.h"
#include "memory/liveness.h"

namespace situ::detail {
namespace {

constexpr std::uint32_t most_flags = 8;  // reading eight lines costs about as much as one more crossing would
constexpr std::uint32_t fan_in = 8;

}  // namespace

team_barrier::team_barrier(barrier_block& block, const std::vector<std::uint32_t>& members, std::uint32_t index,
                           job_control& control, std::optional<host_barrier> over_hosts)
    : block_{block},
      awaited_{&block.line(0)},
      awaited_count_{static_cast<std::uint32_t>(members.size())},
      over_hosts_{over_hosts},
      index_{index},
      fences_{control.sender_fences} {
  for (std::uint32_t i = 0; i < members.size(); ++i)
    if (i != index && control.is_here(members[i])) others_.push_back(&control.slot(members[i]));
  if (over_hosts) {
    choose_way_up(control.homes()[members[index]].index, control.places_here);
    awaited_ = &round_of(control, *over_hosts, 0);
    awaited_count_ = control.host_count;
    announced_ = &round_of(control, *over_hosts, control.host);
  } else if (members.size() > most_flags || control.oversubscribed) {
    choose_way_up(index, static_cast<std::uint32_t>(members.size()));
    awaited_ = announced_ = &block.release;
    awaited_count_ = 1;
  }
}

void team_barrier::choose_way_up(std::uint32_t index, std::uint32_t count) {
  std::uint32_t first_line = 0;
  std::uint32_t position = index;
  for (std::uint32_t width = count;;) {
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
  complete_until_ = 0;
  if (way_up_.empty()) {
    block_.line(index_).set(round_);  // publishes this member's earlier writes to the readers of the line
    wake_others();
    return true;
  }
  for (const counter& c : way_up_) {
    if (block_.line(c.line).add(1, std::memory_order_acq_rel) + 1 != c.arrivals * round_) return true;
    SITU_POINT(barrier_counted);
  }
  // Over hosts, the store is in one order with the server's look and with the look below: one of the two finds all
  // rounds.
  announced_->set(round_, over_hosts_ ? std::memory_order_seq_cst : std::memory_order_release);
  SITU_POINT(barrier_released);
  if (over_hosts_) std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!over_hosts_ || is_complete()) wake_others();
  if (over_hosts_) current->far->arrive(*over_hosts_, round_);
  return true;
}

bool team_barrier::is_complete() noexcept {
  for (; complete_until_ < awaited_count_; ++complete_until_) {
    if (awaited_[complete_until_].look() < round_) return false;
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
