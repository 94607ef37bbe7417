// Code of many forms (compiled_code.cpp) computes on modelled machines what it computes natively: hooks change no
// register, no flag, and nothing on the stack, whether they find an access in the first cache or ask the machine and
// run the other thread.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/modelled_run.h"

namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using situ::test::modelled_run;
using situ::test::run_on;

const std::string four_cores = SITU_TEST_SOURCE_DIR "/model/four_cores.toml";
const std::string host = SITU_TEST_SOURCE_DIR "/../machines/host.toml";

class CompiledCode : public testing::TestWithParam<const char*> {};

TEST_P(CompiledCode, ComputesWhatItComputesNatively) {
  const command_result native = run_command({std::string{SITU_TEST_BIN_DIR} + "/tests/" + GetParam()});
  ASSERT_EQ(native.exit_code, 0) << native.err;
  const struct {
    std::string machine;
    std::vector<std::string> options;
  } runs[] = {
      {"flat:tiles=1,cores=2", {"--quiet"}},
      {four_cores, {"--quiet"}},
      {four_cores, {"--quiet", "--strict"}},  // each hit waits for its turn, so the threads take turns all the time
      {four_cores, {"--quiet", "--set", "l1d.size=64 B", "--set", "l1d.ways=1"}},  // nearly all accesses miss
      {host, {"--quiet"}},                                                         // each access goes to the machine
  };
  for (const auto& [machine, options] : runs) {
    const modelled_run run = run_on(machine, options, GetParam());
    EXPECT_EQ(run.result.exit_code, 0) << machine << run.result.err;
    EXPECT_EQ(run.result.out, native.out) << machine;
  }
}

TEST_P(CompiledCode, RepeatsToTheCycle) {
  const modelled_run one = run_on(four_cores, {"--quiet"}, GetParam());
  const modelled_run two = run_on(four_cores, {"--quiet"}, GetParam());
  for (const char* figure : {"modelled_ps", "trace", "accesses", "cores"})
    EXPECT_EQ(one.report[figure], two.report[figure]) << figure;
}

INSTANTIATE_TEST_SUITE_P(optimized, CompiledCode,
                         testing::Values("model_compiled_code_O0", "model_compiled_code_O2", "model_compiled_code_O3"),
                         [](const auto& level) { return std::string{level.param}.substr(20); });

}  // namespace
