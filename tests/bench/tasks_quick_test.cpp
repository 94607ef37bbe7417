// `situ bench tasks --quick` end to end. Only what must hold whatever the machine's load.
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

class tasks_quick : public quick_bench {
 protected:
  tasks_quick() : quick_bench{"tasks", ""} {}
};

TEST_F(tasks_quick, delivers_every_row_of_ours_and_leaves_nothing) {
  const fs::path file = directory_ / "rows.json";
  const result r = run("--quick --json " + file.string());
  ASSERT_EQ(r.status, 0) << r.output;
  const auto seen = check_rows(file, 1);
  for (const comparison_case& info : task_bench().cases)
    for (const comparison_subject& subject : info.subjects)
      if (subject.name == "situ" || subject.name == "openmp" ||
          info.name == "slow_memory") {  // the others where they are installed
        EXPECT_TRUE(seen.contains({std::string{info.name}, std::string{subject.name}}))
            << info.name << ' ' << subject.name << '\n'
            << r.output;
      }
  EXPECT_THAT(r.output, HasSubstr("aim <= 1 x"));
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

}  // namespace
}  // namespace situ::bench
