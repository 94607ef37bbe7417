// Timers of programs on modelled time, runs that are ended from outside, and imported functions in the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include "model/modelled_run.h"

namespace {

using nlohmann::json;
using package_rank::test::command_result;
using package_rank::test::run_command;
using package_rank::test::scratch_folder;
using situ::test::modelled_run;
using situ::test::run_on;
using testing::HasSubstr;
using testing::Not;

const std::string nemesys = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4.toml";

// Runs it twice, on both machines: all runs of a machine are the same. Returns the numbers that the first one prints.
std::vector<long> timers(const std::string& what, int exit_code = 0) {
  std::vector<long> numbers;
  for (const std::string& machine : {nemesys, std::string{"flat"}}) {
    const modelled_run first = run_on(machine, {"--quiet"}, "model_timers", {what});
    const modelled_run second = run_on(machine, {"--quiet"}, "model_timers", {what});
    EXPECT_EQ(first.result.exit_code, exit_code) << what << first.result.err;
    for (const char* const figure : {"cycles", "trace", "accesses"})
      EXPECT_EQ(first.report[figure], second.report[figure]) << what << " on " << machine << ": " << figure;
    EXPECT_EQ(first.result.out, second.result.out);
    std::istringstream printed{first.result.out};
    numbers.clear();
    for (long each = 0; printed >> each;) numbers.push_back(each);
  }
  return numbers;
}

// In us; the last run is on flat, at 1 GHz. A signal comes when its time has passed, at most a quantum of a us and the
// way to the handler later.
TEST(ModelledTimers, ExpireOnModelledTime) {
  const auto is_near = [](long us) { return testing::AllOf(testing::Ge(us), testing::Le(us + 5)); };
  using testing::ElementsAre;
  EXPECT_THAT(timers("spin"), ElementsAre(1, is_near(2000)));
  EXPECT_THAT(timers("repeat"), ElementsAre(is_near(1000), is_near(1500), is_near(2000), is_near(2500), 1));
  EXPECT_THAT(timers("sleep"), ElementsAre(1, 1, is_near(1'000'000)));
  EXPECT_THAT(timers("pause"), ElementsAre(is_near(2'000'000), 10));
  EXPECT_THAT(timers("block"), ElementsAre(0, 1, 9, 77));
  EXPECT_THAT(timers("wait"), ElementsAre(1, testing::AllOf(testing::Ge(3000), testing::Le(3050))));
  EXPECT_THAT(timers("choose"), ElementsAre(1, testing::AllOf(testing::Ge(3000), testing::Le(3050))));
  EXPECT_THAT(timers("jump"), ElementsAre(3, 1));
}

TEST(ModelledTimers, ASignalWithoutAHandlerEndsTheRunWithItsReport) {
  EXPECT_TRUE(timers("die", 128 + SIGALRM).empty());
  const modelled_run run = run_on("flat", {"--quiet"}, "model_timers", {"die"});
  EXPECT_THAT(run.result.err, HasSubstr("ended by its own signal (Alarm clock) at 100"));
  EXPECT_EQ(run.report["exit_code"], 128 + SIGALRM);
}

// Runs a shell's script, in which $RUN runs a program for long, with its report in $JSON.
struct scripted {
  command_result result;
  json report;
};
scripted run_script(const std::string& script) {
  const scratch_folder folder;
  const std::string bin = SITU_TEST_BIN_DIR;
  const std::string file = folder.path() + "/r.json";
  scripted made;
  made.result = run_command({"/bin/sh", "-c",
                             "RUN='" + bin + "/situ model run --quiet --machine flat --json " + file + " " + bin +
                                 "/tests/model_walk 100 100000000'\n" + script});
  std::ifstream stream{file};
  made.report = json::parse(stream, nullptr, false);
  return made;
}

// A shell without job control starts a command in the background with SIGINT ignored: so it is not for the run, as it
// would not be for the program. SIGTERM ends it, with its report.
TEST(ModelledEnds, InTheBackgroundOnlySigintIsIgnored) {
  const scripted made = run_script(
      "$RUN & pid=$!; sleep 0.5; kill -INT $pid; sleep 0.5; kill -0 $pid && echo goes on; kill -TERM $pid; wait $pid; "
      "echo code $?");
  EXPECT_THAT(made.result.out, HasSubstr("goes on\ncode 143\n"));
  EXPECT_THAT(made.result.err, HasSubstr("ended from outside (Terminated)"));
  ASSERT_FALSE(made.report.is_discarded());
  EXPECT_EQ(made.report["is_complete"], false);
  EXPECT_GT(made.report["accesses"], 1000);
}

// The kernel's limit on processor time, and a lost terminal.
TEST(ModelledEnds, OutOfBudgetAndAHangUpLeaveAReport) {
  const scripted budget = run_script("ulimit -S -t 1; exec $RUN");
  EXPECT_EQ(budget.result.exit_code, 128 + SIGXCPU);
  EXPECT_THAT(budget.result.err, HasSubstr("ended from outside (CPU time limit exceeded)"));
  ASSERT_FALSE(budget.report.is_discarded());
  EXPECT_EQ(budget.report["is_complete"], false);
  const scripted hung_up = run_script("$RUN & pid=$!; sleep 0.5; kill -HUP $pid; wait $pid; echo code $?");
  EXPECT_EQ(hung_up.result.out, "code 129\n");
  ASSERT_FALSE(hung_up.report.is_discarded());
  EXPECT_EQ(hung_up.report["exit_code"], 129);
}

json function(const json& report, const std::string& name) {
  for (const json& each : report["imported"]["functions"])
    if (each["function"] == name) return each;
  return {};
}

TEST(ModelledImports, AreNamedWithTheirCalls) {
  const modelled_run run = run_on("flat", {}, "model_imports", {"40"});
  EXPECT_EQ(run.result.out, "done\n");
  EXPECT_EQ(function(run.report, "strchr")["calls"], 40);
  EXPECT_EQ(function(run.report, "puts")["calls"], 1);
  EXPECT_EQ(run.report["imported"]["functions"][0]["function"], "strchr");  // most calls first
  EXPECT_TRUE(function(run.report, "memcpy").is_null());                    // which is modelled
  EXPECT_THAT(run.result.err, HasSubstr("imported function, without hooks: takes no modelled time"));
  EXPECT_THAT(run.result.err, testing::ContainsRegex(" 40 +[0-9?]+  strchr\n"));
  EXPECT_THAT(run_on("flat", {"--quiet"}, "model_imports", {"40"}).result.err, Not(HasSubstr("strchr")));
}

// Much of a run's time; far below what the warning of code without hooks needs, a fifth of a second.
TEST(ModelledImports, HaveTheirShareOfTheHostsTime) {
  const modelled_run run = run_on("flat", {"--quiet"}, "model_imports", {"4000"});
  EXPECT_EQ(function(run.report, "strchr")["calls"], 4000);
  EXPECT_GT(run.report["imported"]["samples"], 3);
  EXPECT_GT(function(run.report, "strchr")["percent"], 25);
}

// Counting changes nothing of the run.
TEST(ModelledImports, RunsAreAlike) {
  const json first = run_on("flat", {"--quiet"}, "model_imports", {"40"}).report;
  const json second = run_on("flat", {"--quiet"}, "model_imports", {"40"}).report;
  for (const char* const figure : {"cycles", "trace", "accesses"}) EXPECT_EQ(first[figure], second[figure]) << figure;
}

}  // namespace
