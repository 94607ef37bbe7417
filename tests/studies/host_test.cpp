// The study `host`: what it makes of the runs of its programs.
#include "host/host.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace situ::studies::host {
namespace {

host_figures figures_of(std::string_view name, double predicted_ns, const std::vector<double>& measured_ns) {
  host_figures made{.row = {name, "stream", 100}, .predicted = {predicted_ns, "ab"}, .measured = {}};
  for (const double ns : measured_ns) made.measured.push_back({ns, "ab"});
  return made;
}

TEST(host, holds_predictions_against_medians) {
  const study_part part = host_part_of({figures_of("one", 12e6, {11e6, 10e6, 8e6}), figures_of("two", 3e6, {4e6})});
  ASSERT_EQ(part.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(part.rows[0].paper.value(), 10);
  EXPECT_DOUBLE_EQ(part.rows[0].deviation().value(), 20);
  EXPECT_EQ(part.rows[0].remark, "3 runs, the quickest 8 ms: +50.0 %");
  EXPECT_DOUBLE_EQ(part.rows[1].deviation().value(), -25);
  ASSERT_EQ(part.notes.size(), 2U);
  EXPECT_EQ(part.notes[0], "Deviation from the medians: mean 22.5 %, worst 25.0 %.");
  EXPECT_EQ(part.notes[1], "From the quickest runs, which nobody disturbed: mean 37.5 %, worst 50.0 %.");
}

TEST(host, refuses_forms_that_compute_something_else) {
  host_figures one = figures_of("one", 1e6, {1e6, 1e6});
  one.measured[1].checksum = "cd";
  EXPECT_THROW(static_cast<void>(host_part_of({one})), error);
}

TEST(host, reads_what_the_program_prints) {
  const kernel_run run = kernel_run_of(
      "{\"kernel\": \"sort\", \"size\": 20, \"ns\": 9000.0, \"processor_ns\": 1500.5, \"checksum\": \"00ff\"}\n");
  EXPECT_DOUBLE_EQ(run.ns, 1500.5);
  EXPECT_EQ(run.checksum, "00ff");
  EXPECT_THROW(static_cast<void>(kernel_run_of("{\"ns\": 1}")), error);
  EXPECT_THROW(static_cast<void>(kernel_run_of("")), error);
}

TEST(host, has_the_same_rows_quick_or_not) {
  const std::vector<host_row> quick = host_rows(true);
  const std::vector<host_row> usual = host_rows(false);
  ASSERT_EQ(quick.size(), usual.size());
  for (std::size_t i = 0; i < quick.size(); ++i) EXPECT_EQ(quick[i].name, usual[i].name);
}

}  // namespace
}  // namespace situ::studies::host
