// The team of survivors(), as hosts agree on it: state machines on a clock, a network and a luck of this test's own.
// Verdicts are the test's: each host learns them in order, at times of its own.
#include "cluster/survivors_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "os/bytes.h"
#include "support/sanitized.h"

namespace situ {
namespace {

using namespace detail::cluster;
using detail::place_home;

constexpr std::uint32_t places_of_host = 2;

place_set set_of(std::uint32_t count, std::initializer_list<std::uint32_t> places) {
  place_set made{count};
  for (const std::uint32_t each : places) made.add(each);
  return made;
}

std::string text_of(const place_set& places) {
  std::string made;
  for (std::uint32_t p = 0; p < places.size(); ++p)
    if (places.has(p)) made += static_cast<char>('a' + p);
  return made;
}

// A job of hosts with two places each, which call survivors() again and again.
class pretended_job {
 public:
  pretended_job(std::uint16_t hosts, std::uint64_t seed) : random_{seed} {
    for (std::uint32_t p = 0; p < hosts * places_of_host; ++p)
      homes_.push_back(
          {static_cast<std::uint16_t>(p / places_of_host), static_cast<std::uint16_t>(p % places_of_host)});
    verdicts_.push_back(host_set::first_hosts(hosts));
    for (std::uint16_t h = 0; h < hosts; ++h) hosts_.emplace_back(homes_, hosts, h);
  }

  [[nodiscard]] std::uint16_t count() const { return static_cast<std::uint16_t>(hosts_.size()); }
  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(homes_.size()); }
  [[nodiscard]] bool lives(std::uint32_t place) const {
    return hosts_[homes_[place].host].runs && places_[place].lives;
  }
  // The place has its team of that round, and goes on with it.
  [[nodiscard]] std::uint64_t round_of(std::uint32_t place) const { return places_[place].done; }
  [[nodiscard]] const std::string& team_of(std::uint32_t place, std::uint64_t round) const {
    return places_[place].teams.at(round);
  }

  // A place comes to the next round only once it has the team of the last.
  void call(std::uint32_t place) { places_[place].round = places_[place].done + 1; }
  void kill(std::uint32_t place) { places_[place].lives = false; }
  // The hosts that go on find that out, each when it learns the verdict.
  void kill_host(std::uint16_t host) {
    hosts_[host].runs = false;
    host_set left = verdicts_.back();
    left.remove(host);
    verdicts_.push_back(left);
  }

  // Each host in some order: it learns a verdict or the ends of some places, takes in some news, and looks.
  void turn() {
    std::vector<std::uint16_t> order(count());
    for (std::uint16_t h = 0; h < count(); ++h) order[h] = h;
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::uint16_t h : order)
      if (hosts_[h].runs) act(h);
  }
  // Everything arrives, and everybody knows everything.
  void settle() {
    is_settling_ = true;
    for (int i = 0; i < 20; ++i) turn();
    is_settling_ = false;
  }

 private:
  struct one {
    survivors_agreement is;
    std::uint32_t verdicts = 0;
    place_set living;
    bool runs = true;
    std::uint64_t shown = 0;
    std::uint64_t round = 0;
    one(std::span<const place_home> homes, std::uint16_t hosts, std::uint16_t self)
        : is{homes, hosts, self}, living{static_cast<std::uint32_t>(homes.size())} {
      for (std::uint32_t p = 0; p < living.size(); ++p) living.add(p);
    }
  };
  struct one_place {
    bool lives = true;
    std::uint64_t round = 0;
    std::uint64_t done = 0;
    std::map<std::uint64_t, std::string> teams;
  };
  struct parcel {
    std::uint16_t from;
    std::uint16_t to;
    rest_news what;
  };
  [[nodiscard]] bool happens() { return is_settling_ || random_() % 3 == 0; }

  void act(std::uint16_t h) {
    one& host = hosts_[h];
    if (host.verdicts + 1 < verdicts_.size() && happens()) ++host.verdicts;
    place_set still{places()};
    for (std::uint32_t p = 0; p < places(); ++p) {
      const bool is_left = verdicts_[host.verdicts].has(homes_[p].host);
      const bool is_known_dead = !places_[p].lives && (homes_[p].host == h || happens());
      if (host.living.has(p) && is_left && !is_known_dead) still.add(p);
    }
    host.living = still;
    look(h);
    for (std::size_t i = 0; i < under_way_.size();) {
      if (under_way_[i].to != h || !happens()) {
        ++i;
        continue;
      }
      const parcel next = under_way_[i];
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
      host.is.hear(next.from, next.what);
    }
    look(h);
    show(host, h);
  }

  void look(std::uint16_t h) {
    one& host = hosts_[h];
    std::uint64_t least = UINT64_MAX;
    for (std::uint32_t p = 0; p < places(); ++p)
      if (homes_[p].host == h && places_[p].lives) least = std::min(least, places_[p].round);
    if (least != UINT64_MAX) host.round = least;
    host.is.look(
        {.verdicts = host.verdicts, .hosts = verdicts_[host.verdicts], .living = host.living, .round = host.round});
    for (const survivors_agreement::letter& each : host.is.take_letters()) send(h, each);
  }

  // The round trip through bytes that the wire would make; in any order.
  void send(std::uint16_t from, const survivors_agreement::letter& each) {
    const packed_rest packed = pack_rest(each.what, from);
    parsed_news head;
    rest_news again;
    ASSERT_EQ(parse_news(packed.head.bytes(), packed.data.size(), head), nullptr);
    ASSERT_EQ(parse_rest(head, packed.data, places(), again), nullptr);
    ASSERT_EQ(again, each.what);
    const auto at = under_way_.begin() + static_cast<std::ptrdiff_t>(random_() % (under_way_.size() + 1));
    under_way_.insert(at, {from, each.to, again});
  }

  void show(one& host, std::uint16_t h) {
    bool has_places = false;
    for (std::uint32_t p = 0; p < places(); ++p) has_places |= homes_[p].host == h && places_[p].lives;
    if (!has_places || host.is.round() <= host.shown) return;
    ASSERT_EQ(host.is.round(), host.shown + 1) << "a round was passed over";
    for (std::uint32_t p = 0; p < places(); ++p)
      if (!host.is.team().has(p) && host.living.has(p)) return;  // its end is not known here yet
    host.shown = host.is.round();
    for (std::uint32_t p = 0; p < places(); ++p) {
      if (homes_[p].host != h || !places_[p].lives) continue;
      ASSERT_EQ(places_[p].round, host.shown) << "a team before all have come";
      places_[p].done = host.shown;
      places_[p].teams[host.shown] = text_of(host.is.team());
    }
  }

  std::mt19937_64 random_;
  std::vector<place_home> homes_;
  std::vector<host_set> verdicts_;  // the first is all hosts
  std::vector<one> hosts_;
  std::array<one_place, 32> places_;
  std::vector<parcel> under_way_;
  bool is_settling_ = false;
};

TEST(survivors_agreement, the_first_host_decides_once_all_have_come) {
  pretended_job job{3, 1};
  for (const std::uint32_t p : {0U, 1U, 2U, 4U, 5U}) job.call(p);
  job.settle();
  EXPECT_EQ(job.round_of(0), 0U);  // one has not come
  job.kill(3);
  job.settle();
  for (const std::uint32_t p : {0U, 1U, 2U, 4U, 5U}) EXPECT_EQ(job.team_of(p, 1), "abcef");
}

TEST(survivors_agreement, goes_on_without_the_host_that_decides) {
  pretended_job job{3, 2};
  for (std::uint32_t p = 1; p < 6; ++p) job.call(p);
  job.settle();
  job.kill_host(0);
  job.settle();
  for (std::uint32_t p = 2; p < 6; ++p) EXPECT_EQ(job.team_of(p, 1), "cdef");
}

TEST(survivors_agreement, needs_no_news_of_a_host_whose_places_have_ended) {
  pretended_job job{2, 3};
  job.call(2);
  job.call(3);
  job.kill(0);
  job.kill(1);
  job.settle();
  EXPECT_EQ(job.team_of(2, 1), "cd");
}

// A team that the lost decider gave to one host alone is everybody's.
TEST(survivors_agreement, a_team_that_one_host_has_is_kept) {
  const std::array<place_home, 3> homes{{{0, 0}, {1, 0}, {2, 0}}};
  survivors_agreement second{homes, 3, 1};
  survivors_agreement third{homes, 3, 2};
  survivors_agreement::view view{
      .verdicts = 0, .hosts = host_set::first_hosts(3), .living = set_of(3, {0, 1, 2}), .round = 1};
  second.look(view);
  third.look(view);
  (void)second.take_letters();
  (void)third.take_letters();
  third.hear(0, {.number = 1, .round = 1, .agreed = 1, .living = set_of(3, {0}), .team = set_of(3, {0, 1, 2})});
  (void)third.take_letters();
  view.verdicts = 1;
  view.hosts.remove(0);
  view.living = set_of(3, {1, 2});
  second.look(view);
  EXPECT_EQ(second.round(), 0U);  // the third may know more
  second.hear(2, {.verdicts = 0, .number = 1, .round = 1, .living = set_of(3, {2}), .team = place_set{3}});
  EXPECT_EQ(second.round(), 0U);  // from before the verdict
  third.look(view);
  // What the lost one says now is not heard.
  third.hear(0, {.number = 2, .round = 2, .agreed = 2, .living = set_of(3, {0}), .team = set_of(3, {0})});
  EXPECT_EQ(third.round(), 1U);
  const auto letters = third.take_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].to, 1U);
  second.hear(2, letters[0].what);
  EXPECT_EQ(second.round(), 1U);
  EXPECT_EQ(text_of(second.team()), "abc");
}

TEST(survivors_agreement, a_host_that_may_be_given_up_decides_nothing) {
  const std::array<place_home, 2> homes{{{0, 0}, {1, 0}}};
  survivors_agreement first{homes, 2, 0};
  survivors_agreement::view view{.hosts = host_set::first_hosts(2), .living = set_of(2, {0, 1}), .round = 1};
  view.may_decide = false;
  first.look(view);
  first.hear(1, {.number = 1, .round = 1, .living = set_of(2, {1}), .team = place_set{2}});
  EXPECT_EQ(first.round(), 0U);
  view.may_decide = true;
  first.look(view);
  EXPECT_EQ(first.round(), 1U);
}

TEST(survivors_agreement, bytes_that_do_not_fit_are_refused) {
  const rest_news news{.number = 1, .living = set_of(3, {1}), .team = set_of(3, {0, 2})};
  const packed_rest packed = pack_rest(news, 0);
  parsed_news head;
  rest_news parsed;
  EXPECT_NE(parse_news(packed.head.bytes().first(packed.head.bytes().size() - 1), packed.data.size(), head), nullptr);
  ASSERT_EQ(parse_news(packed.head.bytes(), packed.data.size(), head), nullptr);
  EXPECT_EQ(parse_rest(head, packed.data, 3, parsed), nullptr);
  EXPECT_NE(parse_rest(head, packed.data, 2, parsed), nullptr);   // place 2 is none
  EXPECT_NE(parse_rest(head, packed.data, 65, parsed), nullptr);  // another length
  EXPECT_NE(parse_rest(head, std::span{packed.data}.first(15), 3, parsed), nullptr);
  std::vector<std::byte> longer = packed.data;
  longer.push_back({});
  EXPECT_NE(parse_rest(head, longer, 3, parsed), nullptr);
}

// Places and hosts that end at any moment of many rounds: places that go on have the same teams, and all come on.
TEST(survivors_agreement, all_that_go_on_have_the_same_teams) {
  const int histories = test::with_sanitizer ? 300 : 3000;
  for (int seed = 1; seed <= histories && !testing::Test::HasFailure(); ++seed) {
    std::mt19937_64 random{static_cast<std::uint64_t>(seed)};
    const auto hosts = static_cast<std::uint16_t>(2 + random() % 4);
    pretended_job job{hosts, random()};
    std::uint16_t lost = 0;
    const std::uint64_t rounds = 4;
    std::vector<bool> is_host_lost(hosts);
    const auto call_all = [&](bool slowly) {
      for (std::uint32_t p = 0; p < job.places(); ++p)
        if (job.lives(p) && job.round_of(p) < rounds && (!slowly || random() % 4 == 0)) job.call(p);
    };
    for (int turn = 0; turn < 120; ++turn) {
      call_all(true);
      if (random() % 40 == 0) job.kill(static_cast<std::uint32_t>(random() % job.places()));
      const auto host = static_cast<std::uint16_t>(random() % hosts);
      if (random() % 60 == 0 && lost + 1 < hosts && !is_host_lost[host]) {
        job.kill_host(host);
        is_host_lost[host] = true;
        ++lost;
      }
      job.turn();
    }
    for (std::uint64_t i = 0; i <= rounds; ++i) {
      call_all(false);
      job.settle();
    }
    std::map<std::uint64_t, std::string> teams;
    for (std::uint32_t p = 0; p < job.places(); ++p) {
      if (!job.lives(p)) continue;
      ASSERT_EQ(job.round_of(p), rounds) << "seed " << seed << ", place " << p;
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        const std::string& its = teams.try_emplace(round, job.team_of(p, round)).first->second;
        ASSERT_EQ(its, job.team_of(p, round)) << "seed " << seed << ", place " << p << ", round " << round;
        ASSERT_NE(its.find(static_cast<char>('a' + p)), std::string::npos) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace situ
