// queue: against std::deque; histories of several producers and consumers, in which nothing is lost, doubled or out of
// its producer's order; bounds, deadlines, the end; losses.
#include <situ/spread/queue.h>

#include "support/places.h"

#include <situ/base/log.h>

#include <deque>
#include <memory>
#include <random>
#include <stdexcept>

namespace situ {
namespace {

using namespace std::chrono_literals;

class queue_on : public test::on_places {};

struct numbered {
  std::uint32_t from;
  std::uint32_t number;
};

TEST_P(queue_on, one_place_alone_sees_a_deque) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    queue<std::string> q{place{place_count() - 1}, {.capacity = 20}};
    if (here().index() == 0) {
      std::deque<std::string> model;
      std::mt19937_64 random{seed};
      for (int i = 0; i < test::rounds(3000); ++i) {
        const std::string text(random() % 40, static_cast<char>('a' + random() % 26));
        switch (random() % 6) {
          case 0:
          case 1:
            ASSERT_EQ(q.try_push(text), model.size() < 20);
            if (model.size() < 20) model.push_back(text);
            break;
          case 2:
          case 3: {
            const std::optional<std::string> got = q.try_pop();
            ASSERT_EQ(got.has_value(), !model.empty());
            if (!got) break;
            ASSERT_EQ(*got, model.front());
            model.pop_front();
            break;
          }
          case 4: {
            const std::vector<std::string> some(std::min<std::size_t>(random() % 5, 20 - model.size()), text);
            q.push_all(some);
            model.insert(model.end(), some.begin(), some.end());
            break;
          }
          default: {
            const std::size_t most = random() % 5;
            if (model.empty()) break;
            const std::vector<std::string> some = q.pop_some(most);
            ASSERT_EQ(some.size(), std::min(most, model.size()));
            for (const std::string& each : some) {
              ASSERT_EQ(each, model.front());
              model.pop_front();
            }
          }
        }
        ASSERT_EQ(q.size(), model.size());
      }
    }
    barrier();
  });
}

// Out of line: else gcc 12 takes the vector's bytes for fewer than they are, and warns.
[[gnu::noinline]] void push_some(queue<numbered>& q, const std::vector<numbered>& some) { q.push_all(some); }

// Each place produces, and each consumes until the queue is closed.
void check_history(queue<numbered>& q, std::uint32_t count, std::uint64_t seed) {
  std::mt19937_64 random{test::mixed(seed, here().index())};
  std::vector<numbered> got;
  const future<> producer = async([&] {
    for (std::uint32_t i = 0; i < count;) {
      const numbered next{here().index(), i};
      switch (random() % 3) {
        case 0: q.push(next), ++i; break;
        case 1: i += q.try_push(next) ? 1U : 0U; break;
        default: {
          std::vector<numbered> some(std::min<std::uint32_t>(1 + static_cast<std::uint32_t>(random() % 5), count - i));
          for (numbered& each : some) each = {here().index(), i++};
          push_some(q, some);
        }
      }
    }
  });
  const auto consume = [&] {
    std::mt19937_64 dice{test::mixed(seed, 100 + here().index())};
    while (true) {
      if (dice() % 2 == 0) {
        const std::vector<numbered> some = q.pop_some(1 + dice() % 4);
        if (some.empty()) return;
        got.insert(got.end(), some.begin(), some.end());
      } else if (const std::optional<numbered> one = dice() % 2 == 0 ? q.pop() : q.pop(1ms)) {
        got.push_back(*one);
      } else if (q.is_closed() && q.size() == 0) {
        return;
      }
    }
  };
  const future<> consumer = async(consume);
  producer.get();
  barrier();
  if (here().index() == 0) q.close();
  consumer.get();
  std::vector<std::uint32_t> next(place_count());
  for (const numbered each : got) {
    EXPECT_GE(each.number, next[each.from]) << "not in its producer's order";
    next[each.from] = each.number + 1;
  }
  std::vector<std::uint32_t> times(place_count() * count);
  for (const auto& of_place : all_gather(got))
    for (const numbered each : of_place) ++times[each.from * count + each.number];
  EXPECT_EQ(times, std::vector<std::uint32_t>(place_count() * count, 1));
}

TEST_P(queue_on, histories_of_a_bounded_one) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (std::uint64_t round = 0; round < 4; ++round) {
      queue<numbered> q{place{static_cast<std::uint32_t>(round % place_count())}, {.capacity = 1 + round * 3}};
      check_history(q, static_cast<std::uint32_t>(test::rounds(200)), test::mixed(seed, round));
      barrier();
    }
  });
}

TEST_P(queue_on, histories_of_one_that_grows) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    queue<numbered> q{place{0}};
    check_history(q, static_cast<std::uint32_t>(test::rounds(500)), seed);
    barrier();
  });
}

TEST_P(queue_on, a_full_one_makes_producers_wait) {
  run([] {
    queue<int> q{place{0}, {.capacity = 3}};
    if (here().index() == place_count() - 1) {
      for (int i = 0; i < 3; ++i) q.push(i);
      EXPECT_FALSE(q.try_push(3));
      EXPECT_FALSE(q.push(3, 2ms));
      const future<> waits = async([&] { q.push(3); });
      EXPECT_FALSE(waits.wait_for(2ms));
      EXPECT_EQ(q.size(), 3U);
      EXPECT_EQ(q.pop(), 0);
      waits.get();
      EXPECT_EQ(q.size(), 3U);
      for (int i = 1; i < 4; ++i) EXPECT_EQ(q.pop(), i);
      EXPECT_EQ(q.try_pop(), std::nullopt);
      EXPECT_EQ(q.pop(2ms), std::nullopt);
    }
    barrier();
  });
}

TEST_P(queue_on, close_ends_all_waits) {
  run([] {
    queue<int> q{place{0}, {.capacity = 1}};
    queue<int> full{place{0}, {.capacity = 1}};
    if (here().index() == 0) full.push(1);
    barrier();
    const future<std::optional<int>> pops = async([&] { return q.pop(); });
    const future<> pushes = async([&] { full.push(2); });
    EXPECT_FALSE(pops.wait_for(1ms));
    EXPECT_FALSE(pushes.wait_for(1ms));
    barrier();
    if (here().index() == place_count() - 1) {
      q.close();
      full.close();
    }
    EXPECT_EQ(pops.get(), std::nullopt);
    EXPECT_TRUE(test::error_of([&] { pushes.get(); }).says("closed"));
    EXPECT_TRUE(test::error_of([&] { q.push(1); }).says("closed"));
    EXPECT_EQ(q.pop(), std::nullopt);
    EXPECT_TRUE(q.is_closed());
    barrier();
    if (here().index() == 0) {
      EXPECT_EQ(full.pop(), 1);
    }
    barrier();
  });
}

TEST_P(queue_on, elements_may_be_moved_only) {
  run([] {
    queue<std::unique_ptr<int>> q{place{0}};
    if (here().index() == place_count() - 1) {
      q.push(std::make_unique<int>(5));
      std::optional<std::unique_ptr<int>> got = q.pop();
      ASSERT_TRUE(got);
      EXPECT_EQ(**got, 5);
    }
    barrier();
  });
}

TEST_P(queue_on, what_cannot_be_is_refused) {
  run([] {
    EXPECT_EQ(test::error_of([] { const queue<int> q{place{place_count()}}; }).code, errc::bad_argument);
    EXPECT_EQ(test::error_of([] { const queue<int> q{place{0}, {.capacity = 0}}; }).code, errc::bad_argument);
  });
}

TEST_P(queue_on, a_lost_place_is_told) {
  if (GetParam().places == 1) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    queue<int> lost{place{1}};
    queue<int> kept{place{0}};
    if (here().index() == 1) {
      kept.push(1);
      barrier();
      throw std::runtime_error{"died as it should"};
    }
    barrier();
    // Who waits learns of it, whether it waits for the lost place or not.
    EXPECT_THROW((void)lost.pop(), place_lost_error);
    EXPECT_THROW((void)lost.pop(), place_lost_error);
    EXPECT_THROW(lost.push(1), place_lost_error);
    EXPECT_THROW((void)lost.size(), place_lost_error);
    if (here().index() == 0) {
      EXPECT_EQ(kept.pop(), 1);  // it stays, and the queue goes on
      kept.push(7);
      EXPECT_EQ(kept.pop(), 7);
    }
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

TEST_P(queue_on, who_waits_for_an_element_is_told_of_a_loss_and_takes_none) {
  if (GetParam().places != 3) return;  // a fourth that leaves would be told of, too
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    queue<int> q{place{0}};
    queue<int> told{place{0}};
    barrier();
    if (here().index() == 1) {
      for (int i = 0; i < 100; ++i) progress();
      throw std::runtime_error{"died as it should"};
    }
    EXPECT_THROW((void)q.pop(), place_lost_error);
    if (here().index() == 2) {
      told.push(1);
      EXPECT_EQ(q.pop(), 5);  // told once
      told.push(2);
    } else {
      EXPECT_EQ(told.pop(), 1);
      q.push(5);
      EXPECT_EQ(told.pop(), 2);  // who leaves is an end, too
    }
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

INSTANTIATE_TEST_SUITE_P(layouts, queue_on, testing::ValuesIn(test::layouts({1, 2, 3, 5})), test::layout_name);

}  // namespace
}  // namespace situ
