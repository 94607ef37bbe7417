// OpenMP programs of gcc on modelled cores: their results are the native ones, each run is like the other, and their
// threads meet in the order of time.
#include "examples/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace {

using nlohmann::json;
using package_rank::test::command_result;
using package_rank::test::run_command;
using package_rank::test::scratch_folder;

const std::string bin = SITU_TEST_BIN_DIR;
const std::string nemesys = SITU_TEST_SOURCE_DIR "/../machines/nemesys-4x4.toml";

std::string flat(int cores) { return "flat:tiles=1,cores=" + std::to_string(cores); }

json report_of(const std::string& machine, const std::string& program) {
  const scratch_folder folder;
  const std::string file = folder.path() + "/report.json";
  const command_result result = run_command({bin + "/situ", "model", "run", "--machine", machine, "--quiet", "--json",
                                             file, bin + "/tests/model_openmp", program});
  EXPECT_EQ(result.exit_code, 0) << machine << ' ' << program << ": " << result.err;
  std::ifstream stream{file};
  json report = json::parse(stream);
  report["printed"] = result.out;
  return report;
}

std::uint64_t time_of(const std::string& machine, const std::string& program) {
  return report_of(machine, program)["modelled_ps"].get<std::uint64_t>();
}

class OpenMP : public testing::TestWithParam<const char*> {};
TEST_P(OpenMP, ComputesWhatItComputesNatively) {
  const command_result native = run_command({bin + "/tests/model_openmp", GetParam()});
  ASSERT_EQ(native.exit_code, 0) << native.err;
  for (const int cores : {1, 2, 4, 7}) EXPECT_EQ(report_of(flat(cores), GetParam())["printed"], native.out) << cores;
}
TEST_P(OpenMP, RepeatsToTheCycle) {
  for (const std::string& machine : {flat(4), nemesys}) {
    const json one = report_of(machine, GetParam());
    const json two = report_of(machine, GetParam());
    for (const char* figure : {"modelled_ps", "trace", "accesses", "cores", "parts"})
      EXPECT_EQ(one[figure], two[figure]) << machine << ' ' << figure;
  }
}
INSTANTIATE_TEST_SUITE_P(programs, OpenMP,
                         testing::Values("loops", "exclusion", "barriers", "tasks", "wavefront", "nested",
                                         "half_serialized", "threads"),
                         [](const auto& which) { return which.param; });

// The processors, the threads of a team, and the places of libgomp are the cores of the first tile.
TEST(OpenMPMachine, IsTheModelledOne) {
  EXPECT_EQ(report_of(flat(4), "machine")["printed"], "4 4 4 0\n");
  EXPECT_EQ(report_of(nemesys, "machine")["printed"], "5 5 5 0\n");
  EXPECT_EQ(report_of("flat:tiles=2,cores=3", "machine")["printed"], "3 3 3 0\n");
  ::setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_EQ(report_of(flat(4), "machine")["printed"], "4 3 3 0\n");
  ::unsetenv("OMP_NUM_THREADS");
}

// Each run of a sweep has its own machine's cores.
TEST(OpenMPMachine, IsThatOfEachRunOfASweep) {
  const command_result swept =
      run_command({bin + "/situ", "model", "run", "--machine", "flat:tiles=1", "--sweep", "cores=2,3", "--json",
                   "/dev/stdout", bin + "/tests/model_openmp", "machine"});
  EXPECT_EQ(swept.exit_code, 0) << swept.err;
  for (const char* active : {"\"core\": 1", "\"core\": 2"}) EXPECT_THAT(swept.out, testing::HasSubstr(active));
}

// Returns the cores that ran a part of the loops. A report has the cores that have run.
std::set<int> working_cores(const json& report) {
  std::set<int> found;
  for (const json& core : report["cores"])
    if (core["reads"].get<int>() > 500) found.insert(core["core"].get<int>());
  return found;
}

// Threads that are bound to places run on all cores of these; libgomp takes places by name from the kernel's files about
// processors, which are the machine's.
TEST(OpenMPMachine, HasItsPlaces) {
  const auto with = [](const char* places, const char* count, const std::set<int>& cores) {
    ::setenv("OMP_PLACES", places, 1);
    EXPECT_EQ(report_of(flat(7), "machine")["printed"], std::string{"7 7 7 "} + count + "\n") << places;
    EXPECT_EQ(working_cores(report_of(flat(7), "loops")), cores) << places;
    ::unsetenv("OMP_PLACES");
  };
  const std::set<int> all{0, 1, 2, 3, 4, 5, 6};
  with("threads", "7", all);
  with("cores", "7", all);
  with("{0}:7", "7", all);
  with("sockets", "1", all);
  with("{3:2},{5:2}", "2", {3, 4, 5, 6});
}

// 200,000 divisions: of the time beyond that of a program that does nothing, a team of n takes nearly an nth.
TEST(OpenMPTime, FallsWithMoreCores) {
  const auto work = [](int cores) {
    return static_cast<double>(time_of(flat(cores), "speedup") - time_of(flat(cores), "machine"));
  };
  const double one = work(1);
  for (const int cores : {2, 4, 8}) {
    const double speedup = one / work(cores);
    EXPECT_GT(speedup, 0.93 * cores);
    EXPECT_LE(speedup, cores);
  }
}

// However many threads do other work between 1,600 critical sections of 20 additions, these take the time that they take
// one thread that does nothing else, but for its few instructions between two sections, which others now do meanwhile:
// 8 of 1 ns.
TEST(OpenMPTime, CriticalSectionsFollowOneAnother) {
  const std::uint64_t one = time_of(flat(1), "serialized");
  for (const int cores : {2, 4, 8}) EXPECT_GE(time_of(flat(cores), "half_serialized"), one - 1600 * 8'000) << cores;
}

// The third iteration of a loop waits for the second, ...: no more cores make it faster.
TEST(OpenMPTime, WhatDependsFollows) { EXPECT_GE(time_of(flat(4), "wavefront"), time_of(flat(1), "wavefront")); }

}  // namespace
