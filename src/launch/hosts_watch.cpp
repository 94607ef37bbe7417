#include "launch/hosts_watch.h"

#include <algorithm>
#include <utility>

#include "launch/monitor.h"

namespace situ::detail {

using cluster::host_look;

std::uint64_t hosts_watch::begin_look() {
  for (one_host& each : hosts_) each.before = std::exchange(each.now, {});
  next_look_ = clock::time_point::max();
  return ++number_;
}

std::optional<hosts_watch::finding> hosts_watch::take(std::uint16_t host, const host_look& seen,
                                                      clock::time_point now) {
  if (seen.number != number_ || hosts_[host].is_lost || hosts_[host].now) return {};
  hosts_[host].now = seen;
  return judge(now);
}

void hosts_watch::lose(std::uint16_t host, clock::time_point now) {
  if (std::exchange(hosts_[host].is_lost, true)) return;
  for (one_host& each : hosts_) each.before = each.now = {};
  if (next_look_ == clock::time_point::max()) next_look_ = now + look_at_standing_places;
}

std::optional<hosts_watch::finding> hosts_watch::judge(clock::time_point now) {
  const bool is_under_way = next_look_ == clock::time_point::max();
  if (!is_under_way || !std::all_of(hosts_.begin(), hosts_.end(),
                                    [](const one_host& each) { return each.is_lost || each.now.has_value(); }))
    return {};
  next_look_ = now + look_at_standing_places;
  finding found{.is_final = stands_still()};
  const bool has_progressed = std::any_of(hosts_.begin(), hosts_.end(), [](const one_host& each) {
    return !each.is_lost && (each.now->how & host_look::has_progressed) != 0;
  });
  if (has_progressed) {
    last_progress_ = now;
    is_told_ = false;
  } else if (watchdog_.count() > 0 && now - last_progress_ >= watchdog_) {
    found.is_without_progress = !std::exchange(is_told_, true);
  }
  return found;
}

bool hosts_watch::stands_still() const noexcept {
  const one_host* first = nullptr;
  for (const one_host& each : hosts_) {
    if (each.is_lost) continue;
    if (!each.before || each.before->number + 1 != number_ || each.before->traffic != each.now->traffic) return false;
    if ((each.before->how & host_look::has_places) == 0) continue;  // its server may have ended, and hears of no ends
    if (each.before->ends != each.now->ends || (each.now->how & host_look::stands) == 0) return false;
    if (first != nullptr && first->now->ends != each.now->ends) return false;  // one has not heard of an end yet
    if (first == nullptr) first = &each;
  }
  for (std::uint16_t a = 0; a < hosts_.size(); ++a)
    for (std::uint16_t b = 0; b < hosts_.size(); ++b)
      if (a != b && !hosts_[a].is_lost && !hosts_[b].is_lost && !all_have_come(a, b)) return false;
  return first != nullptr;
}

// Returns whether no message of the one host's places to the other's can still wake one of these.
bool hosts_watch::all_have_come(std::uint16_t from, std::uint16_t to) const noexcept {
  const host_look& sender = *hosts_[from].now;
  const host_look& receiver = *hosts_[to].now;
  return (receiver.how & host_look::has_places) == 0 || receiver.traffic[from].taken == host_look::nothing_comes ||
         sender.traffic[to].sent == receiver.traffic[from].taken;
}

}  // namespace situ::detail
