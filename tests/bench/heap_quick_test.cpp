// `situ bench heap --quick` end to end. Only what must hold whatever the machine's load.
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

class heap_quick : public quick_bench {
 protected:
  heap_quick() : quick_bench{"heap", ""} {}
};

TEST_F(heap_quick, delivers_every_row_and_leaves_nothing) {
  const fs::path file = directory_ / "rows.json";
  const result r = run("--quick --json " + file.string());
  ASSERT_EQ(r.status, 0) << r.output;
  expect_row_of_each(heap_bench().cases, check_rows(file, 1));
  EXPECT_THAT(r.output, HasSubstr("aim <= 1.2 x"));
  // A store takes some nanoseconds, a collection of 16 MB hundreds of microseconds at least.
  EXPECT_LT(figure(file, "store_while_moving", "moving", "median_ns"), figure(file, "pause_own", "p99", "median_ns"));
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

}  // namespace
}  // namespace situ::bench
