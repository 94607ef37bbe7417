// The programs of examples/guide, at one place, at several, and at places that are threads: each says what it says
// where all is well. Most find that out by themselves; jacobi, tree_search and word_count print their result.
#include "launch/launch_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

using namespace situ::test;
using testing::HasSubstr;

struct guide_program {
  const char* name;
  std::vector<std::string> arguments;
  const char* says;  // where all is well
};
void PrintTo(const guide_program& program, std::ostream* out) { *out << program.name; }

class guide : public testing::TestWithParam<guide_program> {};

TEST_P(guide, says_that_all_is_well) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"-n", "1"}, {"-n", "3"}, {"-n", "2", "--in-process"}}) {
    std::vector<std::string> words{SITU_TEST_BIN_DIR "/situ", "run"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(std::string{SITU_TEST_BIN_DIR "/"} + GetParam().name);
    words.insert(words.end(), GetParam().arguments.begin(), GetParam().arguments.end());
    const ended_program ended = run_program(words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr(GetParam().says));
  }
}

const guide_program programs[] = {
    {"histogram", {"1000"}, "every throw is counted"},
    {"monte_carlo", {"0.01"}, "which is pi"},
    {"hash_join", {"2000"}, "all orders are in the sums"},
    {"jacobi", {"10", "20"}, "."},  // guide_jacobi_test looks at the heat
    {"object_graph", {"1000"}, "right, linked as before"},
    {"pipeline", {"1000"}, "as it should be"},
    {"sample_sort", {"10000"}, "numbers are sorted"},
    {"tree_search", {"8"}, "92 solutions"},
    {"word_count", {}, "     5 the\n"},
};

INSTANTIATE_TEST_SUITE_P(programs, guide, testing::ValuesIn(programs),
                         [](const auto& info) { return std::string{info.param.name}; });

}  // namespace
