// Who lives, as hosts agree on it: state machines on a clock, a network and a luck of this test's own.
#include "cluster/hosts_alive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "support/sanitized.h"

namespace situ {
namespace {

using namespace detail::cluster;
using namespace std::chrono_literals;
using time = hosts_alive::time;

constexpr auto how = hosts_alive::limits::of(100ms);
constexpr auto between_turns = 20ms;
constexpr auto within = 1s;  // of a fault, all that live know

host_set set_of(std::initializer_list<std::uint16_t> hosts) {
  host_set made;
  for (const std::uint16_t each : hosts) made.add(each);
  return made;
}

std::string text_of(const host_set& hosts) {
  std::string made;
  for (std::uint16_t h = 0; h < 8; ++h)
    if (hosts.has(h)) made += static_cast<char>('0' + h);
  return made;
}

// A job's hosts, with what they send each other under way.
class pretended_job {
 public:
  struct luck {
    double losses = 0;
    time most_delay = 5ms;
    double late = 0;  // how many take up to 300 ms
  };

  pretended_job(std::uint16_t count, std::uint64_t seed) : random_{seed} {
    for (std::uint16_t h = 0; h < count; ++h) hosts_.emplace_back(count, h);
    reaches_.assign(count, std::vector<bool>(count, true));
  }

  void set_luck(const luck& now) { luck_ = now; }
  [[nodiscard]] time now() const { return now_; }
  [[nodiscard]] std::uint16_t count() const { return static_cast<std::uint16_t>(hosts_.size()); }
  [[nodiscard]] const hosts_alive& host(std::uint16_t h) const { return hosts_[h].is; }
  [[nodiscard]] bool is_running(std::uint16_t h) const { return hosts_[h].stopped_until <= now_; }
  // Not since it has ended, was killed, or stopped for ever.
  [[nodiscard]] bool goes_on(std::uint16_t h) const { return is_running(h) && !hosts_[h].is.has_ended(); }
  [[nodiscard]] time when_ended(std::uint16_t h) const { return hosts_[h].ended_at; }
  // When it last learnt of a verdict.
  [[nodiscard]] time when_learnt(std::uint16_t h) const { return hosts_[h].learnt_at; }

  void set_link(std::uint16_t from, std::uint16_t to, bool carries) { reaches_[from][to] = carries; }
  void part(const host_set& side) {
    for (std::uint16_t a = 0; a < count(); ++a)
      for (std::uint16_t b = 0; b < count(); ++b) set_link(a, b, side.has(a) == side.has(b));
  }
  void mend() { part(host_set::first_hosts(count())); }
  void stop(std::uint16_t h, time how_long) {
    if (!is_running(h)) return;
    hosts_[h].stopped_at = now_;
    hosts_[h].stopped_until = now_ + how_long;
  }
  // Its links end, which is told at once.
  void kill(std::uint16_t h) {
    stop(h, 1h);
    hosts_[h].stopped_until = now_ + 1h;
    for (std::uint16_t other = 0; other < count(); ++other)
      if (goes_on(other)) act(other, [&](hosts_alive& is) { is.link_ended(h, now_); });
  }
  void leave(std::uint16_t h) {
    for (std::uint16_t other = 0; other < count(); ++other)
      if (other != h && goes_on(other)) act(other, [&](hosts_alive& is) { is.has_left(h, now_); });
  }

  void run(time how_long) {
    const time until = now_ + how_long;
    while (now_ < until && !testing::Test::HasFailure()) {
      now_ += 1ms;
      deliver();
      for (std::uint16_t h = 0; h < count(); ++h) {
        one& each = hosts_[h];
        if (!is_running(h) || now_ < each.next_turn) continue;
        each.next_turn = now_ + between_turns;
        act(h, [&](hosts_alive& is) { is.turn(now_); });
      }
    }
  }

 private:
  struct one {
    hosts_alive is;
    time next_turn{};
    time stopped_at{};
    time stopped_until{};
    time ended_at{};
    time learnt_at{};
    std::uint32_t known = 0;
    host_set lived;
    one(std::uint16_t count, std::uint16_t self) : is{count, self, how, 0ms}, lived{is.living()} {}
  };
  struct parcel {
    time due;
    std::uint64_t order;
    std::uint16_t from;
    std::uint16_t to;
    alive_news what;
    bool operator<(const parcel& other) const { return std::pair{due, order} > std::pair{other.due, other.order}; }
  };

  // What is due; what comes to a host that is stopped waits there.
  void deliver() {
    std::vector<parcel> waiting;
    while (!under_way_.empty() && under_way_.top().due <= now_) {
      const parcel next = under_way_.top();
      under_way_.pop();
      if (!reaches_[next.from][next.to]) {
        // TCP sends it again; after a while it is given up.
        if (random_() % 4 != 0) continue;
        waiting.push_back(next);
        waiting.back().due = now_ + 200ms;
      } else if (!is_running(next.to)) {
        waiting.push_back(next);
        waiting.back().due = hosts_[next.to].stopped_until;
      } else {
        // The round trip through bytes that the wire would make.
        const packed_news packed = pack_news(next.what, next.from, count());
        parsed_news parsed;
        ASSERT_EQ(parse_news(packed.bytes(), 0, parsed), nullptr);
        act(next.to, [&](hosts_alive& is) { is.hear(next.from, parsed.alive, now_); });
      }
    }
    for (const parcel& each : waiting) under_way_.push(each);
  }

  template <class Act>
  void act(std::uint16_t h, Act does) {
    one& each = hosts_[h];
    const bool had_ended = each.is.has_ended();
    does(each.is);
    for (const hosts_alive::letter& letter : each.is.take_letters()) send(h, letter);
    if (each.is.has_ended() && !had_ended) each.ended_at = now_;
    check(h);
  }
  void send(std::uint16_t from, const hosts_alive::letter& letter) {
    const auto dice = [this] { return std::uniform_real_distribution<>{0, 1}(random_); };
    if (dice() < luck_.losses) return;
    const time longest = dice() < luck_.late ? time{300ms} : luck_.most_delay;
    const time delay{static_cast<std::int64_t>(dice() * static_cast<double>(longest.count()))};
    under_way_.push({now_ + delay, ++order_, from, letter.to, letter.what});
  }

  // What must hold at any time, after host h has acted.
  void check(std::uint16_t h) {
    one& each = hosts_[h];
    const host_set& living = each.is.living();
    ASSERT_TRUE(living.is_part_of(each.lived)) << "who was lost lives again";
    for (; each.known < each.is.verdicts(); ++each.known) {
      const host_set& value = each.is.decided()[each.known];
      each.learnt_at = now_;
      const auto [first, is_new] = decided_.try_emplace(each.known + 1, value);
      if (is_new) first_learnt_[each.known + 1] = now_;
      ASSERT_EQ(text_of(first->second), text_of(value)) << "two verdicts number " << each.known + 1;
      ASSERT_TRUE(value.is_part_of(each.lived) && value != each.lived) << "a verdict of nothing";
      each.lived = value;
    }
    if (each.is.has_ended()) return;
    ASSERT_TRUE(living.has(h));
    for (std::uint16_t other = 0; other < count(); ++other) {
      const hosts_alive& its = hosts_[other].is;
      ASSERT_TRUE(its.has_ended() || living.has(other) || its.living().has(h)) << "two sides go on";
    }
    check_certainty(h);
  }
  // Who was given up while it was frozen answers nobody afterwards.
  void check_certainty(std::uint16_t h) {
    one& each = hosts_[h];
    if (each.stopped_until - each.stopped_at <= how.frozen_turn + between_turns) return;
    for (const auto& [number, living] : decided_) {
      const bool was_given_up = !living.has(h) && first_learnt_[number] <= each.stopped_until;
      ASSERT_FALSE(was_given_up && each.is.may_answer(now_)) << "verdict " << number << " has given up who answers";
    }
  }

  std::mt19937_64 random_;
  luck luck_;
  time now_{};
  std::vector<one> hosts_;
  std::vector<std::vector<bool>> reaches_;  // from, to
  std::priority_queue<parcel> under_way_;
  std::uint64_t order_ = 0;
  std::map<std::uint32_t, host_set> decided_;
  std::map<std::uint32_t, time> first_learnt_;
};

// Those that go on have agreed on being all.
void expect_agreement(const pretended_job& job) {
  host_set going_on;
  for (std::uint16_t h = 0; h < job.count(); ++h)
    if (job.goes_on(h)) going_on.add(h);
  for (std::uint16_t h = 0; h < job.count(); ++h) {
    if (!job.goes_on(h)) continue;
    EXPECT_EQ(text_of(job.host(h).living()), text_of(going_on)) << "host " << h;
  }
}

// From a fault at `fault` on, these go on alone, and all others have ended, in time.
void expect_verdict(const pretended_job& job, const host_set& living, time fault) {
  for (std::uint16_t h = 0; h < job.count(); ++h) {
    if (!job.is_running(h)) continue;
    EXPECT_EQ(job.host(h).has_ended(), !living.has(h)) << "host " << h;
    if (job.host(h).has_ended()) {
      EXPECT_LE(job.when_ended(h) - fault, within) << "host " << h;
    } else {
      EXPECT_EQ(text_of(job.host(h).living()), text_of(living)) << "host " << h;
      EXPECT_LE(job.when_learnt(h) - fault, within) << "host " << h;
    }
  }
}

TEST(hosts_alive, nothing_is_decided_while_all_are_well) {
  pretended_job job{5, 1};
  job.run(20s);
  for (std::uint16_t h = 0; h < 5; ++h) {
    EXPECT_EQ(job.host(h).verdicts(), 0U);
    EXPECT_TRUE(job.goes_on(h));
  }
}

TEST(hosts_alive, a_host_whose_links_end_is_given_up_at_once) {
  for (const std::uint16_t who : {0, 1, 2}) {
    pretended_job job{3, 1};
    job.run(1s);
    job.kill(who);
    const time fault = job.now();
    job.run(150ms);
    host_set living = host_set::first_hosts(3);
    living.remove(who);
    expect_verdict(job, living, fault);
  }
}

TEST(hosts_alive, of_two_the_first_goes_on_alone) {
  for (const std::uint16_t who : {0, 1}) {
    pretended_job job{2, 1};
    job.run(1s);
    job.part(set_of({who}));
    const time fault = job.now();
    job.run(1s);
    expect_verdict(job, set_of({0}), fault);
  }
}

TEST(hosts_alive, half_of_them_goes_on_with_the_first) {
  pretended_job job{4, 1};
  job.run(1s);
  job.part(set_of({1, 2}));
  const time fault = job.now();
  job.run(1s);
  expect_verdict(job, set_of({0, 3}), fault);
  job.mend();
  job.run(1s);
  expect_verdict(job, set_of({0, 3}), fault);
}

TEST(hosts_alive, one_way_is_no_way) {
  pretended_job job{3, 1};
  job.run(1s);
  job.set_link(1, 0, false);
  job.set_link(1, 2, false);
  const time fault = job.now();
  job.run(1s);
  expect_verdict(job, set_of({0, 2}), fault);
}

// Nobody else would notice, but what goes between the two would wait for ever.
TEST(hosts_alive, a_link_between_two_is_one_host_less) {
  pretended_job job{4, 1};
  job.run(1s);
  job.set_link(2, 3, false);
  job.set_link(3, 2, false);
  const time fault = job.now();
  job.run(1s);
  expect_verdict(job, set_of({0, 1, 2}), fault);
}

TEST(hosts_alive, a_frozen_host_hears_of_its_verdict_before_it_answers) {
  for (const std::uint16_t who : {1, 2}) {
    pretended_job job{3, 1};
    job.run(1s);
    job.stop(who, 2s);
    const time fault = job.now();
    job.run(1500ms);
    host_set living = host_set::first_hosts(3);
    living.remove(who);
    expect_verdict(job, living, fault);
    job.run(510ms);
    EXPECT_FALSE(job.goes_on(who));
  }
}

TEST(hosts_alive, a_short_stop_is_forgotten) {
  pretended_job job{3, 1};
  job.run(1s);
  job.stop(1, 380ms);
  job.run(600ms);
  for (std::uint16_t h = 0; h < 3; ++h) {
    EXPECT_EQ(job.host(h).verdicts(), 0U);
    EXPECT_TRUE(job.goes_on(h));
  }
}

TEST(hosts_alive, who_leaves_is_no_part_of_the_next_quorum) {
  pretended_job job{3, 1};
  job.run(1s);
  job.leave(0);
  job.run(100ms);
  EXPECT_EQ(text_of(job.host(1).living()), "12");
  job.kill(0);
  job.kill(2);
  job.run(100ms);
  EXPECT_EQ(text_of(job.host(1).living()), "1");
  EXPECT_TRUE(job.goes_on(1));
}

TEST(hosts_alive, lost_letters_delay_a_verdict_only) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    pretended_job job{5, seed};
    job.run(1s);
    job.set_luck({.losses = 0.05, .most_delay = 20ms});
    job.kill(4);
    job.run(2s);
    for (std::uint16_t h = 0; h < 4; ++h) {
      EXPECT_TRUE(job.goes_on(h)) << "seed " << seed;
      EXPECT_EQ(text_of(job.host(h).living()), "0123") << "seed " << seed;
    }
  }
}

// --- Histories -------------------------------------------------------------------------------------------------------

class history {
 public:
  explicit history(std::uint64_t seed)
      : random_{seed}, job_{static_cast<std::uint16_t>(3 + below(5)), seed}, is_calm_{below(2) == 0} {}

  void run() {
    job_.run(time{500ms} + time{1ms} * below(200));
    if (!is_calm_) run_wild();
    end();
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::uint16_t any_host() { return static_cast<std::uint16_t>(below(job_.count())); }

  void run_wild() {
    job_.set_luck({.losses = static_cast<double>(below(20)) / 100,
                   .most_delay = time{1ms} * (1 + below(60)),
                   .late = static_cast<double>(below(10)) / 100});
    for (std::uint64_t i = 2 + below(8); i > 0; --i) {
      happen();
      job_.run(time{1ms} * below(700));
    }
    job_.set_luck({});
  }
  void happen() {
    const std::uint16_t host = any_host();
    const std::uint16_t other = any_host();
    switch (below(7)) {
      case 0: return job_.stop(host, time{1ms} * (50 + below(2000)));
      case 1: return job_.stop(host, time{1ms} * (200 + below(250)));
      case 2: return below(3) == 0 ? job_.kill(host) : job_.mend();
      case 3: return job_.part(any_side());
      case 4: return job_.set_link(host, other, below(2) == 0);
      case 5: job_.set_link(host, other, false); return job_.set_link(other, host, false);
      default: return job_.mend();
    }
  }
  host_set any_side() {
    host_set side;
    for (std::uint16_t h = 0; h < job_.count(); ++h)
      if (below(2) == 0) side.add(h);
    return side;
  }

  // One fault, and then nothing more.
  void end() {
    const time fault = job_.now();
    host_set side = any_side();
    const bool is_cut = below(2) == 0;
    if (is_cut) {
      job_.part(side);
    } else {
      job_.mend();
      const std::uint16_t host = any_host();
      side = host_set::first_hosts(job_.count());
      side.remove(host);
      job_.stop(host, below(2) == 0 ? time{1h} : time{1200ms});
    }
    if (!is_calm_) {
      job_.run(3s);
      return expect_agreement(job_);
    }
    job_.run(1100ms);
    expect_verdict(job_, who_goes_on(side), fault);
    job_.run(1s);
    expect_agreement(job_);
    if (is_cut) job_.mend();
    job_.run(1s);
    expect_agreement(job_);
  }
  host_set who_goes_on(const host_set& side) {
    const host_set all = host_set::first_hosts(job_.count());
    host_set other = all;
    other.remove(side);
    if (other.is_empty() || side.is_empty()) return all;
    if (2 * side.count() != job_.count()) return side.count() > other.count() ? side : other;
    return side.has(0) ? side : other;
  }

  std::mt19937_64 random_;
  pretended_job job_;
  const bool is_calm_;
};

TEST(hosts_alive, no_history_has_two_sides_that_go_on) {
  constexpr std::uint64_t histories = test::with_sanitizer ? 1'000 : 10'000;
  for (std::uint64_t seed = 1; seed <= histories && !HasFailure(); ++seed) {
    SCOPED_TRACE("history of seed " + std::to_string(seed));
    history{seed}.run();
  }
}

}  // namespace
}  // namespace situ
