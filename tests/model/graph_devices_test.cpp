// Offloads on NEMESYS's units, through `situ model run`: five graphs of 63 records arrive as a clone would hold them,
// and so do the odd ones.
#include "examples/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/build_paths.h"

namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using testing::HasSubstr;

const std::string nemesys_file = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4-fitted.toml";

command_result offload_on(const std::string& machine, std::vector<std::string> options) {
  std::vector<std::string> all{
      std::string{SITU_TEST_BIN_DIR} + "/situ", "model", "run", "--machine", machine, "-n", "2"};
  all.insert(all.end(), options.begin(), options.end());
  all.insert(all.end(), {std::string{SITU_TEST_BIN_DIR} + "/tests/model_offload", "5", "5"});
  return run_command(all);
}

// With one memory the unit copies to where the graph shall lie; with two its DMA unit brings it there.
TEST(GraphDevices, GraphsArriveWhoeverCopiesThem) {
  for (const char* units : {"devices", "copy-only", "software"})
    for (const char* memories : {"1", "2"}) {
      const command_result ran =
          offload_on(nemesys_file, {"--graph-units", units, "--memories", memories, "--check-coherence"});
      EXPECT_EQ(ran.out, "5 calls, 5 right\n5 odd calls, 5 right\n") << units << memories << ran.err;
      EXPECT_THAT(ran.err, HasSubstr("coherence: 0 stale reads, 0 lost writes")) << units << memories;
      EXPECT_EQ(ran.err.find("graph copy, dram 14") != std::string::npos, std::string{units} != "software");
      EXPECT_EQ(ran.err.find("graph writeback, compute tile 0") != std::string::npos, std::string{units} == "devices");
      EXPECT_EQ(ran.err.find("DMA, dram 14") != std::string::npos,
                std::string{units} != "software" && std::string{memories} == "2");
    }
}

TEST(GraphDevices, EachRunIsTheSame) {
  const auto first_line = [] {
    const std::string text = offload_on(nemesys_file, {"--copy-map", "hashing"}).err;
    return text.substr(0, text.find('\n'));
  };
  const std::string once = first_line();
  EXPECT_THAT(once, HasSubstr("trace"));
  EXPECT_EQ(first_line(), once);
}

TEST(GraphDevices, WhatAMachineHasNotIsSaid) {
  const command_result flat = offload_on("flat", {"--graph-units", "devices"});
  EXPECT_EQ(flat.exit_code, 2);
  EXPECT_THAT(flat.err, HasSubstr("no units that copy graphs"));
  EXPECT_THAT(offload_on(nemesys_file, {"--memories", "3"}).err, HasSubstr("3 memories shall be used, but 2"));
}

}  // namespace
