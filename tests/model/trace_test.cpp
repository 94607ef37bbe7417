// Traces of a run, replayed on the same machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model/modelled_run.h"
#include "support/build_paths.h"

namespace {

using nlohmann::json;
using package_rank::test::run_command;
using situ::test::modelled_run;
using testing::HasSubstr;

const std::string four_cores = SITU_TEST_SOURCE_DIR "/model/four_cores.toml";

std::uint64_t of_part(const json& report, const char* part, const char* counter) {
  for (const json& each : report["parts"])
    if (each["part"] == part) return each[counter].get<std::uint64_t>();
  ADD_FAILURE() << "no part " << part;
  return 0;
}

class Trace : public testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return folder_.path() + "/trace"; }
  package_rank::test::command_result replay(const std::string& trace, const std::string& machine) {
    return run_command({std::string{SITU_TEST_BIN_DIR} + "/situ", "model", "replay", trace, "--machine", machine,
                        "--json", folder_.path() + "/replayed.json"});
  }
  json replayed() const {
    std::ifstream stream{folder_.path() + "/replayed.json"};
    return json::parse(stream, nullptr, false);
  }

 private:
  package_rank::test::scratch_folder folder_;
};

// 20,000 numbers are 80,000 bytes, more than the first cache; twice.
TEST_F(Trace, AReplayHasTheRunsMisses) {
  const modelled_run plain = situ::test::run_on(four_cores, {}, "model_walk", {"20000", "2"});
  const modelled_run made = situ::test::run_on(four_cores, {"--trace", file()}, "model_walk", {"20000", "2"});
  ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
  for (const char* figure : {"modelled_ps", "trace", "cores", "parts"})
    EXPECT_EQ(plain.report[figure], made.report[figure]) << figure;

  const auto result = replay(file() + ".0", four_cores);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json again = replayed();
  const json& core = made.report["cores"][0];
  EXPECT_GE(of_part(made.report, "L1d 0", "misses"), 2500u);
  for (const char* cache : {"L1d 0", "L2 0"})
    for (const char* counter : {"misses", "evictions", "write_backs"})
      EXPECT_EQ(of_part(again, cache, counter), of_part(made.report, cache, counter)) << cache << " " << counter;
  EXPECT_GE(again["branches"].get<std::uint64_t>(), 40'000u);  // a round of the loop each
  EXPECT_LE(again["branches"].get<std::uint64_t>(), core["branches"].get<std::uint64_t>());
  EXPECT_NEAR(again["instructions"].get<double>() / core["instructions"].get<double>(), 1, 0.05);
  EXPECT_EQ(std::filesystem::file_size(file() + ".0"), 64 * again["instructions"].get<std::uint64_t>());
}

// The requests that reach the memory are those that the report counts, in each format; the first two have them all in
// one file.
TEST_F(Trace, AReplayOfRequestsHasTheReportsReadsAndWrites) {
  const modelled_run plain = situ::test::run_on(four_cores, {}, "model_walk", {"400000", "1"});
  const std::uint64_t reads = of_part(plain.report, "dram 0", "reads");
  const std::uint64_t writes = of_part(plain.report, "dram 0", "writes");
  EXPECT_GE(reads, 25'000u);  // 1.6 MB in lines of 64 bytes, written once and read once, with an L2 of 1 MiB
  EXPECT_GE(writes, 8'000u);
  for (const std::string format : {"ramulator-dram", "ramulator2-loadstore", "ramulator-cpu"}) {
    SCOPED_TRACE(format);
    const modelled_run made =
        situ::test::run_on(four_cores, {"--trace", file(), "--trace-format", format}, "model_walk", {"400000", "1"});
    ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
    for (const char* figure : {"modelled_ps", "trace", "cores", "parts"})
      EXPECT_EQ(plain.report[figure], made.report[figure]) << figure;
    const bool is_of_core = format == "ramulator-cpu";
    const auto result = replay(is_of_core ? file() + ".0" : file(), four_cores);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json again = replayed();
    EXPECT_EQ(again["reads"], reads);
    EXPECT_EQ(again["writes"], writes);
    EXPECT_EQ(of_part(again, "dram 0", "reads"), reads);
    EXPECT_EQ(of_part(again, "dram 0", "writes"), writes);
    if (!is_of_core) continue;
    const auto executed = made.report["cores"][0]["instructions"].get<std::uint64_t>();
    EXPECT_LE(again["instructions"].get<std::uint64_t>(), executed);
    EXPECT_GE(again["instructions"].get<std::uint64_t>(), executed - executed / 50);  // not those behind the last read
  }
}

TEST_F(Trace, ATraceOfRequestsBeginsWithTheRegion) {
  const modelled_run made = situ::test::run_on(
      four_cores, {"--fast-forward", "second", "--trace", file(), "--trace-format", "ramulator-dram"}, "model_warm");
  ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
  ASSERT_EQ(replay(file(), four_cores).exit_code, 0);
  EXPECT_EQ(replayed()["reads"], of_part(made.report, "dram 0", "reads"));
  EXPECT_GE(replayed()["reads"].get<std::uint64_t>(), 256u);
  const modelled_run flat =
      situ::test::run_on("flat", {"--trace", file(), "--trace-format", "ramulator-dram"}, "model_walk");
  EXPECT_EQ(flat.result.exit_code, 2);
  EXPECT_THAT(flat.result.err, HasSubstr("flat has no memories"));
}

// What a core has executed before the region is no part of its first line: 1000 reads of it alone.
TEST_F(Trace, ATraceOfACoreBeginsWithTheRegion) {
  const modelled_run made = situ::test::run_on(
      four_cores, {"--fast-forward", "part", "--trace", file(), "--trace-format", "ramulator-cpu"}, "model_regions");
  ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
  EXPECT_GE(made.report["cores"][0]["instructions"].get<std::uint64_t>(), 5000u);
  std::ifstream trace{file() + ".0"};
  std::uint64_t bubbles = 0;
  ASSERT_TRUE(trace >> bubbles);
  EXPECT_LE(bubbles, 100u);
}

// A message and its answer are a write to a tile's memory each.
TEST_F(Trace, MessagesAreOfNoCore) {
  const std::string nemesys = SITU_TEST_SOURCE_DIR "/../machines/nemesys-4x4.toml";
  const modelled_run made = situ::test::run_on(
      nemesys, {"-n", "2", "--trace", file(), "--trace-format", "ramulator-cpu"}, "model_ping_pong", {"200"});
  ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
  EXPECT_THAT(made.result.err, HasSubstr(" and 400 requests of no core"));
}

// Threads that alternate on one core go on within their blocks: each record has its code, and there are as many as the
// core has executed instructions.
TEST_F(Trace, ThreadsOfOneCoreKeepTheirBlocks) {
  const std::string one_core = SITU_TEST_SOURCE_DIR "/model/cachegrind.toml";
  const modelled_run made = situ::test::run_on(one_core, {"--trace", file()}, "model_two_threads", {"50"});
  ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
  EXPECT_GE(made.report["switches"].get<std::uint64_t>(), 100u);
  std::ifstream stream{file() + ".0", std::ios::binary};
  std::uint64_t records = 0, without_code = 0;
  for (std::uint64_t record[8]; stream.read(reinterpret_cast<char*>(record), sizeof(record)); ++records)
    without_code += record[0] == 0;
  EXPECT_EQ(without_code, 0u);
  EXPECT_NEAR(static_cast<double>(records) / made.report["cores"][0]["instructions"].get<double>(), 1, 0.05);
}

TEST_F(Trace, BadTracesAreRefused) {
  const auto refused = [&](const std::string& trace) {
    const auto result = replay(trace, four_cores);
    EXPECT_EQ(result.exit_code, 1);
    return result.err;
  };
  EXPECT_THAT(refused(file()), HasSubstr("trace: cannot be read"));
  std::ofstream{file()} << std::string(100, '\0');
  EXPECT_THAT(refused(file()), HasSubstr("trace: ends within the record at byte 64: 36 of 64 bytes"));
  std::ofstream{file()} << std::string(128, '\x7f');
  EXPECT_THAT(refused(file()), HasSubstr("the record at byte 0 has is_branch 127"));
  std::ofstream{file()} << std::string(128, 'x');
  EXPECT_THAT(refused(file()), HasSubstr("trace:1: is neither \"ADDRESS R|W\""));
  std::ofstream{file()} << "LD 0x40\nLD nowhere\n";
  EXPECT_THAT(refused(file()), HasSubstr("trace:2: has no address in nowhere"));
  EXPECT_NE(replay(file(), "flat").exit_code, 0);
  const auto beyond = run_command({std::string{SITU_TEST_BIN_DIR} + "/situ", "model", "replay", file(), "--machine",
                                   SITU_TEST_SOURCE_DIR "/model/two_threads_a_core.toml", "--core", "4"});
  EXPECT_EQ(beyond.exit_code, 1);
  EXPECT_THAT(beyond.err, HasSubstr("has 4 processors, and none with the number 4"));
}

TEST_F(Trace, AFileThatCannotBeWrittenEndsTheRun) {
  const modelled_run made = situ::test::run_on(four_cores, {"--trace", "/proc/no/trace"}, "model_walk");
  EXPECT_EQ(made.result.exit_code, 2);
  EXPECT_THAT(made.result.err, HasSubstr("/proc/no/trace.0"));
}

}  // namespace
