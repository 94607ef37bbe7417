// Five ways in which cores share lines, on a modelled machine: cores that run ahead see what they see in strict order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "model/modelled_run.h"
#include "support/build_paths.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

struct run {
  json report;
  std::string printed;
  std::string text;  // the report as text

  // Returns a sum over all first caches, or over all cores.
  [[nodiscard]] double misses() const {
    std::uint64_t sum = 0;
    for (const json& part : report["parts"])
      if (part["part"].get<std::string>().starts_with("L1d")) sum += part["misses"].get<std::uint64_t>();
    return static_cast<double>(sum);
  }
  [[nodiscard]] std::uint64_t of_cores(const char* counter) const {
    std::uint64_t sum = 0;
    for (const json& core : report["cores"]) sum += core[counter].get<std::uint64_t>();
    return sum;
  }
  [[nodiscard]] double time_ps() const { return report["modelled_ps"].get<double>(); }
  [[nodiscard]] std::uint64_t of_sharing(const char* counter) const {
    return report["sharing"][counter].get<std::uint64_t>();
  }
};

run run_on_four_cores(const std::vector<std::string>& program, const std::vector<std::string>& options = {}) {
  situ::test::modelled_run made = situ::test::run_on(SITU_TEST_SOURCE_DIR "/model/four_cores.toml", options,
                                                     program.front(), {program.begin() + 1, program.end()});
  EXPECT_EQ(made.result.exit_code, 0) << made.result.err;
  return {.report = std::move(made.report), .printed = made.result.out, .text = made.result.err};
}

run run_pattern(const char* pattern, const char* rounds, const std::vector<std::string>& options = {}) {
  return run_on_four_cores({"model_sharing_patterns", pattern, rounds}, options);
}

struct pattern {
  const char* name;
  const char* rounds;
};

class SharingPatterns : public testing::TestWithParam<pattern> {};
TEST_P(SharingPatterns, AreAsInStrictOrder) {
  const auto [name, rounds] = GetParam();
  const run ahead = run_pattern(name, rounds);
  const run strict = run_pattern(name, rounds, {"--strict"});
  EXPECT_EQ(ahead.printed, strict.printed);
  EXPECT_NEAR(ahead.time_ps() / strict.time_ps(), 1.0, 0.05);
  EXPECT_NEAR(ahead.misses() / strict.misses(), 1.0, 0.05);
  EXPECT_GE(ahead.of_sharing("lines_in_order"), 1u);
  EXPECT_GE(ahead.of_sharing("hidden_ps"), 1u);
  EXPECT_LE(static_cast<double>(ahead.of_sharing("hidden_ps")), 0.05 * ahead.time_ps());
  EXPECT_EQ(strict.of_sharing("hidden_ps"), 0u);
  EXPECT_EQ(ahead.of_sharing("lines_taken"), strict.of_sharing("lines_taken"));
  EXPECT_THAT(ahead.text, HasSubstr("kept in order"));
}
TEST_P(SharingPatterns, RepeatToTheCycle) {
  const auto [name, rounds] = GetParam();
  const run one = run_pattern(name, rounds);
  const run two = run_pattern(name, rounds, {"--profile"});
  for (const char* figure : {"modelled_ps", "cycles", "trace", "cores", "parts", "sharing"})
    EXPECT_EQ(one.report[figure], two.report[figure]) << figure;
}
INSTANTIATE_TEST_SUITE_P(patterns, SharingPatterns,
                         testing::Values(pattern{"false_sharing", "4000"}, pattern{"counter", "4000"},
                                         pattern{"lock", "1000"}, pattern{"ring", "3000"}, pattern{"queue", "200"}),
                         [](const auto& which) { return which.param.name; });

// docs/design/model_execution.md works out 28 ns of false sharing: two rounds of each core, which have a read that
// misses, a write that misses, a read that hits, and a write that is an upgrade.
TEST(Sharing, CoherenceMissesAndUpgradesAreCountedByHand) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--strict"}}) {
    const run few = run_pattern("false_sharing", "1000", options);
    const run more = run_pattern("false_sharing", "2000", options);
    EXPECT_EQ(more.of_cores("coherence_misses") - few.of_cores("coherence_misses"), 2000u);
    EXPECT_EQ(more.of_cores("upgrades") - few.of_cores("upgrades"), 1000u);
    EXPECT_EQ(more.time_ps() - few.time_ps(), 1000 * 14'000);
  }
  const run few = run_pattern("apart", "1000");
  const run more = run_pattern("apart", "2000");
  for (const char* counter : {"coherence_misses", "upgrades"}) EXPECT_EQ(few.of_cores(counter), more.of_cores(counter));
}

TEST(Sharing, FunctionsHaveTheirShare) {
  const run made = run_pattern("false_sharing", "1000", {"--profile"});
  std::uint64_t misses = 0;
  std::uint64_t upgrades = 0;
  for (const json& each : made.report["profile"]) {
    misses += each["coherence_misses"].get<std::uint64_t>();
    upgrades += each["upgrades"].get<std::uint64_t>();
  }
  EXPECT_EQ(misses, made.of_cores("coherence_misses"));
  EXPECT_EQ(upgrades, made.of_cores("upgrades"));
  const json& first = made.report["profile"][0];
  EXPECT_THAT(first["function"].get<std::string>(), HasSubstr("false_sharing"));
  EXPECT_GE(first["coherence_misses"].get<std::uint64_t>(), 1850u);
  // A jump a round of each core. Those behind its last miss count for the next function that misses.
  EXPECT_NEAR(first["branches"].get<double>(), 2000, 60);
  EXPECT_EQ(first["mispredicted"], 0);  // these cores predict none
  EXPECT_THAT(made.text, HasSubstr("branches  mispredicted  function"));
}

// The inner loop of the lock's pattern ends after 0 to 31 rounds, by luck: a misprediction or more for most.
TEST(Sharing, FunctionsHaveTheirMispredictions) {
  const situ::test::modelled_run made = situ::test::run_on(SITU_TEST_SOURCE_DIR "/model/measured_host.toml",
                                                           {"--profile"}, "model_sharing_patterns", {"lock", "500"});
  ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
  std::uint64_t of_cores = 0;
  for (const json& core : made.report["cores"]) of_cores += core["mispredicted"].get<std::uint64_t>();
  std::uint64_t of_functions = 0;
  std::uint64_t of_lock = 0;
  for (const json& each : made.report["profile"]) {
    const auto mispredicted = each["mispredicted"].get<std::uint64_t>();
    EXPECT_LE(mispredicted, each["branches"].get<std::uint64_t>()) << each["function"];
    of_functions += mispredicted;
    if (each["function"].get<std::string>().find("moving_lock") != std::string::npos) of_lock += mispredicted;
  }
  EXPECT_GE(of_lock, 500u);
  EXPECT_GE(of_lock * 10, of_cores * 9);
  EXPECT_LE(of_functions, of_cores);
  EXPECT_GE(of_functions + 10, of_cores);  // those behind a core's last access belong to nobody
}

// Words on lines of their own: only the threads' beginnings and ends share lines, one of which a thread's first accesses
// to its stack may be ahead on.
TEST(Sharing, LinesOfOneCoreAreNotKeptInOrder) {
  const run made = run_pattern("apart", "4000");
  EXPECT_LE(made.of_sharing("lines_in_order"), 1u);
  EXPECT_LE(made.of_sharing("hidden_ps"), 50'000u);
  EXPECT_LE(made.of_sharing("lines_taken"), 10u);
  EXPECT_THAT(run_on_four_cores({"model_two_threads", "5"}).text, HasSubstr("nothing is hidden"));
  EXPECT_THAT(run_on_four_cores({"model_walk", "100", "1"}).text, Not(HasSubstr("sharing:")));
}

}  // namespace
