// Programs on machines/tile64.toml: homed and user-managed pages of two places, and raw channels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "model/modelled_run.h"
#include "support/build_paths.h"

namespace {

using situ::test::modelled_run;
using testing::HasSubstr;
using testing::Not;

modelled_run run(std::vector<std::string> options, const std::string& program,
                 const std::vector<std::string>& arguments) {
  if (std::find(options.begin(), options.end(), "--places") == options.end())
    options.insert(options.end(), {"--places", "2"});
  return situ::test::run_on("tile64", options, program, arguments);
}

std::uint64_t sum_of(const nlohmann::json& report, const std::string& counter) {
  std::uint64_t sum = 0;
  for (const auto& part : report["parts"]) sum += part.value(counter, std::uint64_t{0});
  return sum;
}

TEST(Tile64Run, HomedPagesNeedNoCallsAndUserManagedOnesDo) {
  const modelled_run right = run({"--check-coherence"}, "model_homed_pages", {});
  EXPECT_EQ(right.result.exit_code, 0) << right.result.err;
  EXPECT_THAT(right.result.out, Not(HasSubstr("wrong")));
  EXPECT_THAT(right.result.err, HasSubstr("coherence: 0 stale reads, 0 lost writes"));
  // Place 0 writes 1024 words at first, and in each of 3 rounds it writes them and reads those of place 1. gcc may take
  // several words at once.
  EXPECT_GE(sum_of(right.report, "homed_writes"), 4 * 256u);
  EXPECT_GE(sum_of(right.report, "homed_reads"), 3 * 256u);
  EXPECT_GE(sum_of(right.report, "homed_served"),
            sum_of(right.report, "homed_writes") + sum_of(right.report, "homed_reads"));

  const modelled_run forgotten = run({"--check-coherence"}, "model_homed_pages", {"forgotten"});
  EXPECT_THAT(forgotten.result.out, HasSubstr("homed right, managed wrong"));
  EXPECT_THAT(forgotten.result.out, Not(HasSubstr("homed wrong")));
  EXPECT_THAT(forgotten.result.err, Not(HasSubstr("coherence: 0 stale reads")));
  EXPECT_THAT(forgotten.result.err, HasSubstr("stale reads in (anonymous namespace)::read"));

  const modelled_run shared = run({"--check-coherence"}, "model_homed_pages", {"shared"});
  EXPECT_THAT(shared.result.out, Not(HasSubstr("wrong")));
  EXPECT_THAT(shared.result.err, HasSubstr("coherence: 0 stale reads, 0 lost writes"));
  EXPECT_LT(sum_of(shared.report, "homed_reads"), sum_of(right.report, "homed_reads") / 2);
}

// Reports and traces change no times.
TEST(Tile64Run, HomedPagesGoWithReportsAndTraces) {
  const modelled_run plain = run({}, "model_homed_pages", {});
  const modelled_run objects = run({"--objects"}, "model_homed_pages", {});
  EXPECT_EQ(plain.report["modelled_ps"], objects.report["modelled_ps"]);
  const package_rank::test::scratch_folder folder;
  const modelled_run traced = run({"--trace", folder.path() + "/t"}, "model_homed_pages", {});
  EXPECT_EQ(traced.result.exit_code, 0) << traced.result.err;
  EXPECT_EQ(plain.report["modelled_ps"], traced.report["modelled_ps"]);
}

// The lines "0: 111" of raw_channels.cpp.
std::map<int, std::int64_t> cycles_of(const std::vector<std::string>& options, const std::string& receiver = "1") {
  const modelled_run ran = run(options, "model_raw_channels", {"times", receiver});
  EXPECT_EQ(ran.result.exit_code, 0) << ran.result.err;
  std::map<int, std::int64_t> found;
  std::istringstream lines{ran.result.out};
  int what = 0;
  char colon = 0;
  for (std::int64_t cycles = 0; lines >> what >> colon >> cycles;) found[what] = cycles;
  return found;
}

TEST(Tile64Run, RawMessagesArriveInOrder) {
  EXPECT_EQ(run({}, "model_raw_channels", {"order"}).result.out, "right 100\n");
  EXPECT_EQ(run({"--check-coherence"}, "model_raw_channels", {"order"}).result.out, "right 100\n");
  // Four have room on their way and in the queue; the fifth waits.
  EXPECT_EQ(run({}, "model_raw_channels", {"full"}).result.out, "first that waited 4\n");
  EXPECT_EQ(run({"--set", "link1.raw_queue=9"}, "model_raw_channels", {"full"}).result.out, "first that waited 9\n");
}

// The program's own instructions are the same each time, so a difference of the machine's figures is one of the times.
// The program counts whole cycles, and a period is of whole picoseconds (160 ns are 111.97 cycles): one more or less.
TEST(Tile64Run, RawMessagesCostWhatTheFileSays) {
  const auto usual = cycles_of({});
  ASSERT_EQ(usual.size(), 3u);
  EXPECT_GE(usual.at(0), 23);
  EXPECT_GE(usual.at(1), 12);
  EXPECT_LE(usual.at(1), 12 + 15);
  EXPECT_GE(usual.at(2), 23 + 1 + 12);
  const auto sent = cycles_of({"--set", "link1.raw_send=175.714285714 ns"});  // 123 cycles
  EXPECT_NEAR(static_cast<double>(sent.at(0) - usual.at(0)), 100, 1);
  EXPECT_EQ(sent.at(1), usual.at(1));
  EXPECT_NEAR(static_cast<double>(sent.at(2) - usual.at(2)), 100, 1);
  const auto received = cycles_of({"--set", "link1.raw_receive=160 ns"});  // 112 cycles
  EXPECT_EQ(received.at(0), usual.at(0));
  EXPECT_NEAR(static_cast<double>(received.at(1) - usual.at(1)), 100, 1);
  EXPECT_NEAR(static_cast<double>(received.at(2) - usual.at(2)), 100, 1);
  const auto hop = cycles_of({"--set", "link1.latency=143 ns"});  // about 100 cycles
  EXPECT_NEAR(static_cast<double>(hop.at(2) - usual.at(2)), 99, 2);
}

TEST(Tile64Run, RawMessagesSayWhatIsWrong) {
  const modelled_run none = situ::test::run_on("nemesys-4x4", {"--places", "2"}, "model_raw_channels", {"order"});
  EXPECT_EQ(none.result.exit_code, 2);
  EXPECT_THAT(none.result.err, HasSubstr("NEMESYS 4x4 has no raw channels"));
  EXPECT_THAT(run({}, "model_raw_channels", {"long"}).result.err,
              HasSubstr("a raw message has 1 to 40 bytes, and not 41"));
  const modelled_run alone = run({}, "model_raw_channels", {"alone"});
  EXPECT_NE(alone.result.exit_code, 0);
  EXPECT_THAT(alone.result.err, HasSubstr("deadlock"));
}

// Misses of the TLBs retire instructions, which fewer misses of larger pages do not.
TEST(Tile64Run, WalksInSoftwareRetireInstructions) {
  const auto instructions = [](const modelled_run& ran) {
    std::uint64_t sum = 0;
    for (const auto& core : ran.report["cores"]) sum += core["instructions"].get<std::uint64_t>();
    return sum;
  };
  const std::vector<std::string> walk{"200000", "8"};
  const modelled_run small = run({"--set", "core.dtlb.entries=1", "--set", "core.dtlb.ways=1"}, "model_walk", walk);
  const modelled_run large =
      run({"--set", "core.dtlb.entries=1", "--set", "core.dtlb.ways=1", "--set", "core.dtlb.page=16MiB"}, "model_walk",
          walk);
  EXPECT_EQ(small.result.exit_code, 0) << small.result.err;
  const std::uint64_t walked = sum_of(small.report, "walk_instructions"),
                      left = sum_of(large.report, "walk_instructions");
  EXPECT_GT(walked, left);
  EXPECT_EQ(walked % 60, 0u);
  EXPECT_EQ(instructions(small) - instructions(large), walked - left);
}

}  // namespace
