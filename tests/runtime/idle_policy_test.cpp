// When a place that finds nothing to do goes on looking, gives way, or sleeps.
#include "runtime/idle_policy.h"

#include <gtest/gtest.h>

namespace situ::detail {
namespace {

using step = idle_policy::step;
constexpr std::int64_t ms = 1'000'000;

struct clock {
  std::int64_t now = 0;
  auto reader() {
    return [this] { return now; };
  }
};

// Sleeps that end on the waker's processor, until the place counts as crowded or `most` of them.
int signs_until_crowded(idle_policy& policy, clock& time, int most = 100) {
  for (int i = 1; i <= most; ++i) {
    policy.woken(true, time.reader());
    if (policy.is_crowded()) return i;
  }
  return 0;
}

TEST(idle_policy, looks_then_pauses_then_sleeps_with_a_processor_of_its_own) {
  clock time;
  idle_policy policy{false, time.now};
  EXPECT_EQ(policy.next(1, time.reader()), step::look);
  EXPECT_EQ(policy.next(idle_policy::turns_hot, time.reader()), step::look);
  EXPECT_EQ(policy.next(idle_policy::turns_hot + 1, time.reader()), step::pause);
  EXPECT_EQ(policy.next(idle_policy::turns_alone, time.reader()), step::pause);
  EXPECT_EQ(policy.next(idle_policy::turns_alone + 1, time.reader()), step::sleep);
}

TEST(idle_policy, gives_way_then_sleeps_where_places_share_processors) {
  clock time;
  idle_policy policy{true, time.now};
  EXPECT_EQ(policy.next(1, time.reader()), step::give_way);
  EXPECT_EQ(policy.next(3, time.reader()), step::give_way);
  EXPECT_EQ(policy.next(4, time.reader()), step::sleep);
}

TEST(idle_policy, reads_no_clock_until_there_is_a_sign) {
  idle_policy policy{false, 0};
  const auto never = []() -> std::int64_t {
    ADD_FAILURE() << "the clock is read in every turn";
    return 0;
  };
  (void)policy.next(1, never);
  (void)policy.next(5000, never);
  policy.woken(false, never);
}

TEST(idle_policy, sleeps_at_once_beside_its_waker) {
  clock time;
  idle_policy policy{false, time.now};
  time.now = 6 * ms;
  EXPECT_EQ(signs_until_crowded(policy, time), 4);
  EXPECT_EQ(policy.next(1, time.reader()), step::sleep);
}

TEST(idle_policy, takes_no_sign_from_wakers_elsewhere) {
  clock time;
  idle_policy policy{false, time.now};
  time.now = 6 * ms;
  for (int i = 0; i < 100; ++i) {
    policy.woken(i % 4 != 3, time.reader());
    EXPECT_FALSE(policy.is_crowded());
  }
}

TEST(idle_policy, leaves_the_kernel_time_to_place_the_two) {
  clock time;
  idle_policy policy{false, time.now};
  time.now = 4 * ms;
  EXPECT_EQ(signs_until_crowded(policy, time), 0);
  time.now = 5 * ms;
  EXPECT_EQ(signs_until_crowded(policy, time), 1);
}

TEST(idle_policy, looks_on_again_after_a_while_that_doubles_while_it_is_crowded) {
  clock time;
  idle_policy policy{false, time.now};
  time.now = 6 * ms;
  for (const int expected_ms : {50, 100, 200, 400, 800, 800}) {
    ASSERT_NE(signs_until_crowded(policy, time), 0);
    time.now += expected_ms * ms - 1;
    EXPECT_EQ(policy.next(1, time.reader()), step::sleep) << expected_ms;
    time.now += 1;
    EXPECT_EQ(policy.next(1, time.reader()), step::look) << expected_ms;
    time.now += 5 * ms;
  }
  time.now += 200 * ms;  // crowded no more, and then again
  ASSERT_NE(signs_until_crowded(policy, time), 0);
  time.now += 50 * ms;
  EXPECT_EQ(policy.next(1, time.reader()), step::look);
}

// Sleeps at once until it gives way again.
int sleeps_until_it_gives_way(idle_policy& policy, clock& time) {
  int sleeps = 0;
  while (policy.next(1, time.reader()) == step::sleep) ++sleeps;
  return sleeps;
}

TEST(idle_policy, gives_way_seldom_to_who_keeps_the_processor) {
  clock time;
  idle_policy policy{true, time.now};
  policy.came_back(idle_policy::long_absence_cycles - 1);
  EXPECT_EQ(sleeps_until_it_gives_way(policy, time), 0);
  for (const int expected : {4, 8, 16, 32, 64, 128, 256, 512, 512}) {
    policy.came_back(idle_policy::long_absence_cycles);
    EXPECT_EQ(sleeps_until_it_gives_way(policy, time), expected);
  }
  for (int i = 0; i < 462; ++i) policy.came_back(1000);
  policy.came_back(idle_policy::long_absence_cycles);
  EXPECT_EQ(sleeps_until_it_gives_way(policy, time), 100) << "each time that it came back soon makes it one less";
}

TEST(idle_policy, minds_no_waker_where_places_share_processors) {
  clock time;
  idle_policy policy{true, time.now};
  time.now = 6 * ms;
  EXPECT_EQ(signs_until_crowded(policy, time), 0);
}

}  // namespace
}  // namespace situ::detail
