// `situ bench rmem --quick` end to end. Only what must hold whatever the machine's load.
#include "job_bench.h"

#include "bench/quick_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>

namespace situ::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class rmem_quick : public quick_bench {
 protected:
  rmem_quick() : quick_bench{"rmem", ""} {}
};

TEST_F(rmem_quick, delivers_every_row_and_leaves_nothing) {
  const fs::path file = directory_ / "rows.json";
  const result r = run("--quick --json " + file.string());
  ASSERT_EQ(r.status, 0) << r.output;
  const auto seen = check_rows(file, 1);
  for (const comparison_case& info : rmem_bench().cases)
    for (const comparison_subject& subject : info.subjects)
      EXPECT_TRUE(seen.contains({std::string{info.name}, std::string{subject.name}}))
          << info.name << ' ' << subject.name;
  EXPECT_THAT(r.output, HasSubstr("aim <= 1.25 x"));
  // A page at random has its aim in the table, for what a touch takes in addition to the read.
  const std::string random = "remote_page_random";
  const double read = figure(file, random, "client_read", "median_ns");
  for (const auto& [above, touch] : {std::pair{"above", "touch"}, std::pair{"above_itself", "touch_itself"}}) {
    const double more = figure(file, random, touch, "median_ns") - read;
    // The file has four digits of each of the three.
    EXPECT_NEAR(figure(file, random, above, "median_ns"), std::max(more, 0.01), (2 * read + 2 * std::abs(more)) / 2000)
        << above;
    EXPECT_THAT(r.output, ContainsRegex(std::string{above} + " [^\n]*aim <= 8 us: (met|MISSED)"));
  }
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

}  // namespace
}  // namespace situ::bench
