// Whom a server lets in before it knows who they are: the table of strangers, and when accepting rests.
#include "rmem/admission.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

using situ::rmem::detail::admission;

namespace {

constexpr std::uint64_t ms = 1'000'000;

TEST(rmem_admission, a_stranger_that_is_new_is_not_pushed_out) {
  admission door{2};
  door.enter(1, 100 * ms);
  EXPECT_FALSE(door.is_full());
  door.enter(2, 200 * ms);
  EXPECT_TRUE(door.is_full());
  EXPECT_FALSE(door.overdue(349 * ms));
  EXPECT_EQ(door.overdue(350 * ms), 1U);
  door.leave(1);  // it has logged in
  EXPECT_FALSE(door.is_full());
  EXPECT_FALSE(door.overdue(350 * ms));
  EXPECT_EQ(door.overdue(450 * ms), 2U);
}

TEST(rmem_admission, a_client_that_has_ended_makes_room_first) {
  admission door{2};
  door.enter(7, 100 * ms);
  door.enter(3, 0);
  EXPECT_EQ(door.overdue(300 * ms), 3U);
  door.enter(7, 300 * ms);  // known: since then
  door.leave(3);
  EXPECT_EQ(door.overdue(350 * ms), 7U);
}

TEST(rmem_admission, rest_for_room_ends_when_there_is_some) {
  admission door{1};
  door.enter(1, 100 * ms);
  EXPECT_EQ(door.sleep_ms(120 * ms, -1), -1);
  door.rest_for_room(120 * ms);
  EXPECT_EQ(door.sleep_ms(120 * ms, -1), 231);  // until the grace of the one that is in is over
  EXPECT_EQ(door.sleep_ms(120 * ms, 50), 50);
  EXPECT_FALSE(door.take_end_of_rest(349 * ms));
  EXPECT_TRUE(door.take_end_of_rest(350 * ms));
  EXPECT_FALSE(door.is_resting());
  door.rest_for_room(130 * ms);
  door.leave(1);
  EXPECT_EQ(door.sleep_ms(140 * ms, -1), 0);
  EXPECT_TRUE(door.take_end_of_rest(140 * ms));
  EXPECT_FALSE(door.take_end_of_rest(140 * ms));
}

TEST(rmem_admission, rest_for_descriptors_ends_with_a_connection_or_after_a_while) {
  admission door{4};
  door.rest_for_descriptors(100 * ms);
  EXPECT_FALSE(door.take_end_of_rest(199 * ms));
  EXPECT_EQ(door.sleep_ms(199 * ms, -1), 2);
  EXPECT_TRUE(door.take_end_of_rest(200 * ms));
  door.rest_for_descriptors(300 * ms);
  door.connection_ended();
  EXPECT_TRUE(door.take_end_of_rest(301 * ms));
  door.enter(1, 0);  // overdue, and closing it has not helped
  door.rest_for_descriptors(400 * ms);
  EXPECT_FALSE(door.take_end_of_rest(499 * ms));
  EXPECT_TRUE(door.take_end_of_rest(500 * ms));
}

TEST(rmem_admission, descriptors_are_for_clients_strangers_and_regions) {
  rlimit limit{};
  const auto plan = situ::rmem::detail::plan_descriptors(10);
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
  EXPECT_GE(plan.strangers, 64U);
  EXPECT_LE(plan.strangers, 1024U);
  EXPECT_GE(plan.region_files, 64U);
  EXPECT_LE(plan.strangers + plan.region_files + 10, limit.rlim_max);
}

}  // namespace
