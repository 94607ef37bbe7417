// Sizes of modelled memories: allocations that spill or are refused, and the report about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "model/modelled_run.h"

namespace {

using nlohmann::json;
using situ::test::modelled_run;
using situ::test::run_on;
using testing::HasSubstr;
using testing::Not;

const std::string nemesys = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4.toml";
constexpr std::uint64_t mib = std::uint64_t{1} << 20;

modelled_run with_ddr(const std::string& size, const std::vector<std::string>& arguments,
                      std::vector<std::string> options = {}) {
  options.insert(options.end(), {"--set", "ddr.size=" + size});
  return run_on(nemesys, std::move(options), "model_room", arguments);
}

json memory(const json& report, const std::string& name) {
  for (const json& each : report["memories"]["used"])
    if (each["memory"] == name) return each;
  return {};
}

// Lines of 64 bytes are four of the first cache and two of the L2: a read of each misses both. A tile has 8 MiB, at 20
// cycles of 20 ns; behind the network a miss is 90 cycles.
TEST(ModelledRoom, ALargeBlockSpillsToTheNextMemory) {
  const auto read = [](const char* kib, const std::vector<std::string>& options) {
    const modelled_run run = run_on(nemesys, options, "model_room", {"read", kib});
    EXPECT_EQ(run.result.exit_code, 0) << run.result.err;
    std::istringstream printed{run.result.out};
    double first = 0, last = 0;
    printed >> first >> last;
    return std::pair{std::pair{first, last}, run};
  };
  const auto [small, small_run] = read("4096", {});
  EXPECT_NEAR(small.first, 500, 100);  // and the loop's instructions
  EXPECT_NEAR(small.second, small.first, 5);
  EXPECT_TRUE(memory(small_run.report, "dram 14").is_null());

  const auto [large, large_run] = read("16384", {});
  EXPECT_NEAR(large.first, small.first, 5);
  EXPECT_NEAR(large.second - large.first, 1800 - 400, 70);
  const json own = memory(large_run.report, "scratchpad 0");
  EXPECT_EQ(own["bytes"], 8 * mib);
  EXPECT_EQ(own["most_bytes"], 8 * mib);
  const json next = memory(large_run.report, "dram 14");
  EXPECT_EQ(next["bytes"], 1024 * mib);
  EXPECT_EQ(next["spilled"][0]["from"], "scratchpad 0");
  EXPECT_EQ(next["spilled"][0]["what"], "blocks");
  const auto spilled = next["spilled"][0]["most_bytes"].get<std::uint64_t>();
  EXPECT_GE(spilled, 8 * mib);
  EXPECT_LE(spilled, 8 * mib + mib / 2);  // and code, variables and stacks of the process
  EXPECT_EQ(next["most_bytes"], spilled);
  EXPECT_THAT(large_run.result.err, HasSubstr("of blocks from scratchpad 0"));

  // an intent sorts all memories, so that nothing spills
  const auto [far, far_run] = read("4096", {"--intent", "capacity"});
  EXPECT_NEAR(far.second, large.second, 5);
  EXPECT_TRUE(memory(far_run.report, "scratchpad 0").is_null());
  EXPECT_TRUE(memory(far_run.report, "dram 14")["spilled"].empty());
}

TEST(ModelledRoom, AMachineWithoutSizesHasNoOrdering) {
  const modelled_run run = run_on("flat", {"--intent", "latency"}, "model_room", {"reuse", "64"});
  EXPECT_EQ(run.result.exit_code, 2);
  EXPECT_THAT(run.result.err, HasSubstr("leave out --intent"));
  EXPECT_TRUE(run_on("flat", {}, "model_room", {"reuse", "64"}).report["memories"].is_null());
}

// 8 MiB and twice 16 are 40.
TEST(ModelledRoom, WhatFitsNowhereIsRefusedWithFigures) {
  const modelled_run within = with_ddr("16MiB", {"beyond", "16384"});
  EXPECT_EQ(within.result.out, "malloc given 0 vector given 0 mmap given 0\n");
  EXPECT_THAT(within.result.err, Not(HasSubstr("refused")));
  const modelled_run beyond = with_ddr("16MiB", {"beyond", "41000"}, {"--quiet"});
  EXPECT_EQ(beyond.result.exit_code, 0) << beyond.result.err;
  EXPECT_EQ(beyond.result.out, "malloc refused 1 vector refused mmap refused 1\n");
  EXPECT_THAT(beyond.result.err, HasSubstr("situ model: 3 allocations were refused, the largest of 40"));
  EXPECT_THAT(beyond.result.err, HasSubstr("left of 8 MiB, dram 14 has 16 MiB left of 16 MiB, dram 15 has 16 MiB"));
  EXPECT_EQ(beyond.report["memories"]["refused"]["count"], 3);
}

TEST(ModelledRoom, FreedBlocksGiveTheirRoomBack) {
  const modelled_run full = with_ddr("4MiB", {"fill"}, {"--quiet"});
  EXPECT_THAT(full.result.out, testing::MatchesRegex("1[456] blocks again cannot grow\n"));  // of 16 MiB
  // ten blocks of 12 MiB, one after the other, in 16
  const modelled_run reused = with_ddr("4MiB", {"reuse", "12288"});
  EXPECT_EQ(reused.result.out, "done\n");
  EXPECT_EQ(memory(reused.report, "dram 14")["most_bytes"], 4 * mib);
  EXPECT_LT(memory(reused.report, "dram 14")["bytes_at_end"], mib);
}

TEST(ModelledRoom, MappingsAndStacksAreCountedPageByPage) {
  const modelled_run touched = with_ddr("16MiB", {"touch", "12288"});
  EXPECT_EQ(touched.result.out, "touched\n") << touched.result.err;
  const json next = memory(touched.report, "dram 14");
  EXPECT_GE(next["most_bytes"], 4 * mib);
  EXPECT_LE(next["most_bytes"], 4 * mib + mib / 2);
  EXPECT_EQ(next["spilled"][0]["what"], "code, variables, stacks and mappings");
  // ten times 12 MiB, but never two at a time
  EXPECT_EQ(with_ddr("4MiB", {"unmap", "12288"}).result.exit_code, 0);
  const modelled_run beyond = with_ddr("1MiB", {"touch", "12288"});
  EXPECT_EQ(beyond.result.exit_code, 137);
  EXPECT_THAT(beyond.result.err, HasSubstr("out of memory: no memory of the machine has room for another page"));
  EXPECT_THAT(beyond.result.err, HasSubstr("scratchpad 0 has 0 B left of 8 MiB, dram 14 has 0 B left of 1 MiB"));
  EXPECT_EQ(beyond.report["is_complete"], false);
  const modelled_run stack = with_ddr("16MiB", {"stack", "4096"});
  EXPECT_EQ(stack.result.out, "used\n") << stack.result.err;
  EXPECT_GE(memory(stack.report, "scratchpad 0")["most_bytes"], 4 * mib);
}

// Two places, whose heaps have 16 MiB each, and their channels in their tiles.
TEST(ModelledRoom, ChannelsAndHeapsOfPlacesAreCounted) {
  const modelled_run run = run_on(nemesys, {"-n", "2", "--set", "ddr.size=16MiB"}, "model_room_of_places");
  EXPECT_EQ(run.result.exit_code, 0) << run.result.err;
  int given = 0;
  std::istringstream{run.result.out} >> given;
  EXPECT_GE(given, 28);
  EXPECT_LE(given, 32);
  EXPECT_THAT(run.result.out, HasSubstr("of its budget of 33554432"));
  EXPECT_GT(memory(run.report, "scratchpad 1")["most_bytes"], 0);
  EXPECT_GT(memory(run.report, "dram 14")["most_bytes"], 0);
}

}  // namespace
