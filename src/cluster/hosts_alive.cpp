#include "cluster/hosts_alive.h"

#include <algorithm>

namespace situ::detail::cluster {
namespace {

constexpr unsigned host_bits = 16;  // of a ballot: | round | host |

}  // namespace

hosts_alive::hosts_alive(std::uint16_t hosts, std::uint16_t self, const limits& how, time now)
    : hosts_{hosts},
      self_{self},
      how_{how},
      begun_{now},
      others_(hosts),
      living_{host_set::first_hosts(hosts)},
      last_turn_{now},
      next_beat_{now} {}

// --- Inputs ----------------------------------------------------------------------------------------------------------

void hosts_alive::turn(time now) {
  if (has_ended_) return;
  pass(now);
  if (now >= next_beat_) {
    next_beat_ = now + how_.beat;
    beat_to(living_, false, now);
  }
  judge(now);
}

// After a time without turns, nothing is known about the others during that time.
void hosts_alive::pass(time now) {
  const time gap = now - last_turn_;
  last_turn_ = now;
  if (gap <= how_.late_turn) return;
  for (other& each : others_) each.heard_at = each.answered_at = now;
  if (gap <= how_.frozen_turn) return;
  is_certain_ = false;
  certain_of_ = {};
  asked_from_ = number_ + 1;
  beat_to(living_, true, now);
  look_for_certainty();
}

void hosts_alive::hear(std::uint16_t from, const alive_news& what, time now) {
  if (has_ended_) return;
  pass(now);
  if (what.verdicts < verdicts()) send_lacking_verdicts(from, what.verdicts);
  if (!living_.has(from)) return;
  other& its = others_[from];
  if (!std::exchange(its.was_heard, true)) its.answered_at = now;
  its.heard_at = now;
  if (what.what == host_news::verdict) {
    if (what.number == verdicts() + std::uint64_t{1} && what.hosts.is_part_of(living_) && what.hosts != living_)
      learn(what.hosts);
  } else {
    if (what.verdicts > verdicts()) return beat_to(from, true, now);  // its answer brings the missing verdicts
    if (what.what == host_news::beat) {
      take_beat(from, what, now);
    } else if (what.verdicts == verdicts()) {
      take_ballot(from, what);
    }
  }
  if (!has_ended_) judge(now);
}

void hosts_alive::link_ended(std::uint16_t host, time now) {
  if (has_ended_) return;
  pass(now);
  others_[host].link_ended = true;
  judge(now);
}

void hosts_alive::has_left(std::uint16_t host, time now) {
  if (has_ended_) return;
  pass(now);
  others_[host].has_left = true;
  judge(now);
}

void hosts_alive::end() noexcept {
  has_ended_ = true;
  is_certain_ = false;
}

// --- Beats -----------------------------------------------------------------------------------------------------------

void hosts_alive::beat_to(const host_set& whom, bool asks, time now) {
  ++number_;
  sent_at_[number_ % sent_at_.size()] = now;
  for (std::uint16_t h = 0; h < hosts_; ++h) {
    if (h == self_ || !whom.has(h)) continue;
    letters_.push_back({h,
                        {.what = host_news::beat,
                         .asks = asks,
                         .is_voting = accepted_ != 0,
                         .verdicts = verdicts(),
                         .number = number_,
                         .second = others_[h].last_number,
                         .hosts = silent_}});
  }
}

void hosts_alive::beat_to(std::uint16_t host, bool asks, time now) {
  host_set whom;
  whom.add(host);
  beat_to(whom, asks, now);
}

void hosts_alive::take_beat(std::uint16_t from, const alive_news& beat, time now) {
  other& its = others_[from];
  if (beat.second <= number_ && beat.second + sent_at_.size() > number_)
    its.answered_at = std::max(its.answered_at, sent_at_[beat.second % sent_at_.size()]);
  if (beat.asks) {
    its.last_number = std::max(its.last_number, beat.number);
    beat_to(from, false, now);
  }
  if (beat.verdicts != verdicts()) return;
  if (beat.number >= its.last_number) its.doubted = beat.hosts;
  its.last_number = std::max(its.last_number, beat.number);
  if (is_certain_ || beat.second < asked_from_ || beat.is_voting) return;
  certain_of_.add(from);
  look_for_certainty();
}

// If there were a verdict that this host has not learnt, each quorum would have a member that accepted it.
void hosts_alive::look_for_certainty() noexcept {
  if (accepted_ != 0) return;
  host_set all = certain_of_;
  all.add(self_);
  is_certain_ = is_certain_ || is_quorum(all);
}

void hosts_alive::send_lacking_verdicts(std::uint16_t to, std::uint32_t known) {
  for (std::uint32_t n = known; n < verdicts(); ++n)
    letters_.push_back(
        {to,
         {.what = host_news::verdict, .verdicts = verdicts(), .number = n + std::uint64_t{1}, .hosts = decided_[n]}});
}

// --- Suspicions ------------------------------------------------------------------------------------------------------

bool hosts_alive::is_quorum(host_set of) const noexcept {
  of.keep(living_);
  const unsigned twice = 2U * of.count();
  return twice > living_.count() || (twice == living_.count() && of.has(living_.first()));
}

host_set hosts_alive::find_silent(time now) const noexcept {
  host_set found;
  for (std::uint16_t h = 0; h < hosts_; ++h) {
    if (h == self_ || !living_.has(h)) continue;
    const other& its = others_[h];
    const bool is_quiet = its.was_heard ? now - its.heard_at > how_.silence || now - its.answered_at > how_.unanswered
                                        : now - begun_ > how_.first_word;
    if (its.link_ended || is_quiet) found.add(h);
  }
  return found;
}

// The suspicions of a host count as long as this host hears it.
bool hosts_alive::is_broken(std::uint16_t a, std::uint16_t b) const noexcept {
  const auto doubts = [this](std::uint16_t who, std::uint16_t whom) {
    if (who == self_) return silent_.has(whom);
    return !silent_.has(who) && others_[who].doubted.has(whom);
  };
  return doubts(a, b) || doubts(b, a);
}

// Excludes the host with most broken links first; of equals one that this host does not hear, and among those the
// last. All hosts that stay hear each other.
host_set hosts_alive::without_broken_links() const {
  host_set kept = living_;
  bool any = !silent_.is_empty();
  for (std::uint16_t h = 0; h < hosts_; ++h) {
    if (others_[h].has_left) kept.remove(h);
    any |= h != self_ && kept.has(h) && !others_[h].doubted.is_empty();
  }
  while (any) {
    std::uint16_t worst = host_set::none;
    unsigned most = 1;
    for (std::uint16_t a = 0; a < hosts_; ++a) {
      if (!kept.has(a)) continue;
      unsigned broken = 0;
      for (std::uint16_t b = 0; b < hosts_; ++b) broken += a != b && kept.has(b) && is_broken(a, b) ? 2 : 0;
      if (broken != 0 && silent_.has(a)) ++broken;
      if (broken < most) continue;
      worst = a;
      most = broken;
    }
    any = worst != host_set::none;
    if (any) kept.remove(worst);
  }
  return kept;
}

void hosts_alive::judge(time now) {
  const host_set silent = find_silent(now);
  if (silent != silent_) {
    silent_ = silent;
    beat_to(living_, false, now);
  }
  host_set reached = living_;
  reached.remove(silent_);
  if (!is_quorum(reached)) return end();
  wanted_ = without_broken_links();
  if (wanted_ == living_) return doubts_since_.reset();
  if (!doubts_since_) doubts_since_ = now;
  if (now - *doubts_since_ > how_.giving_up) return end();
  if (!wanted_.has(self_) || now < next_proposal_) return;
  time until = *doubts_since_;
  for (std::uint16_t h = 0; h < self_; ++h) until += wanted_.has(h) ? how_.patience : time{};
  host_set left_out = living_;
  left_out.remove(wanted_);
  for (std::uint16_t h = 0; h < hosts_; ++h)
    if (others_[h].has_left) left_out.remove(h);
  // If links break, one host notices first. Until the others notice, the suspicions that it reports would exclude it.
  if (!left_out.is_part_of(silent_)) until += 3 * how_.patience / 2;
  if (now >= until) propose(now);
}

// --- Verdicts --------------------------------------------------------------------------------------------------------

void hosts_alive::propose(time now) {
  next_proposal_ = now + 3 * how_.patience / 2;
  const std::uint64_t round = (highest_seen_ >> host_bits) + 1;
  mine_ = {.ballot = round << host_bits | self_, .value = wanted_};
  send_ballot(host_news::prepare, mine_.ballot, {});
}

// Sends to all hosts that the last verdict left; to this host last, since it handles its own answer at once.
void hosts_alive::send_ballot(host_news what, std::uint64_t number, const host_set& value) {
  const alive_news sent{.what = what, .verdicts = verdicts(), .number = number, .hosts = value};
  for (std::uint16_t h = 0; h < hosts_; ++h)
    if (h != self_ && living_.has(h)) letters_.push_back({h, sent});
  take_ballot(self_, sent);
}

void hosts_alive::take_ballot(std::uint16_t from, const alive_news& what) {
  highest_seen_ = std::max(highest_seen_, what.number);
  if (what.what == host_news::prepare || what.what == host_news::accept) return vote(from, what);
  take_vote(from, what);
}

// A promise with a higher ballot than the one asked for refuses that one.
void hosts_alive::vote(std::uint16_t proposer, const alive_news& asked) {
  alive_news answer{.what = host_news::promise, .verdicts = verdicts()};
  const bool is_sense = asked.what == host_news::prepare ||
                        (!asked.hosts.is_empty() && asked.hosts.is_part_of(living_) && asked.hosts != living_);
  if (!is_sense) return;
  if (asked.number >= promised_) {
    promised_ = asked.number;
    if (asked.what == host_news::accept) {
      accepted_ = asked.number;
      accepted_value_ = asked.hosts;
      answer.what = host_news::accepted;
    }
  }
  answer.number = promised_;
  if (answer.what == host_news::promise) {
    answer.second = accepted_;
    answer.hosts = accepted_value_;
  }
  if (proposer == self_) return take_vote(self_, answer);
  letters_.push_back({proposer, answer});
}

void hosts_alive::take_vote(std::uint16_t from, const alive_news& vote) {
  if (vote.number != mine_.ballot || mine_.ballot == 0) return;
  const bool is_of_acceptance = vote.what == host_news::accepted;
  if (is_of_acceptance != mine_.is_asking_to_accept) return;
  mine_.agreed.add(from);
  if (!is_of_acceptance && vote.second > mine_.best) {
    mine_.best = vote.second;
    mine_.value = vote.hosts;
  }
  if (!is_quorum(mine_.agreed)) return;
  const host_set value = mine_.value;
  if (is_of_acceptance) return learn(value);
  mine_.is_asking_to_accept = true;
  mine_.agreed = {};
  send_ballot(host_news::accept, mine_.ballot, value);
}

void hosts_alive::learn(const host_set& value) {
  const host_set before = std::exchange(living_, value);
  decided_.push_back(value);
  for (std::uint16_t h = 0; h < hosts_; ++h) {
    others_[h].doubted = {};
    if (h != self_ && before.has(h)) send_lacking_verdicts(h, verdicts() - 1);
  }
  silent_.keep(living_);
  doubts_since_.reset();
  next_proposal_ = {};
  mine_ = {};
  highest_seen_ = promised_ = accepted_ = 0;
  accepted_value_ = {};
  certain_of_ = {};
  if (!living_.has(self_)) return end();
  look_for_certainty();
}

}  // namespace situ::detail::cluster
