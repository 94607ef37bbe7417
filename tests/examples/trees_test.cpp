// The programs over place trees: the same bits on every tree, and clear about what they do not take.
#include "command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "support/build_paths.h"

namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using testing::HasSubstr;
using testing::Not;

const std::string bin = SITU_TEST_BIN_DIR "/";
const std::string machines = SITU_TEST_SOURCE_DIR "/../machines/";

// On so many places; 0: the program alone.
command_result run(int places, const char* program, std::vector<std::string> arguments, bool in_process = false) {
  arguments.insert(arguments.begin(), bin + program);
  if (places > 0) {
    std::vector<std::string> start{bin + "situ", "run", "-n", std::to_string(places)};
    if (in_process) start.emplace_back("--in-process");
    arguments.insert(arguments.begin(), start.begin(), start.end());
  }
  return run_command(std::move(arguments));
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(tree_matmul, is_right_on_every_tree) {
  for (const int places : {0, 1, 2, 3})
    for (const bool in_process : {false, true}) {
      const auto result = run(places, "tree_matmul", {"--size", "101", "--panel", "24"}, in_process);
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      EXPECT_THAT(result.out, HasSubstr("largest difference: 0 to the hand-tiled"));
    }
  for (const std::string& tree : {std::string{"memories"}, machines + "opteron-6172-2-tesla.toml"}) {
    const auto result = run(0, "tree_matmul", {"--size", "101", "--panel", "24", "--tree", tree, "--threads", "2"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  }
}

// 128 x 128 doubles are 131 kB: A and C once, B to each child, and once into a cache at each.
TEST(tree_matmul, says_what_moves) {
  const auto result = run(2, "tree_matmul", {"--size", "128", "--panel", "64"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("vertical: 0.4 MB down, 0.1 MB up, 0.3 MB into caches; horizontal: 0.0 MB"));
}

TEST(unequal_jacobi, has_the_same_bits_under_every_policy) {
  for (const int places : {1, 2, 3})
    for (const bool in_process : {false, true}) {
      std::vector<std::string> arguments{"--size", "90", "--steps", "5"};
      if (places == 2) arguments.insert(arguments.end(), {"--speeds", "1,2.5"});
      const auto result = run(places, "unequal_jacobi", arguments, in_process);
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      EXPECT_EQ(count(result.out, "same\n"), 7u) << result.out;
    }
  const auto memories = run(0, "unequal_jacobi", {"--size", "90", "--tree", "memories", "--threads", "2"});
  EXPECT_EQ(count(memories.out, "same\n"), 7u) << memories.out << memories.err;
  const auto other =
      run(0, "unequal_jacobi",
          {"--size", "90", "--tree", machines + "opteron-6172-2-tesla.toml", "--speeds", "1,1,1,2", "--threads", "2"});
  EXPECT_EQ(count(other.out, "same\n"), 7u) << other.out << other.err;
}

TEST(unequal_jacobi, says_which_speeds_it_takes) {
  const auto result = run(2, "unequal_jacobi", {"--speeds", "1,2,3", "--size", "20"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("3 speeds for 2 children"));
  EXPECT_NE(run(1, "unequal_jacobi", {"--speeds", "0"}).exit_code, 0);
  const auto missing = run(1, "tree_matmul", {"--tree", "/no/such.toml"});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.err, HasSubstr("/no/such.toml: cannot be read"));
  EXPECT_THAT(missing.err, Not(HasSubstr("terminate")));
}

}  // namespace
