// Two threads of a triad on the machine of the study `host`, whose outermost cache has a measured limit of misses for
// each core.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

#include "model/modelled_run.h"
#include "support/build_paths.h"

namespace {

// Smaller caches, so that small arrays are streams from memory; 40,000 numbers are 320 KB, of three arrays a thread.
double bytes_a_ns(const char* threads, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--set", "l2.size=64KiB", "--set", "l3.size=352KiB"});
  const situ::test::modelled_run made = situ::test::run_on(SITU_TEST_SOURCE_DIR "/../machines/host.toml",
                                                           std::move(more), "model_triad_threads", {threads, "40000"});
  EXPECT_EQ(made.result.exit_code, 0) << made.result.err;
  for (const nlohmann::json& each : made.report["regions"])
    if (each["name"] == "triad")
      return std::stod(threads) * 40'000 * 32 * 1000 / each["modelled_ps"].get<double>();  // with the lines of a read
  ADD_FAILURE() << "no region";
  return 0;
}

// The limit of one core, taken for that of the whole cache, held two threads to little more than one.
TEST(TriadThreads, OneCoresLimitOfMissesIsNotThatOfAll) {
  const double one = bytes_a_ns("1"), two = bytes_a_ns("2");
  const double held = bytes_a_ns("2", {"--set", "l3.outstanding=68"});
  EXPECT_GE(two, 1.2 * one);
  EXPECT_GE(two, 1.15 * held);
  EXPECT_LE(two, 39.5) << "the memory's bandwidth";
}

}  // namespace
