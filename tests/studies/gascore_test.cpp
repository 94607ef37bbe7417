// The study `gascore`: its figures beside those of the paper.
#include "gascore/gascore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

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

}  // namespace
}  // namespace situ::studies::gascore
