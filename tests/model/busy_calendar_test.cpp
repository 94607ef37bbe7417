#include "model/parts/busy_calendar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <utility>
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

// A core's write-back of a range reserves a link for 2000 lines ahead; the packets of another core find the gaps.
TEST(BusyCalendar, ALoadFindsTheGapsBetweenTheLinesOfALongWriteBack) {
  busy_calendar link;
  for (time_ps i = 0; i < 2000; ++i) EXPECT_EQ(link.take(100 + i * 1000, 220), 100 + i * 1000);
  EXPECT_EQ(link.take(0, 100), 0u);
  EXPECT_EQ(link.take(50, 180), 320u);  // behind the first line
  for (time_ps i = 1; i < 2000; ++i) EXPECT_EQ(link.take(i * 1000, 80), i * 1000);
  EXPECT_EQ(link.waited(), 270u);
  EXPECT_EQ(link.too_late(), 0u);
}

// The bound: an interval more makes it forget the first, 0 to 10, and the time before the second.
TEST(BusyCalendar, WaitingForWhatIsForgottenCounts) {
  constexpr time_ps kept = busy_times::most_kept();
  busy_calendar bus;
  for (time_ps i = 0; i < kept; ++i) EXPECT_EQ(bus.take(i * 20, 10), i * 20);
  EXPECT_EQ(bus.take(4, 2), 10u);  // joins the first
  EXPECT_EQ(bus.too_late(), 0u);
  bus.take(kept * 20, 10);
  EXPECT_EQ(bus.take(4, 2), 30u);
  EXPECT_EQ(bus.waited(), 6u + 26);
  EXPECT_EQ(bus.too_late(), 1u);
  EXPECT_EQ(bus.take(20, 1), 32u);  // not too late; and the third is the oldest now
  EXPECT_EQ(bus.too_late(), 1u);
  bus.take(kept * 20 + 20, 10);
  EXPECT_EQ(bus.take(39, 1), 50u);
  EXPECT_EQ(bus.too_late(), 2u);
  bus.reset();
  EXPECT_EQ(bus.too_late(), 0u);
  EXPECT_EQ(bus.take(0, 1), 51u);      // the sums are zero, what is forgotten stays so
  EXPECT_EQ(bus.take(210, 10), 210u);  // two become one: there is room for another, but the forgotten do not return
  EXPECT_EQ(bus.take(0, 1), 52u);
  EXPECT_EQ(bus.take(40, 1), 53u);  // within the oldest
  EXPECT_EQ(bus.too_late(), 2u);
}

// An interval that is the oldest when there is no more room is forgotten at once.
TEST(BusyCalendar, ForgetsWhatWouldBeTheOldest) {
  constexpr time_ps kept = busy_times::most_kept();
  busy_calendar bus;
  for (time_ps i = 1; i <= kept; ++i) bus.take(i * 20, 10);  // the empty interval at 0 has made room for the last
  EXPECT_EQ(bus.take(5, 1), 30u);
  EXPECT_EQ(bus.too_late(), 1u);
  EXPECT_EQ(bus.take(31, 9), 31u);  // two become one, while the last is at the beginning of the array
  EXPECT_EQ(bus.free_from(), kept * 20 + 10);
  EXPECT_EQ(bus.take(kept * 20 - 1, 1), kept * 20 - 1);
  EXPECT_EQ(bus.take(20, 1), 50u);
  busy_calendar other;
  other.take(0, 1);
  for (time_ps i = 1; i < kept; ++i) other.take(i * 20, 10);
  EXPECT_EQ(other.take(5, 1), 5u);  // the first, 0 to 1, is forgotten
  EXPECT_EQ(other.take(5, 1), 6u);
  EXPECT_EQ(other.take(4, 1), 7u);
  EXPECT_EQ(other.too_late(), 1u);
}

// The naive form: all reservations since the beginning, of which those that touch are joined.
class all_intervals {
 public:
  time_ps take(time_ps from, time_ps length) {
    time_ps begin = from;
    auto at = taken_.upper_bound(from);
    if (at != taken_.begin()) --at;
    for (; at != taken_.end() && at->first < begin + length; ++at) begin = std::max(begin, at->second);
    time_ps first = begin;
    time_ps last = begin + length;
    const auto next = taken_.lower_bound(begin);
    if (next != taken_.begin() && std::prev(next)->second == begin) first = std::prev(next)->first;
    if (next != taken_.end() && next->first == last) {
      last = next->second;
      taken_.erase(next);
    }
    taken_[first] = last;
    waited_ += begin - from;
    return begin;
  }
  time_ps lengthen(time_ps until, time_ps more) {
    const auto next = taken_.lower_bound(until);
    if (next == taken_.begin() || std::prev(next)->second != until) return 0;
    const time_ps end = next == taken_.end() ? until + more : std::min(until + more, next->first - 1);
    std::prev(next)->second = end;
    return end - until;
  }
  [[nodiscard]] time_ps free_from() const { return taken_.empty() ? 0 : taken_.rbegin()->second; }
  [[nodiscard]] time_ps waited() const { return waited_; }
  [[nodiscard]] std::size_t count() const { return taken_.size(); }

 private:
  std::map<time_ps, time_ps> taken_;
  time_ps waited_ = 0;
};

// Requests of cores whose clocks run apart, some of which reserve many intervals ahead.
TEST(BusyCalendar, DoesAsOneThatKeepsAllIntervals) {
  std::size_t most = 0;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    busy_times times;
    all_intervals all;
    std::vector<time_ps> ends{1};
    time_ps clock = 0;
    if (seed % 4 == 3)  // more than are kept, of a time before all requests that follow
      for (time_ps i = 0; i < busy_times::most_kept() + seed; ++i, clock += 7) times.take(clock, 2), all.take(clock, 2);
    const time_ps start = clock;
    const std::uint32_t spread = 1 << (3 + seed % 8);
    const auto take = [&](time_ps from, time_ps length) {
      const time_ps begin = times.take(from, length);
      ASSERT_EQ(begin, all.take(from, length));
      ends.push_back(begin + length);
    };
    for (int i = 0; i < 400; ++i) {
      clock += random() % spread;
      switch (random() % 16) {
        case 0:  // a range: line after line
          for (std::uint32_t line = 0, step = 1 + random() % 60, count = random() % 40; line < count; ++line)
            ASSERT_NO_FATAL_FAILURE(take(clock + line * step, 1 + random() % 12));
          break;
        case 1: {
          const time_ps until = ends[ends.size() - 1 - random() % std::min<std::size_t>(ends.size(), 50)];
          const time_ps more = 1 + random() % 30;
          ASSERT_EQ(times.lengthen(until, more), all.lengthen(until, more));
          break;
        }
        case 2:  // of long ago
          ASSERT_NO_FATAL_FAILURE(take(start + random() % (clock - start + 1), 1 + random() % 25));
          break;
        default: ASSERT_NO_FATAL_FAILURE(take(clock + random() % 200, 1 + random() % 25));
      }
      ASSERT_EQ(times.free_from(), all.free_from());
    }
    EXPECT_EQ(times.waited(), all.waited());
    EXPECT_EQ(times.too_late(), 0u);
    most = std::max(most, all.count());
  }
  EXPECT_GT(most, 500u);  // so rings have grown several times
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
