#include "model/parts/busy_calendar.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace situ::model {
namespace {

// The worked example of the header.
TEST(BusyCalendar, TakesTheFirstGapThatFits) {
  busy_calendar bus;
  EXPECT_EQ(bus.take(100, 30), 100u);
  EXPECT_EQ(bus.take(110, 30), 130u);  // waits 20 for the first
  EXPECT_EQ(bus.take(300, 10), 300u);
  EXPECT_EQ(bus.take(150, 40), 160u);   // waits 10 for the second, and fits before the third
  EXPECT_EQ(bus.take(150, 150), 310u);  // too long for what is left of the gap: waits 160
  EXPECT_EQ(bus.take(0, 100), 0u);
  EXPECT_EQ(bus.busy(), 30u + 30 + 10 + 40 + 150 + 100);
  EXPECT_EQ(bus.waited(), 20u + 10 + 160);
  EXPECT_EQ(bus.uses(), 6u);
  EXPECT_EQ(bus.free_from(), 460u);
}

TEST(BusyCalendar, NoTimeIsTakenAtOnce) {
  busy_calendar bus;
  bus.take(0, 100);
  EXPECT_EQ(bus.take(50, 0), 50u);
  EXPECT_EQ(bus.busy(), 100u);
}

TEST(BusyCalendar, APacketThatStandsKeepsItsLinkUntilTheNextOne) {
  busy_calendar link;
  link.take(0, 10);
  link.take(50, 10);
  link.lengthen(10, 15);
  EXPECT_EQ(link.take(0, 5), 25u);
  link.lengthen(30, 1000);
  EXPECT_EQ(link.busy(), 10u + 10 + 15 + 5 + 19);  // up to one before the packet at 50
  EXPECT_EQ(link.take(0, 5), 60u);
}

TEST(BusyCalendar, WhatFollowsAtOnceIsNotLengthenedInItsStead) {
  busy_calendar link;
  link.take(0, 10);
  link.take(10, 10);
  link.lengthen(10, 15);
  EXPECT_EQ(link.busy(), 20u);
  EXPECT_EQ(link.take(0, 5), 20u);
}

// The 17th interval makes it forget the first, 0 to 10, and the time before that one's end.
TEST(BusyCalendar, WaitingForWhatIsForgottenCounts) {
  busy_calendar bus;
  for (time_ps i = 0; i < 17; ++i) EXPECT_EQ(bus.take(i * 20, 10), i * 20);
  EXPECT_EQ(bus.take(4, 2), 10u);
  EXPECT_EQ(bus.waited(), 6u);
}

// Nobody gets time twice, nobody begins early, and a request in time order begins at max(from, end of the last).
TEST(BusyCalendar, NeverGivesTheSameTimeTwice) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    busy_calendar bus;
    std::vector<std::pair<time_ps, time_ps>> taken;
    time_ps clock = 0;
    for (int i = 0; i < 300; ++i) {
      clock += random() % 20;
      const time_ps from = clock + random() % 200;
      const time_ps length = 1 + random() % 25;
      const time_ps begin = bus.take(from, length);
      ASSERT_GE(begin, from);
      for (const auto& [other, end] : taken) ASSERT_TRUE(begin >= end || begin + length <= other);
      taken.emplace_back(begin, begin + length);
    }
  }
}

}  // namespace
}  // namespace situ::model
