// `situ bench heap --quick` end to end. Only what must hold whatever the machine's load.
#include "job_bench.h"

#include "bench/quick_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "debian_files.h"

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
  std::vector<comparison_case> expected = heap_bench().cases;
  if (!std::filesystem::exists(squeak::debian_image()) || !std::filesystem::exists(squeak::debian_vm())) {
    EXPECT_THAT(r.output, HasSubstr("vm_sends, vm_sieve, vm_compile: skipped: there is no "));
    std::erase_if(expected, [](const comparison_case& each) { return each.name.starts_with("vm_"); });
  }
  expect_row_of_each(expected, check_rows(file, 1));
  EXPECT_THAT(r.output, HasSubstr("aim <= 1.2 x"));
  // A store takes some nanoseconds, a collection of 16 MB hundreds of microseconds at least.
  EXPECT_LT(figure(file, "store_while_moving", "moving", "median_ns"), figure(file, "pause_own", "p99", "median_ns"));
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

TEST_F(heap_quick, says_in_a_sentence_that_there_is_no_image) {
  const result r = run("--quick --cases vm_sieve", "SITU_SQUEAK_IMAGE=/nowhere/any.image");
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("vm_sieve: skipped: there is no /nowhere/any.image: install Debian's package"));
}

}  // namespace
}  // namespace situ::bench
