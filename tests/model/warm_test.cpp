// Runs that begin with the caches of another: --save, --warm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "model/modelled_run.h"
#include "support/build_paths.h"

namespace {

using nlohmann::json;
using situ::test::modelled_run;
using testing::HasSubstr;

const std::string four_cores = SITU_TEST_SOURCE_DIR "/model/four_cores.toml";
const std::string measured_host = SITU_TEST_SOURCE_DIR "/model/measured_host.toml";

json region(const modelled_run& of, const char* name) {
  for (const json& each : of.report["regions"])
    if (each["name"] == name) return each;
  ADD_FAILURE() << "no region " << name << ": " << of.result.err;
  return {};
}
std::uint64_t misses(const json& region) {
  std::uint64_t sum = 0;
  for (const json& part : region["parts"])
    if (part["part"].get<std::string>().starts_with("L1d")) sum += part["misses"].get<std::uint64_t>();
  return sum;
}

class Warm : public testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return folder_.path() + "/state"; }
  modelled_run run(const std::string& machine, std::vector<std::string> options) {
    return situ::test::run_on(machine, std::move(options), "model_warm");
  }
  void save(const std::string& machine, std::vector<std::string> options = {"--save-after", "first"}) {
    options.insert(options.begin(), {"--save", file()});
    const modelled_run made = run(machine, std::move(options));
    ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
  }
  std::string content() const {
    std::ifstream stream{file(), std::ios::binary};
    return {std::istreambuf_iterator<char>{stream}, {}};
  }

 private:
  package_rank::test::scratch_folder folder_;
};

// 256 lines of 64 bytes fit in the 32 KiB of the first cache: the second region hits them all, but after a fast forward
// it misses each.
TEST_F(Warm, ARegionBeginsAsInTheWholeRun) {
  save(four_cores);
  const json whole = region(run(four_cores, {}), "second");
  const json cold = region(run(four_cores, {"--fast-forward", "second"}), "second");
  const json warm = region(run(four_cores, {"--fast-forward", "second", "--warm", file()}), "second");
  EXPECT_EQ(misses(whole), 0u);
  EXPECT_GE(misses(cold), 256u);
  EXPECT_EQ(misses(warm), 0u);
  EXPECT_EQ(warm["modelled_ps"], whole["modelled_ps"]);
  EXPECT_GE(cold["modelled_ps"].get<std::uint64_t>(), warm["modelled_ps"].get<std::uint64_t>() + 256 * 99'000);
}

// A core with TLBs, prefetchers and a branch predictor. Only requests under way are not in the file.
TEST_F(Warm, SoDoesACoreThatGoesAhead) {
  save(measured_host);
  const json whole = region(run(measured_host, {}), "second");
  const json warm = region(run(measured_host, {"--fast-forward", "second", "--warm", file()}), "second");
  EXPECT_EQ(misses(whole), misses(warm));
  EXPECT_NEAR(warm["modelled_ps"].get<double>() / whole["modelled_ps"].get<double>(), 1, 0.02);
  EXPECT_EQ(warm["cores"][0]["mispredicted"], whole["cores"][0]["mispredicted"]);
}

TEST_F(Warm, AWholeRunBeginsWithTheEndOfAnother) {
  save(four_cores, {});
  const modelled_run made = run(four_cores, {"--warm", file()});
  EXPECT_EQ(misses(region(made, "first")), 0u);
}

// The region begins with the caches of the whole run, with no file.
TEST_F(Warm, FunctionalWarmingLeavesTheWholeRunsCaches) {
  const std::vector<std::string> warmed{"--fast-forward", "second", "--functional-warming"};
  for (const std::string& machine : {four_cores, measured_host}) {
    SCOPED_TRACE(machine);
    const modelled_run all = run(machine, {}), made = run(machine, warmed);
    ASSERT_EQ(made.result.exit_code, 0) << made.result.err;
    const json whole = region(all, "second"), warm = region(made, "second");
    const json cold = region(run(machine, {"--fast-forward", "second"}), "second");
    EXPECT_EQ(misses(warm), misses(whole));
    EXPECT_GE(misses(cold), misses(warm) + 200);
    EXPECT_NEAR(warm["modelled_ps"].get<double>() / whole["modelled_ps"].get<double>(), 1, 0.02);
    EXPECT_EQ(warm["cores"][0]["mispredicted"], whole["cores"][0]["mispredicted"]);
    EXPECT_LE(misses(made.report), misses(warm) + 100) << "the misses before the region are not counted";
    EXPECT_GE(misses(all.report), 256u);
  }
  EXPECT_EQ(region(run(four_cores, warmed), "second")["modelled_ps"],
            region(run(four_cores, {}), "second")["modelled_ps"]);
}

// Lines that the program has flushed before the region are not in the caches at its beginning.
TEST_F(Warm, FunctionalWarmingLeavesOutWhatTheProgramFlushed) {
  const auto second = [](std::vector<std::string> options) {
    return region(situ::test::run_on(four_cores, std::move(options), "model_warm", {"100"}), "second");
  };
  const json whole = second({}), warm = second({"--fast-forward", "second", "--functional-warming"});
  EXPECT_GE(misses(whole), 100u);
  EXPECT_LT(misses(whole), 110u);
  EXPECT_EQ(misses(warm), misses(whole));
  EXPECT_EQ(warm["modelled_ps"], whole["modelled_ps"]);
}

TEST_F(Warm, FunctionalWarmingNeedsAFastForwardAndParts) {
  EXPECT_NE(run(four_cores, {"--functional-warming"}).result.exit_code, 0);
  const modelled_run flat = run("flat", {"--fast-forward", "second", "--functional-warming"});
  EXPECT_EQ(flat.result.exit_code, 2);
  EXPECT_THAT(flat.result.err, HasSubstr("flat has no parts to warm"));
}

TEST_F(Warm, LatenciesMayDiffer) {
  save(four_cores);
  const modelled_run made =
      run(four_cores, {"--fast-forward", "second", "--warm", file(), "--set", "dram.latency=500ns"});
  EXPECT_EQ(misses(region(made, "second")), 0u);
}

TEST_F(Warm, BadFilesAreRefused) {
  const auto refused = [&](const std::string& machine, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--warm", file()});
    const modelled_run made = run(machine, std::move(more));
    EXPECT_EQ(made.result.exit_code, 2);
    return made.result.err;
  };
  EXPECT_THAT(refused(four_cores), HasSubstr("state: cannot be read"));
  save(four_cores);
  EXPECT_THAT(refused(measured_host), HasSubstr("state: is the state of another machine"));
  EXPECT_THAT(refused(four_cores, {"--set", "l2.ways=8"}), HasSubstr("is the state of another machine"));
  const std::string whole = content();
  std::ofstream{file(), std::ios::binary} << whole.substr(0, whole.size() / 2);
  EXPECT_THAT(refused(four_cores), HasSubstr("state: was cut off"));
  std::ofstream{file(), std::ios::binary} << "no state";
  EXPECT_THAT(refused(four_cores), HasSubstr("state: is no saved state of a machine"));
}

// Its checksum and its hash are right, but it has a word less, or one more.
TEST_F(Warm, CraftedFilesAreRefusedAtTheRegion) {
  save(four_cores);
  const std::string whole = content();
  const auto crafted = [&](int more) {
    std::vector<std::uint64_t> words((whole.size() - 8) / 8);
    std::memcpy(words.data(), whole.data() + 8, words.size() * 8);
    words.resize(static_cast<std::size_t>(std::ssize(words) + more));
    words[2] += static_cast<std::uint64_t>(more);
    std::uint64_t checksum = 14695981039346656037ULL;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) checksum = (checksum ^ words[i]) * 1099511628211ULL;
    words.back() = checksum;
    std::ofstream made{file(), std::ios::binary};
    made << "situwarm";
    made.write(reinterpret_cast<const char*>(words.data()), std::ssize(words) * 8);
  };
  for (const auto& [more, why] : {std::pair{-1, "state: the saved state ends before the machine's parts do"},
                                  std::pair{1, "state: the saved state has more parts than the machine"}}) {
    crafted(more);
    const std::vector<std::string> begins{"--warm", file()}, jumps{"--warm", file(), "--fast-forward", "second"};
    for (const std::vector<std::string>& options : {begins, jumps}) {
      const modelled_run made = run(four_cores, options);
      EXPECT_EQ(made.result.exit_code, 2) << made.result.err;
      EXPECT_THAT(made.result.err, HasSubstr(why));
    }
  }
}

// The file keeps the state of an earlier run until there is another one.
TEST_F(Warm, ARunThatStopsEarlyKeepsTheFile) {
  save(four_cores);
  const std::string before = content();
  EXPECT_THAT(run(four_cores, {"--save", file(), "--save-after", "third"}).result.err, HasSubstr("was not written"));
  EXPECT_EQ(content(), before);
  const modelled_run stopped = situ::test::run_on(
      four_cores, {"--save", file(), "--save-after", "first", "--trace", "/proc/no/trace"}, "model_warm");
  EXPECT_EQ(stopped.result.exit_code, 2);
  EXPECT_EQ(content(), before);
  save(four_cores, {});  // a longer or shorter state replaces all of it
  EXPECT_EQ(run(four_cores, {"--warm", file()}).result.exit_code, 0);
}

TEST_F(Warm, AFileThatCannotBeWrittenIsTold) {
  const modelled_run made = run(four_cores, {"--save", "/no/such/folder/x"});
  EXPECT_EQ(made.result.exit_code, 2);
  EXPECT_THAT(made.result.err, HasSubstr("cannot write the state of the caches to /no/such/folder/x"));
}

// The file that a run begins with may be the one that it saves to.
TEST_F(Warm, AFileIsReadBeforeItIsWritten) {
  save(four_cores, {});
  const modelled_run made = run(four_cores, {"--warm", file(), "--save", file()});
  EXPECT_EQ(made.result.exit_code, 0) << made.result.err;
  EXPECT_EQ(misses(region(made, "first")), 0u);
}

TEST_F(Warm, ARegionThatNeverEndsIsTold) {
  const modelled_run made = run(four_cores, {"--save", file(), "--save-after", "third"});
  EXPECT_EQ(made.result.exit_code, 0);
  EXPECT_THAT(made.result.err, HasSubstr("region third never ended"));
}

}  // namespace
