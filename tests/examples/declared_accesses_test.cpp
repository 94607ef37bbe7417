// The programs with declared accesses: right, and with the same bits on one thread and on more; what they refuse.
#include "command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/build_paths.h"

namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using testing::HasSubstr;

command_result run(const char* program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string{SITU_TEST_BIN_DIR} + "/" + program);
  return run_command(std::move(arguments), {}, "/dev/null");
}

TEST(cholesky, is_right_on_any_number_of_threads) {
  for (const char* threads : {"1", "2", "5"}) {
    const auto result = run("cholesky", {"--size", "192", "--tile", "16", "--check", "--threads", threads});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("364 units"));
  }
}

TEST(cholesky, says_which_sizes_it_takes) {
  const auto result = run("cholesky", {"--size", "100", "--tile", "64"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("100 rows are not whole tiles of 64"));
}

TEST(sparse_power, has_the_same_bits_on_any_number_of_threads) {
  std::string first;
  for (const char* threads : {"1", "2", "5"}) {
    const auto result = run("sparse_power", {"--grid", "40", "--rows", "77", "--steps", "30", "--threads", threads});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    if (first.empty()) first = result.out;
    EXPECT_EQ(result.out, first);
  }
}

TEST(jacobi_blocks, has_the_same_bits_in_memory_and_in_a_file) {
  std::string first;
  for (const char* threads : {"1", "3"})
    for (const char* budget : {"0", "1"}) {
      const auto result = run("jacobi_blocks", {"--size", "300", "--rows", "40", "--steps", "21", "--budget-mib",
                                                budget, "--threads", threads});
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      if (first.empty()) first = result.out;
      EXPECT_EQ(result.out, first);
    }
  EXPECT_THAT(first, HasSubstr("21 steps of 300 x 300: sum "));
  const auto refused = run("jacobi_blocks", {"--size", "3000", "--rows", "3000", "--steps", "1", "--budget-mib", "1"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("give a larger budget, or declare less in a unit"));
}

}  // namespace
