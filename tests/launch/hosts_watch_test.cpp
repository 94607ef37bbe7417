// A job over hosts that stands still is found out, and no other: looks of pretended hosts.
#include "launch/hosts_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "support/sanitized.h"

namespace situ {
namespace {

using namespace std::chrono_literals;
using detail::hosts_watch;
using detail::cluster::host_look;

constexpr hosts_watch::clock::time_point start{};
constexpr std::uint32_t asleep = host_look::stands | host_look::has_places;

// Two hosts; each has sent and taken the same number of messages.
host_look look_with(std::uint64_t number, std::uint64_t sent, std::uint64_t taken, std::uint32_t how = asleep) {
  return {.number = number, .ends = 0, .how = how, .traffic = {{sent, taken}, {sent, taken}}};
}

std::optional<hosts_watch::finding> look(hosts_watch& watch, host_look one, host_look other,
                                         hosts_watch::clock::time_point now = start) {
  one.number = other.number = watch.begin_look();
  EXPECT_EQ(watch.next_look(), hosts_watch::clock::time_point::max());
  EXPECT_FALSE(watch.take(0, one, now));
  return watch.take(1, other, now);
}

TEST(hosts_watch, two_equal_looks_are_a_standstill) {
  hosts_watch watch{2, 0ms, start};
  EXPECT_FALSE(look(watch, look_with(0, 3, 3), look_with(0, 3, 3))->is_final);
  EXPECT_GT(watch.next_look(), start);
  EXPECT_TRUE(look(watch, look_with(0, 3, 3), look_with(0, 3, 3))->is_final);
}

TEST(hosts_watch, a_message_under_way_is_none) {
  hosts_watch watch{2, 0ms, start};
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(look(watch, look_with(0, 4, 3), look_with(0, 3, 3))->is_final);
  EXPECT_FALSE(look(watch, look_with(0, 4, 3), look_with(0, 3, 4))->is_final);  // it has come since the last look
  EXPECT_TRUE(look(watch, look_with(0, 4, 3), look_with(0, 3, 4))->is_final);
}

TEST(hosts_watch, a_place_that_was_awake_is_none) {
  hosts_watch watch{2, 0ms, start};
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(look(watch, look_with(0, 0, 0), look_with(0, 0, 0, host_look::has_places))->is_final);
}

TEST(hosts_watch, a_host_that_has_not_heard_of_an_end_has_it_to_hear) {
  hosts_watch watch{2, 0ms, start};
  host_look knows = look_with(0, 0, 0);
  knows.ends = 1;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(look(watch, knows, look_with(0, 0, 0))->is_final);
}

TEST(hosts_watch, what_a_host_without_places_or_of_a_lost_one_has_not_taken_wakes_nobody) {
  hosts_watch watch{2, 0ms, start};
  const host_look sender = look_with(0, 4, 3);
  host_look ended = look_with(0, 3, 2, 0);
  ended.ends = 7;  // whatever it knows of ends
  EXPECT_FALSE(look(watch, sender, ended)->is_final);
  EXPECT_TRUE(look(watch, sender, ended)->is_final);
  const host_look cut = look_with(0, 3, host_look::nothing_comes);
  EXPECT_FALSE(look(watch, sender, cut)->is_final);
  EXPECT_TRUE(look(watch, sender, cut)->is_final);
}

TEST(hosts_watch, a_host_that_does_not_answer_keeps_the_others_from_being_judged) {
  hosts_watch watch{2, 0ms, start};
  const std::uint64_t number = watch.begin_look();
  EXPECT_FALSE(watch.take(0, look_with(number, 0, 0), start));
  EXPECT_FALSE(watch.take(0, look_with(number, 0, 0), start));
  EXPECT_FALSE(watch.take(1, look_with(number - 1, 0, 0), start));  // of an earlier look
  EXPECT_EQ(watch.next_look(), hosts_watch::clock::time_point::max());
}

TEST(hosts_watch, after_the_loss_of_a_host_it_begins_anew) {
  hosts_watch watch{2, 0ms, start};
  EXPECT_FALSE(look(watch, look_with(0, 0, 0), look_with(0, 0, 0))->is_final);
  (void)watch.begin_look();
  watch.lose(1, start);
  ASSERT_NE(watch.next_look(), hosts_watch::clock::time_point::max());
  EXPECT_FALSE(watch.take(0, look_with(watch.begin_look(), 0, 0), start)->is_final);
  EXPECT_TRUE(watch.take(0, look_with(watch.begin_look(), 0, 0), start)->is_final);
}

TEST(hosts_watch, the_watchdog_barks_once_for_each_time_without_progress) {
  hosts_watch watch{2, 1000ms, start};
  const host_look still = look_with(0, 0, 0, host_look::has_places);
  const host_look goes = look_with(0, 0, 0, host_look::has_places | host_look::has_progressed);
  EXPECT_FALSE(look(watch, still, still, start + 999ms)->is_without_progress);
  EXPECT_TRUE(look(watch, still, still, start + 1000ms)->is_without_progress);
  EXPECT_FALSE(look(watch, still, still, start + 5000ms)->is_without_progress);
  EXPECT_FALSE(look(watch, still, goes, start + 5200ms)->is_without_progress);
  EXPECT_FALSE(look(watch, still, still, start + 6100ms)->is_without_progress);
  EXPECT_TRUE(look(watch, still, still, start + 6200ms)->is_without_progress);
}

// Places that sleep, wake each other by messages that take their time, and stop one after the other; looks that take
// their time, too.
class pretended_job {
 public:
  pretended_job(std::uint16_t hosts, std::uint64_t seed)
      : random_{seed},
        hosts_{hosts},
        sent_(hosts, std::vector<std::uint64_t>(hosts)),
        taken_{sent_},
        places_(hosts * 2U) {}

  // True if no place is awake and no message is under way.
  [[nodiscard]] bool stands_still() const {
    return under_way_.empty() &&
           std::none_of(places_.begin(), places_.end(), [](const one_place& p) { return p.awake; });
  }
  void act(bool may_send) {
    for (std::size_t p = 0; p < places_.size(); ++p) {
      if (!places_[p].awake) continue;
      if (may_send && random_() % 4 == 0) send(p, random_() % places_.size());
      if (random_() % 3 == 0) places_[p].awake = false, ++places_[p].rest;
    }
    if (!under_way_.empty() && random_() % 3 == 0) {
      const std::size_t i = random_() % under_way_.size();
      const auto [from, to] = under_way_[i];
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
      if (!places_[to].awake) places_[to].awake = true, ++places_[to].rest;
      ++taken_[to / 2][from / 2];
    }
  }
  [[nodiscard]] host_look look_at(std::uint16_t host, std::uint64_t number) {
    bool stands = true;
    for (std::size_t p = host * 2U; p < host * 2U + 2; ++p) {
      stands &= !places_[p].awake && places_[p].seen == places_[p].rest;
      places_[p].seen = places_[p].rest;
    }
    host_look made{.number = number, .ends = 0, .how = host_look::has_places, .traffic = {}};
    if (stands) made.how |= host_look::stands;
    for (std::uint16_t other = 0; other < hosts_; ++other)
      made.traffic.push_back({.sent = sent_[host][other], .taken = taken_[host][other]});
    return made;
  }

 private:
  struct one_place {
    bool awake = true;
    std::uint64_t rest = 0;
    std::uint64_t seen = ~std::uint64_t{0};
  };
  void send(std::size_t from, std::size_t to) {
    if (from / 2 == to / 2) {
      if (!places_[to].awake) places_[to].awake = true, ++places_[to].rest;
      return;
    }
    ++sent_[from / 2][to / 2];
    under_way_.emplace_back(from, to);
  }

  std::mt19937_64 random_;
  std::uint16_t hosts_;
  std::vector<std::vector<std::uint64_t>> sent_;   // by host, to host
  std::vector<std::vector<std::uint64_t>> taken_;  // by host, from host
  std::vector<one_place> places_;
  std::vector<std::pair<std::size_t, std::size_t>> under_way_;
};

TEST(hosts_watch, no_job_is_condemned_that_goes_on) {
  const int histories = test::with_sanitizer ? 500 : 5000;
  int found = 0;
  for (int seed = 1; seed <= histories && !testing::Test::HasFailure(); ++seed) {
    std::mt19937_64 random{static_cast<std::uint64_t>(seed)};
    const auto hosts = static_cast<std::uint16_t>(2 + random() % 3);
    pretended_job job{hosts, random()};
    hosts_watch watch{hosts, 0ms, start};
    int looks_since = 0;
    for (int rounds = 0; rounds < 60; ++rounds) {
      const std::uint64_t number = watch.begin_look();
      std::vector<std::uint16_t> order(hosts);
      for (std::uint16_t h = 0; h < hosts; ++h) order[h] = h;
      std::shuffle(order.begin(), order.end(), random);
      std::optional<hosts_watch::finding> seen;
      for (const std::uint16_t h : order) {
        for (std::uint64_t i = random() % 5; i > 0; --i) job.act(rounds < 40);
        seen = watch.take(h, job.look_at(h, number), start);
      }
      ASSERT_TRUE(seen);
      if (seen->is_final) {
        ASSERT_TRUE(job.stands_still()) << "seed " << seed;
        ++found;
        break;
      }
      if (job.stands_still()) {
        ASSERT_LE(++looks_since, 3) << "seed " << seed << ": it stands still, and is not found out";
      }
    }
  }
  EXPECT_GT(found, histories / 2);
}

}  // namespace
}  // namespace situ
