// `situ bench pim --quick` end to end. Only what must hold whatever the machine's load.
#include "job_bench.h"

#include "bench/quick_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace situ::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class pim_quick : public quick_bench {
 protected:
  pim_quick() : quick_bench{"pim", ""} {}
};

TEST_F(pim_quick, delivers_every_row_and_leaves_nothing) {
  const fs::path file = directory_ / "rows.json";
  const result r = run("--quick --json " + file.string());
  ASSERT_EQ(r.status, 0) << r.output;
  expect_row_of_each(pim_bench().cases, check_rows(file, 1));
  EXPECT_THAT(r.output, HasSubstr("aim <= 0.1 x"));
  // The paper's algorithm takes some microseconds, bmem some nanoseconds.
  EXPECT_LT(figure(file, "pair_h_8", "bmem", "median_ns"), figure(file, "pair_h_8", "paper", "median_ns"));
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

}  // namespace
}  // namespace situ::bench
