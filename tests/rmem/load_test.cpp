// The load of load.h, thinned out: what has to hold whatever the machine's speed.
#include "rmem/load.h"

#include <gtest/gtest.h>

using namespace situ_rmem_test;

namespace {

TEST(rmem_load, all_that_have_a_key_come_in_and_stay) {
  const load_plan plan{.clients = 100,
                       .of_each_kind = 20,
                       .flooded_logins = 10,
                       .open_strangers = 1500,
                       .probe_seconds = 0.8,
                       .patience_seconds = 0.5,
                       .load_steps_back = false};
  const load_result all = put_under_load(plan);
  for (const burst_result* each : {&all.by_tcp, &all.by_unix}) {
    EXPECT_EQ(each->connected, plan.clients);
    EXPECT_EQ(each->failed, 0U) << each->first_failure;
  }
  EXPECT_EQ(all.among_flood.connected, plan.flooded_logins) << all.among_flood.first_failure;
  EXPECT_EQ(all.clients_lost, 0U);
  EXPECT_GE(all.clients_calls, 1U);
  for (const std::uint64_t begun : all.turns) EXPECT_GE(begun, plan.of_each_kind);
  EXPECT_GE(all.refused_logins, 1U);
  EXPECT_GE(all.cut_messages, 1U);
  EXPECT_GE(all.timeouts, 1U);
  EXPECT_GE(all.among_all.calls, 1U);
}

}  // namespace
