// The study `gascore`: its figures beside those of the paper.
#include "gascore/gascore.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "gascore/barriers.h"
#include "gascore/exchanges.h"
#include "gascore/message_states.h"
#include "gascore/messages.h"

namespace situ::studies::gascore {
namespace {

study_part part_of(const char* name) {
  study_result result = run({.is_quick = true, .only = {name}});
  EXPECT_EQ(result.parts.size(), 1U);
  return result.parts.at(0);
}

TEST(gascore_study, has_the_sixteen_figures_of_tables_4_to_7) {
  const study_part tables = part_of("tables");
  ASSERT_EQ(tables.rows.size(), 16U);
  for (const comparison_row& row : tables.rows) EXPECT_EQ(row.ours, row.paper) << row.what;
}

TEST(gascore_study, calls_six_of_them_calibrated) {
  const study_part tables = part_of("tables");
  const auto of_table = [&](const char* table) {
    return std::ranges::count_if(tables.rows, [&](const comparison_row& row) {
      return row.from == origin::calibrated && row.what.starts_with(table);
    });
  };
  EXPECT_EQ(of_table("table 4"), 3);
  EXPECT_EQ(of_table("table 5"), 1);
  EXPECT_EQ(of_table("table 6"), 2);
  EXPECT_EQ(of_table("table 7"), 0);
}

TEST(gascore_study, gives_each_cycle_of_a_message_to_a_state) {
  for (unsigned distance = 0; distance < 3; ++distance) {
    EXPECT_EQ(check_chain(distance, false).sum, 17 + 7 * distance);
    EXPECT_EQ(check_chain(distance, true).sum, 29 + 7 * distance);
  }
  const study_part cycles = part_of("cycles");
  const std::vector<std::string>& sum = cycles.grids.at(0).lines.back();
  EXPECT_EQ((std::vector<std::string>{sum.begin() + 4, sum.end()}), (std::vector<std::string>{"17", "24", "31", "29"}));
}

TEST(gascore_study, reaches_half_of_the_bandwidth_where_the_paper_does) {
  const study_part bandwidth = part_of("bandwidth");
  ASSERT_EQ(bandwidth.rows.size(), 6U);
  const std::array<double, 3> writes{112, 140, 168};
  for (std::size_t distance = 0; distance < writes.size(); ++distance) {
    EXPECT_EQ(bandwidth.rows[distance].ours, writes[distance]);
    EXPECT_EQ(bandwidth.rows[distance].deviation(), 0.0);
  }
  ASSERT_EQ(bandwidth.plots.at(0).lines.size(), 6U);
  // A word less does not reach it: 2 bytes a cycle.
  EXPECT_LT(108.0 / static_cast<double>(one_way_cycles(0, 108)), 2);
  EXPECT_GE(112.0 / static_cast<double>(one_way_cycles(0, 112)), 2);
}

TEST(gascore_study, tells_what_figure_6_waits_for_when_it_runs_twice) {
  const std::vector<std::string> report = repeat_figure_6(2);
  ASSERT_GE(report.size(), 16U);
  EXPECT_NE(report[0].find("node 0: pc 23, waits for m0: 8 of 15 messages"), std::string::npos) << report[0];
  EXPECT_THROW((void)repeat_figure_6(1), error) << "once it comes to its end";
}

TEST(gascore_study, repeats_barriers_whose_counters_count_on) {
  for (const barrier_kind& each : all_barriers()) {
    const barrier_cycles one = each.run(1), four = each.run(4);
    EXPECT_GT(one.all, one.node_0) << each.name;
    EXPECT_GT(four.all, 3 * one.node_0) << each.name;
    EXPECT_LT(four.all, 4 * one.all) << each.name;
  }
}

// Four accesses of each node's memory bus for a word: two neighbours, read here and written there.
TEST(gascore_study, exchanges_a_halo_in_the_time_of_the_memory_bus) {
  for (const std::uint32_t bytes : {256U, 1024U}) {
    const std::int64_t cycles = halo_cycles({.bytes = bytes, .steps = 1, .asks = false});
    EXPECT_GE(cycles, bytes);
    EXPECT_LE(cycles, bytes + 29);
    EXPECT_GT(halo_cycles({.bytes = bytes, .steps = 1, .asks = true}), cycles);
  }
}

TEST(gascore_study, sends_no_long_message_through_chip_0) {
  const opposite_result sent = send_to_opposite(256, 4);
  constexpr std::uint64_t packet = 4 + 256 / 4;
  using words = std::array<std::uint64_t, 2>;
  EXPECT_EQ(sent.link_words, (std::array<words, 4>{words{packet, 0}, words{2 * packet, packet},
                                                   words{packet, 2 * packet}, words{0, packet}}));
}

TEST(gascore_study, refuses_programs_that_run_before_the_start) {
  timed_board early;
  early[3].label("again").jump("again");
  EXPECT_THROW(early.run(), error);
}

TEST(gascore_study, has_figures_in_all_parts) {
  const study_result result = run({.is_quick = true});
  ASSERT_EQ(result.parts.size(), 8U);
  for (const study_part& part : result.parts)
    for (const comparison_row& row : part.rows) {
      ASSERT_TRUE(row.ours) << row.what;
      EXPECT_GT(*row.ours, 0) << row.what;
    }
}

}  // namespace
}  // namespace situ::studies::gascore
