// `situ bench memory --quick` end to end. Only what must hold whatever the machine's load.
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

class memory_quick : public quick_bench {
 protected:
  memory_quick() : quick_bench{"memory", ""} {}
};

TEST_F(memory_quick, delivers_every_row_of_ours_and_leaves_nothing) {
  const fs::path file = directory_ / "rows.json";
  const result r = run("--quick --json " + file.string());
  ASSERT_EQ(r.status, 0) << r.output;
  const auto seen = check_rows(file, 1);
  for (const comparison_case& info : memory_bench().cases)
    for (const comparison_subject& subject : info.subjects)
      if (subject.name != "memkind") {  // where it is installed
        EXPECT_TRUE(seen.contains({std::string{info.name}, std::string{subject.name}}))
            << info.name << ' ' << subject.name << '\n'
            << r.output;
      }
  EXPECT_THAT(r.output, HasSubstr("aim <= 1.05 x"));
  // Equal terms: pages of each kind are compared with pages of that kind. (The bench itself fails where they are not.)
  const auto is_compared_with = [&](const std::string& of_case, const std::string& subject, const std::string& other) {
    const double ratio = figure(file, of_case, subject, "median_ns") / figure(file, of_case, other, "median_ns");
    EXPECT_NEAR(figure(file, of_case, subject, "ratio_to_raw"), ratio, ratio / 1000) << of_case << ' ' << subject;
  };
  is_compared_with("spill_small_pages", "situ_64k", "populate");
  is_compared_with("spill_huge_pages", "situ", "huge_pages");
  is_compared_with("spill_huge_pages", "situ_over_two", "huge_pages");
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

}  // namespace
}  // namespace situ::bench
