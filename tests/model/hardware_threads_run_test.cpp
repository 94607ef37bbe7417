// Programs on cores of several hardware threads: what they see, what two threads of one core cost each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/modelled_run.h"
#include "support/build_paths.h"

namespace {

using nlohmann::json;
using situ::test::modelled_run;
using testing::HasSubstr;

const std::string two_threads = SITU_TEST_SOURCE_DIR "/model/two_threads_a_core.toml";
const std::string four_cores = SITU_TEST_SOURCE_DIR "/model/four_cores.toml";

modelled_run run(const std::string& machine, const std::vector<std::string>& options,
                 const std::vector<std::string>& arguments) {
  modelled_run made = situ::test::run_on(machine, options, "model_hardware_threads", arguments);
  EXPECT_EQ(made.result.exit_code, 0) << made.result.err;
  return made;
}

// A core that waits for each read; one that goes on past its misses, and predicts branches. Both have TLBs for the pages
// of both threads.
const std::string large_tlb = "core.dtlb={ entries = 512, ways = 8, page = \"4 KiB\", walk = 30 }";
const std::vector<std::vector<std::string>> kinds{
    {"--set", large_tlb},
    {"--set", large_tlb, "--set", "core.window=64", "--set", "core.store_buffer=16", "--set", "core.width=2", "--set",
     "core.cycles={ integer = 0.5, multiply = 1, divide = 8, floating = 0.5, branch = 0.5, call = 1, mispredict = 10 "
     "}"}};

class HardwareThreadsRun : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] double ns(const std::vector<std::string>& arguments) const {
    return std::stod(run(two_threads, kinds[static_cast<std::size_t>(GetParam())], arguments).result.out);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, HardwareThreadsRun, testing::Values(0, 1));

// Processors 0 and 2 are threads of core 0, and 1 is one of core 1. A chase waits nearly always.
TEST_P(HardwareThreadsRun, TwoChasesTakeTheTimeOfOne) {
  const double one = ns({"chase", "0"});
  EXPECT_LT(ns({"chase", "0", "2"}), 1.1 * one);
  EXPECT_LT(ns({"chase", "0", "1"}), 1.1 * one);
}

TEST_P(HardwareThreadsRun, TwoThatComputeTakeTheTimeOfBoth) {
  const double one = ns({"compute", "0"});
  EXPECT_NEAR(ns({"compute", "0", "2"}) / one, 2, 0.02);
  EXPECT_NEAR(ns({"compute", "0", "1"}) / one, 1, 0.01);
}

TEST_P(HardwareThreadsRun, OneThatComputesGetsWhatAChaseLeaves) {
  const double one = ns({"compute", "0"});
  const double beside = ns({"mixed", "0", "2"});
  EXPECT_GT(beside, 1.001 * one);
  EXPECT_LT(beside, 1.15 * one);
}

TEST_P(HardwareThreadsRun, RepeatToTheCycle) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"chase", "0", "2"}, {"mixed", "0", "2"}}) {
    const std::vector<std::string>& options = kinds[static_cast<std::size_t>(GetParam())];
    const json one = run(two_threads, options, arguments).report;
    const json two = run(two_threads, options, arguments).report;
    for (const char* figure : {"modelled_ps", "trace", "accesses", "cores", "parts"})
      EXPECT_EQ(one[figure], two[figure]) << figure;
  }
}

// Loads that wait for nothing but room in the window, which two threads of a core divide: each then has half as many in
// flight. One thread alone has all of it, beside a sibling that has ended as well.
TEST(HardwareThreadsSeen, DivideTheWindow) {
  std::vector<std::string> options = kinds[1];
  options.insert(options.end(), {"--set", "core.window=24", "--set", "l2.latency=80 ns"});
  const auto ns = [&](const std::vector<std::string>& arguments) {
    return std::stod(run(two_threads, options, arguments).result.out);
  };
  EXPECT_GT(ns({"gather", "0", "2"}), 1.4 * ns({"gather", "0", "1"}));
  EXPECT_NEAR(ns({"gather", "2"}) / ns({"gather", "0"}), 1, 0.02);
}

// A chase stays within four pages for a while, as many as the TLB has entries: a second one takes these from it.
TEST(HardwareThreadsSeen, TakePagesFromEachOther) {
  const auto misses = [](const std::vector<std::string>& arguments) {
    const json report = run(two_threads, {}, arguments).report;
    for (const json& part : report["parts"])
      if (part["part"] == "DTLB 0") return part["misses"].get<int>();
    return -1;
  };
  EXPECT_LT(misses({"chase", "0", "1"}), 10'000);
  EXPECT_GT(misses({"chase", "0", "2"}), 30'000);
}

TEST(HardwareThreadsSeen, AreProcessors) {
  EXPECT_EQ(run(two_threads, {}, {"processors"}).result.out, "4 4 4\n0,2\n0-3\n1,3\n0-3\n1,3\n0-3\n");
  EXPECT_EQ(run(two_threads, {"--set", "core.threads=1"}, {"processors"}).result.out,
            "2 2 2\n0\n0-1\n1\n0-1\nnone\nnone\n");
  EXPECT_EQ(run(four_cores, {}, {"processors"}).result.out, "4 4 4\n0\n0-3\n1\n0-3\n3\n0-3\n");
}

// No thread is bound before main, so the first number is 0.
TEST(HardwareThreadsSeen, AreProcessorsBeforeMain) {
  const auto seen = [](const std::string& machine) { return run(machine, {}, {"processors_before_main"}).result.out; };
  EXPECT_EQ(seen(two_threads), "0 4 4\n0,2\n0-3\n1,3\n0-3\n1,3\n0-3\n");
  EXPECT_EQ(seen(four_cores), "0 4 4\n0\n0-3\n1\n0-3\n3\n0-3\n");
  EXPECT_EQ(seen("flat:tiles=2,cores=2"), "0 4 4\n0\n0-1\n1\n0-1\n3\n3\n");  // the first tile alone is known
}

// New threads of the program go to idle cores before they share one.
TEST(HardwareThreadsSeen, AreNamedByTheReport) {
  const modelled_run made = run(two_threads, {}, {"compute", "0", "2"});
  const json& cores = made.report["cores"];
  const auto of = [&](int processor) {
    return *std::ranges::find_if(cores, [&](const json& each) { return each["core"] == processor; });
  };
  EXPECT_EQ(of(2)["of_core"], 0);
  EXPECT_EQ(of(2)["thread"], 1);
  EXPECT_GT(of(2)["width_ps"].get<std::int64_t>(), 0);
  EXPECT_THAT(made.result.err, HasSubstr("thread 1 of core 0"));
  const modelled_run alone = run(four_cores, {}, {"compute", "0", "2"});
  EXPECT_FALSE(alone.report["cores"][0].contains("of_core"));
}

// Words of one line: cores take it from each other, falsely; threads of one core do not.
TEST(HardwareThreadsSeen, ShareNoLineFalsely) {
  const auto falsely = [](const char* second) {
    const json report = run(two_threads, {"--objects"}, {"share", "0", second}).report;
    for (const json& each : report["by_object"]["objects"])
      if (each["object"].get<std::string>().find("shared_words") != std::string::npos)
        return each["falsely"].get<int>();
    ADD_FAILURE() << "no object shared_words";
    return -1;
  };
  EXPECT_EQ(falsely("2"), 0);
  EXPECT_GT(falsely("1"), 100);
}

}  // namespace
