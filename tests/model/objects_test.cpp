// What `situ model run --objects` says of a program's objects: whose lines are shared, and by which bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/modelled_run.h"
#include "support/build_paths.h"

namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct run {
  json report;
  std::string text;

  // Returns the objects whose name has this text, added.
  [[nodiscard]] std::uint64_t of(const char* name, const char* figure) const {
    std::uint64_t sum = 0;
    for (const json& each : report["by_object"]["objects"])
      if (each["object"].get<std::string>().find(name) != std::string::npos) sum += each[figure].get<std::uint64_t>();
    return sum;
  }
  [[nodiscard]] std::uint64_t of_all(const char* figure) const { return of("", figure); }
  [[nodiscard]] std::uint64_t of_cores(const char* figure) const {
    std::uint64_t sum = 0;
    for (const json& each : report["cores"]) sum += each[figure].get<std::uint64_t>();
    return sum;
  }
  // Returns the line that is shared falsely most.
  [[nodiscard]] const json& worst() const { return report["by_object"]["falsely_shared"].at(0); }
};

run run_objects(const char* what, const char* rounds, std::vector<std::string> options = {"--objects"}) {
  situ::test::modelled_run made = situ::test::run_on(SITU_TEST_SOURCE_DIR "/model/four_cores.toml", std::move(options),
                                                     "model_objects", {what, rounds});
  EXPECT_EQ(made.result.exit_code, 0) << made.result.err;
  return {.report = std::move(made.report), .text = made.result.err};
}

// Both mappings are there, each with the accesses of one thread (a read and a write a round) and a read of the first.
TEST(Objects, AMappingWithinAnother) {
  const run few = run_objects("mapped", "1000");
  const run more = run_objects("mapped", "3000");
  EXPECT_EQ(more.of("other memory", "accesses"), few.of("other memory", "accesses"));
  std::uint64_t mappings = 0;
  for (const json& each : more.report["by_object"]["objects"]) {
    if (each["kind"] != "mapping" || each["object"].get<std::string>().find("objects.cpp") == std::string::npos)
      continue;
    ++mappings;
    EXPECT_EQ(each["accesses"], 6001u) << each.dump();
    EXPECT_TRUE(each["bytes"] == 100u || each["bytes"] == 16 * 4096u) << each.dump();
  }
  EXPECT_EQ(mappings, 2u);
}

// model_execution.md works out the misses of false sharing: in 1000 rounds of each core 2000 coherence misses and 1000
// upgrades, none of which brings anything that the core needs.
TEST(Objects, TwoCountersOfOneStruct) {
  const run few = run_objects("false", "1000");
  const run more = run_objects("false", "2000");
  const auto added = [&](const char* figure) { return more.of("together", figure) - few.of("together", figure); };
  EXPECT_EQ(added("coherence_misses"), 2000u);
  EXPECT_EQ(added("upgrades"), 1000u);
  EXPECT_EQ(added("falsely"), 3000u);
  EXPECT_EQ(added("accesses"), 4000u);
  EXPECT_EQ(added("misses"), 2000u);
  const json& line = more.worst();
  EXPECT_GE(line["falsely"].get<std::uint64_t>(), 5900u);
  std::set<std::string> written;
  for (const json& part : line["parts"])
    if (!part["written"].empty()) written.insert(part["object"].get<std::string>() + part["written"].dump());
  EXPECT_THAT(written, testing::ElementsAre(AllOf(HasSubstr("together"), HasSubstr("[[0,7]]")),
                                            AllOf(HasSubstr("together"), HasSubstr("[[8,15]]"))));
  EXPECT_THAT(more.text, HasSubstr("writes 8-15 (bytes) of (anonymous namespace)::together"));
}

TEST(Objects, OneCounterIsSharedTruly) {
  const run few = run_objects("true", "1000");
  const run more = run_objects("true", "2000");
  EXPECT_GE(more.of("together", "coherence_misses") - few.of("together", "coherence_misses"), 1000u);
  EXPECT_EQ(more.of("together", "falsely"), few.of("together", "falsely"));
}

TEST(Objects, PaddedCountersShareNothing) {
  const run made = run_objects("padded", "1000");
  EXPECT_EQ(made.of("apart", "falsely"), 0u);
  EXPECT_LE(made.of("apart", "coherence_misses"), 2u);  // main reads both at the end
  EXPECT_GE(made.of("apart", "accesses"), 4000u);
}

TEST(Objects, BlocksOnALineAreNamedByTheirSourceLines) {
  const run made = run_objects("blocks", "1000");
  std::set<std::string> writers;
  for (const json& part : made.worst()["parts"])
    if (!part["written"].empty()) writers.insert(part["object"].get<std::string>());
  // the lines of both mallocs
  EXPECT_THAT(writers, testing::ElementsAre(HasSubstr("objects.cpp:43"), HasSubstr("objects.cpp:44")));
  EXPECT_GE(made.of("objects.cpp:43", "falsely"), 1000u);
}

// The block of a vector comes from the library's headers, which say nothing.
TEST(Objects, ContainersAreNamedByTheProgramsLine) {
  const run made = run_objects("vector", "100");
  EXPECT_GE(made.of("objects.cpp:55", "accesses"), 400u);
  EXPECT_EQ(made.of("objects.cpp:55", "bytes"), 512u);
}

TEST(Objects, TheyAddUpToTheCores) {
  const run made = run_objects("false", "1000");
  EXPECT_EQ(made.of_all("accesses"), made.of_cores("reads") + made.of_cores("writes") + made.of_cores("atomics"));
  EXPECT_EQ(made.of_all("coherence_misses"), made.of_cores("coherence_misses"));
  EXPECT_EQ(made.of_all("upgrades"), made.of_cores("upgrades"));
}

TEST(Objects, TheRunIsTheSameWithThem) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--strict"}}) {
    std::vector<std::string> with = more;
    with.emplace_back("--objects");
    for (const char* what : {"false", "vector"}) {
      const run one = run_objects(what, "500", more);
      const run two = run_objects(what, "500", with);
      for (const char* figure : {"modelled_ps", "trace", "cores", "parts", "sharing", "switches"})
        EXPECT_EQ(one.report[figure], two.report[figure]) << what << " " << figure;
      EXPECT_FALSE(one.report.contains("by_object"));
    }
  }
}

// Copies between bytes that tiles may see differently, and others.
TEST(Objects, TheRunIsTheSameWhereCoherenceIsChecked) {
  const auto checked = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"-n", "2", "--check-coherence"});
    return situ::test::run_on("nemesys-4x4", std::move(options), "model_stale_read", {"fixed"}).report;
  };
  const json one = checked({});
  const json two = checked({"--objects"});
  for (const char* figure : {"modelled_ps", "trace", "cores", "parts", "switches"})
    EXPECT_EQ(one[figure], two[figure]) << figure;
}

}  // namespace
