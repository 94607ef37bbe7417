// What wakes a place that sleeps on its network: whoever would wake it on a futex rings its bell.
#include "memory/bell.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "memory/liveness.h"
#include "os/host.h"
#include "support/forked.h"

namespace situ::detail {
namespace {

constexpr std::int64_t long_ns = 20'000'000'000;
constexpr std::int64_t short_ns = 2'000'000;

bool is_rung(const bell& which) { return await_descriptors(which.descriptor(), -1, 0); }

TEST(bell, is_rung_by_who_wakes_its_place) {
  place_slot slot;
  const bell mine{slot};
  EXPECT_NE(slot.bell.load(), 0U);
  EXPECT_FALSE(is_rung(mine));
  wake(slot);  // which is awake
  EXPECT_FALSE(is_rung(mine));
  slot.sleeping.store(asleep_on_word);
  wake(slot);
  EXPECT_FALSE(is_rung(mine));
  slot.sleeping.store(asleep_by_bell);
  wake(slot);
  EXPECT_EQ(slot.sleeping.load(), 0U);
  EXPECT_TRUE(is_rung(mine));
  mine.silence();
  EXPECT_FALSE(is_rung(mine));
}

TEST(bell, ends_a_sleep_from_another_thread_each_time) {
  place_slot slot;
  const bell mine{slot};
  std::atomic<int> work{0};
  constexpr int rounds = 2000;
  std::thread other{[&] {
    for (int i = 0; i < rounds; ++i) {
      work.fetch_add(1);
      wake_after_change(slot);
      while (work.load() != 0) std::this_thread::yield();
    }
  }};
  for (int done = 0; done < rounds;) {
    slot.sleeping.store(asleep_by_bell);
    if (work.load() == 0) {
      ASSERT_TRUE(await_descriptors(-1, mine.descriptor(), long_ns)) << "a wake-up is lost";
    }
    mine.silence();
    slot.sleeping.store(0);
    if (work.exchange(0) != 0) ++done;
  }
  other.join();
}

TEST(bell, that_rings_already_or_is_gone_holds_nobody_up) {
  std::uint64_t key = 0;
  {
    place_slot slot;
    const bell mine{slot};
    key = slot.bell.load();
    for (int i = 0; i < 10'000; ++i) ring_bell(key);  // far more than a socket's queue holds
    EXPECT_TRUE(is_rung(mine));
    mine.silence();
    EXPECT_FALSE(is_rung(mine));
  }
  ring_bell(key);
}

// As closefrom() does, and what a program opens then has their numbers.
TEST(bell, is_rung_after_a_program_has_closed_what_it_does_not_know) {
  place_slot slot;
  const bell mine{slot};
  ring_bell(slot.bell.load());
  mine.silence();
  for (int each = 3; each < 64; ++each)
    if (each != mine.descriptor() && !test::copy_descriptor(STDERR_FILENO, each)) break;
  ring_bell(slot.bell.load());
  EXPECT_TRUE(is_rung(mine));
  for (int each = 3; each < 64; ++each)
    if (each != mine.descriptor()) ::close(each);
  mine.silence();
  ring_bell(slot.bell.load());
  EXPECT_TRUE(is_rung(mine));
}

TEST(bell, is_rung_for_every_end_of_a_place) {
  const job shared = job::create({.place_count = 2});
  const bell mine{shared.control().slot(0)};
  mark_lost(shared.control(), 1, "it is a test");
  EXPECT_TRUE(is_rung(mine));
}

TEST(bell, is_not_awaited_for_longer_than_is_said) {
  place_slot slot;
  const bell mine{slot};
  const std::uint64_t begin = steady_ns();
  EXPECT_FALSE(await_descriptors(mine.descriptor(), -1, short_ns));
  EXPECT_GE(steady_ns() - begin, static_cast<std::uint64_t>(short_ns));
}

}  // namespace
}  // namespace situ::detail
