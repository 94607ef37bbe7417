// The kernels of the study `host` as programs: both forms compute the same, in a modelled time that is the same in each
// run; and the study runs them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

const std::string bin = SITU_TEST_BIN_DIR;

using situ::test::run_shell;
using situ::test::shell_result;

// Without warnings: what the host's time went to differs from run to run.
std::string result_of(const shell_result& ended) { return ended.text.substr(ended.text.find('{')); }

TEST(host_kernels, compute_the_same_natively_and_modelled) {
  for (const char* const kernel : {"stream 2000", "chase 65536", "join 1000", "stencil 32", "sort 2000",
                                   "graph_copy 1000", "gather 65536", "gather_branch 65536"}) {
    const std::string modelled = bin +
                                 "/situ model run --quiet --fast-forward kernel --machine " SITU_TEST_SOURCE_DIR
                                 "/../machines/host.toml " +
                                 bin + "/host_kernels " + kernel;
    const shell_result native = run_shell(bin + "/host_kernels " + kernel);
    const shell_result once = run_shell(modelled);
    ASSERT_EQ(native.exit_code, 0) << native.text;
    ASSERT_EQ(once.exit_code, 0) << once.text;
    EXPECT_EQ(result_of(once), result_of(run_shell(modelled))) << kernel;
    const auto here = nlohmann::json::parse(native.text);
    const auto there = nlohmann::json::parse(result_of(once));
    EXPECT_EQ(here["checksum"], there["checksum"]) << kernel;
    EXPECT_GT(there["ns"].get<double>(), 100) << kernel;
    EXPECT_LT(there["ns"].get<double>(), 1e9) << kernel;
  }
}

TEST(host_kernels, say_what_there_is) {
  for (const char* const wrong : {"", "bubble", "sort many", "sort 3", "sort 100 100"}) {
    const shell_result ended = run_shell(bin + "/host_kernels " + wrong);
    EXPECT_EQ(ended.exit_code, 2) << wrong;
    EXPECT_NE(ended.text.find("graph_copy"), std::string::npos) << ended.text;
  }
}

// How far it is off depends on who else uses the machine: not here.
TEST(host_study, predicts_and_measures_each_kernel) {
  const shell_result ended = run_shell(bin + "/situ study run host --quick");
  ASSERT_EQ(ended.exit_code, 0) << ended.text;
  for (const char* const row : {"stream ", "chase, 24 KiB", "chase, 96 MiB", "hash join", "stencil", "sort ",
                                "graph copy", "Deviation from the medians: mean ", "mispredict = ", "window = "})
    EXPECT_NE(ended.text.find(row), std::string::npos) << row << " in " << ended.text;
  EXPECT_EQ(ended.text.find("not yet"), std::string::npos) << ended.text;
}

}  // namespace
