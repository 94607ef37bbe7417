// `situ bench pool --quick` end to end. Only what must hold whatever the machine's load.
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

class pool_quick : public quick_bench {
 protected:
  pool_quick() : quick_bench{"pool", ""} {}
};

TEST_F(pool_quick, delivers_every_row_or_says_which_package_it_wants_and_leaves_nothing) {
  const fs::path file = directory_ / "rows.json";
  fs::create_directory(directory_ / "files");
  const result r = run("--quick --json " + file.string() + " --folder " + (directory_ / "files").string());
  ASSERT_EQ(r.status, 0) << r.output;
  const auto seen = check_rows(file, 1);
  for (const comparison_case& info : pool_bench().cases)
    for (const comparison_subject& subject : info.subjects) {
      const bool is_there = seen.contains({std::string{info.name}, std::string{subject.name}});
      if (subject.packages.empty()) {
        EXPECT_TRUE(is_there) << info.name << ' ' << subject.name << '\n' << r.output;
      } else if (!is_there) {
        EXPECT_THAT(r.output, HasSubstr("absent: apt install " + std::string{subject.packages}));
      }
    }
  EXPECT_THAT(r.output, HasSubstr("aim <= 1.15 x"));
  EXPECT_TRUE(fs::is_empty(directory_ / "files")) << "left in the folder of its files";
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

}  // namespace
}  // namespace situ::bench
