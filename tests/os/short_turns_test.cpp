#include "os/short_turns.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <thread>

#include "os/host.h"

using situ::detail::short_turns;
using situ::detail::steady_ns;

// In a thread of its own, since what it starts has short turns as well.
template <class Body>
void in_a_thread(Body body) {
  std::jthread{body}.join();
}

TEST(ShortTurns, LinuxGivesTheThreadTheShortestSlices) {
  utsname system{};
  int major = 0;
  int minor = 0;
  ASSERT_EQ(::uname(&system), 0);
  ASSERT_EQ(std::sscanf(system.release, "%d.%d", &major, &minor), 2);
  if (major < 6 || (major == 6 && minor < 12)) GTEST_SKIP() << "Linux " << system.release << " has no slices";
  in_a_thread([] {
    (void)short_turns::take();
    std::array<std::byte, 48> told{};  // Linux's sched_attr, whose runtime lies at 24
    ASSERT_EQ(::syscall(SYS_sched_getattr, 0, told.data(), told.size(), 0), 0);
    std::uint64_t runtime_ns = 0;
    std::memcpy(&runtime_ns, &told[24], sizeof runtime_ns);
    EXPECT_EQ(runtime_ns, 100'000U);
  });
}

TEST(ShortTurns, ATurnIsOverAfterATenthOfAMillisecond) {
  in_a_thread([] {
    short_turns turns = short_turns::take();
    const std::uint64_t begun = steady_ns();
    EXPECT_TRUE(turns.yield_if_over(begun + 100'000));
    EXPECT_FALSE(turns.yield_if_over(begun + 100'000)) << "it has just yielded";
  });
}

TEST(ShortTurns, AThreadThatHasSleptBeginsATurn) {
  in_a_thread([] {
    short_turns turns = short_turns::take();
    const std::uint64_t woken = steady_ns() + 1'000'000;
    turns.waited(woken - 500'000, woken);
    EXPECT_FALSE(turns.yield_if_over(woken + 99'999));
    EXPECT_TRUE(turns.yield_if_over(woken + 100'000));
  });
}

TEST(ShortTurns, ALookWithoutSleepBeginsNone) {
  in_a_thread([] {
    short_turns turns = short_turns::take();
    const std::uint64_t now = steady_ns() + 200'000;
    turns.waited(now - 1000, now);
    EXPECT_TRUE(turns.yield_if_over(now));
  });
}
