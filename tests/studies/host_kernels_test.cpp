// The kernels of the study `host` as programs: both forms compute the same, in a modelled time that is the same in each
// run; and the study runs them.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "support/build_paths.h"

namespace {

const std::string bin = SITU_TEST_BIN_DIR;

struct command_end {
  int code;
  std::string output;
};

command_end run_command(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 4096> bytes{};
  for (std::size_t n = 0; (n = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) output.append(bytes.data(), n);
  return {WEXITSTATUS(::pclose(pipe)), output};
}

// Without warnings: what the host's time went to differs from run to run.
std::string result_of(const command_end& ended) { return ended.output.substr(ended.output.find('{')); }

TEST(host_kernels, compute_the_same_natively_and_modelled) {
  for (const char* const kernel : {"stream 2000", "chase 65536", "join 1000", "stencil 32", "sort 2000",
                                   "graph_copy 1000", "gather 65536", "gather_branch 65536"}) {
    const std::string modelled = bin +
                                 "/situ model run --quiet --fast-forward kernel --machine " SITU_TEST_SOURCE_DIR
                                 "/../machines/host.toml " +
                                 bin + "/host_kernels " + kernel;
    const command_end native = run_command(bin + "/host_kernels " + kernel);
    const command_end once = run_command(modelled);
    ASSERT_EQ(native.code, 0) << native.output;
    ASSERT_EQ(once.code, 0) << once.output;
    EXPECT_EQ(result_of(once), result_of(run_command(modelled))) << kernel;
    const auto here = nlohmann::json::parse(native.output);
    const auto there = nlohmann::json::parse(result_of(once));
    EXPECT_EQ(here["checksum"], there["checksum"]) << kernel;
    EXPECT_GT(there["ns"].get<double>(), 100) << kernel;
    EXPECT_LT(there["ns"].get<double>(), 1e9) << kernel;
  }
}

TEST(host_kernels, say_what_there_is) {
  for (const char* const wrong : {"", "bubble", "sort many", "sort 3", "sort 100 100"}) {
    const command_end ended = run_command(bin + "/host_kernels " + wrong);
    EXPECT_EQ(ended.code, 2) << wrong;
    EXPECT_NE(ended.output.find("graph_copy"), std::string::npos) << ended.output;
  }
}

// How far it is off depends on who else uses the machine: not here.
TEST(host_study, predicts_and_measures_each_kernel) {
  const command_end ended = run_command(bin + "/situ study run host --quick");
  ASSERT_EQ(ended.code, 0) << ended.output;
  for (const char* const row : {"stream ", "chase, 24 KiB", "chase, 96 MiB", "hash join", "stencil", "sort ",
                                "graph copy", "Deviation from the medians: mean ", "mispredict = ", "window = "})
    EXPECT_NE(ended.output.find(row), std::string::npos) << row << " in " << ended.output;
  EXPECT_EQ(ended.output.find("not yet"), std::string::npos) << ended.output;
}

}  // namespace
