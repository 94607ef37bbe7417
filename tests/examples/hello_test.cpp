// The first program of the guide.
#include "command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using package_rank::test::situ_run;

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> expected_lines(unsigned places) {
  std::vector<std::string> lines{"all tasks are done", "greetings, from place " + std::to_string(places - 1)};
  for (unsigned p = 0; p < places; ++p) {
    lines.push_back("place " + std::to_string(p) + " of " + std::to_string(places));
    lines.push_back("a task at place " + std::to_string(p));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(Hello, EveryPlaceSpeaks) {
  for (const unsigned places : {1u, 2u, 4u, 7u}) {
    for (const bool in_process : {false, true}) {
      const command_result result = situ_run(places, in_process, "hello", {});
      EXPECT_EQ(result.exit_code, 0) << result.err;
      EXPECT_EQ(sorted_lines(result.out), expected_lines(places)) << places << (in_process ? " threads" : " processes");
    }
  }
}

TEST(Hello, ByItselfItIsOnePlace) {
  const command_result result = run_command({std::string{SITU_TEST_BIN_DIR} + "/hello"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted_lines(result.out), expected_lines(1));
}

}  // namespace
