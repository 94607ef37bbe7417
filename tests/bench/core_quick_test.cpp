// `situ bench core --quick` end to end, and how it fails. Only what must hold whatever the machine's load: which rows
// there are, that they are whole, and what is left behind. Speed is no test.
#include "subject_run.h"

#include "bench/quick_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/build_paths.h"

namespace situ::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string bin = SITU_TEST_BIN_DIR;

bool two_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_ISSET(0, &allowed) && CPU_ISSET(1, &allowed);
}

#define NEEDS_TWO_PROCESSORS() \
  if (!two_processors()) GTEST_SKIP() << "processors 0 and 1 are needed"

class core_quick : public quick_bench {
 protected:
  core_quick() : quick_bench{"core"} {}
};

TEST_F(core_quick, delivers_every_row_and_leaves_nothing) {
  NEEDS_TWO_PROCESSORS();
  const fs::path file = directory_ / "rows.json";
  const result r = run("--quick --seconds 2 --subjects raw,situ --json " + file.string());
  ASSERT_EQ(r.status, 0) << r.output;
  const auto seen = check_rows(file, 1);
  for (const char* subject : {"raw", "situ"})
    for (const char* name :
         {"put_8", "get_8", "put_1m", "get_1m", "fetch_add", "am_short_rt", "am_short_oneway", "at_empty_rt",
          "at_1000_doubles", "barrier_2", "barrier_8", "barrier_64", "at_beside_load"})
      EXPECT_TRUE(seen.contains({name, subject})) << name << ' ' << subject << '\n' << r.output;
  EXPECT_TRUE(seen.contains({"idle_64", "situ"}));
  EXPECT_TRUE(seen.contains({"context_switch", "raw"}));
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

TEST_F(core_quick, refuses_what_does_not_exist) {
  const result unknown_case = run("--cases put_9");
  EXPECT_NE(unknown_case.status, 0);
  EXPECT_THAT(unknown_case.output, HasSubstr("no case 'put_9'"));
  const result unknown_subject = run("--subjects gasnet");
  EXPECT_NE(unknown_subject.status, 0);
  EXPECT_THAT(unknown_subject.output, HasSubstr("no subject 'gasnet'"));
}

TEST_F(core_quick, skips_an_absent_rival_with_a_word) {
  NEEDS_TWO_PROCESSORS();
  const fs::path without_mpicc = directory_ / "nothing";
  const result r = run("--quick --seconds 0.2 --cases put_8 --subjects raw,openmpi", "PATH=" + without_mpicc.string());
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("openmpi is skipped: no mpicc"));
  EXPECT_THAT(r.output, HasSubstr("put_8            raw"));
}

TEST_F(core_quick, writes_a_page_with_a_rival_that_was_built_elsewhere) {
  NEEDS_TWO_PROCESSORS();
  const fs::path rival = directory_ / "gasnet";
  std::ofstream{rival} << "#!/bin/sh\ntest \"$1\" = 2 || exit 1\n"
                          R"(echo '{"case":"put_1m","subject":"gasnetex","ns":1e9,"calibration_ns":100,"raw_ns":1}')"
                          "\necho '{\"case\":\"put_1m\",\"subject\":\"gasnetex\",\"ns\":1e9,"
                          "\"calibration_ns\":500,\"raw_ns\":1}'\n"
                          R"(echo '{"end":"gasnetex"}')";
  fs::permissions(rival, fs::perms::owner_all);
  std::ofstream{rival.string() + ".txt"} << "GASNet-EX, smp conduit";
  const fs::path out = directory_ / "results";
  const result r =
      run("--quick --seconds 0.2 --cases put_1m,barrier_8 --subjects raw,situ --no-plots --rival gasnetex=" +
          rival.string() + " --out " + out.string());
  ASSERT_EQ(r.status, 0) << r.output;
  std::string page;
  for (const auto& each : fs::directory_iterator{out})
    if (each.path().extension() == ".md") std::getline(std::ifstream{each.path()}, page, '\0');
  EXPECT_THAT(page, HasSubstr("A **quick** run"));
  EXPECT_THAT(page, HasSubstr("gasnetex, 1000 ms"));
  EXPECT_THAT(page, HasSubstr("| core: gasnetex | `unknown` | GASNet-EX, smp conduit |"));
  EXPECT_THAT(page, HasSubstr("this build, situ_bench_situ"));
  EXPECT_THAT(page, HasSubstr("-falign-loops=64"));
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
  EXPECT_THAT(run("--rival gasnetex=/nonexistent").output,
              HasSubstr("it is NAME=PROGRAM, and the program must be there"));
}

// ---- what a run makes of a subject ----

subject_outcome run_shell(const std::string& script, std::chrono::seconds timeout = std::chrono::seconds{20}) {
  return run_subject({{"/bin/sh", "-c", script}, {}, {"put_8"}, 1, timeout});
}

const std::string one_sample = R"(echo '{"case":"put_8","subject":"x","ns":2,"calibration_ns":100,"raw_ns":1}'; )";

TEST(run_subject, takes_the_samples_of_a_subject_that_crashes_after_the_last) {
  const subject_outcome outcome = run_shell(one_sample + R"(echo '{"end":"x"}'; kill -SEGV $$)");
  EXPECT_EQ(outcome.end, subject_end::complete);
  ASSERT_EQ(outcome.samples.size(), 1u);
  EXPECT_EQ(outcome.samples[0].ns, 2);
}

TEST(run_subject, knows_a_subject_that_ends_early) {
  const subject_outcome outcome = run_shell(one_sample + "echo out of luck >&2; exit 3");
  EXPECT_EQ(outcome.end, subject_end::failed);
  EXPECT_EQ(outcome.samples.size(), 1u);
  EXPECT_EQ(outcome.error_output, "out of luck\n");
}

TEST(run_subject, says_that_a_program_cannot_be_run) {
  const subject_outcome outcome = run_subject({{"/nowhere/at/all"}, {}, {}, 1, std::chrono::seconds{20}});
  EXPECT_EQ(outcome.end, subject_end::failed);
  EXPECT_THAT(outcome.error_output, HasSubstr("cannot run /nowhere/at/all"));
}

// Whether a process of this pid is there; one that nobody has reaped counts.
bool is_there(pid_t pid) { return kill(pid, 0) == 0; }

// Runs a script that writes the pid of something long-lived to the file $NOTE; returns that pid.
pid_t run_and_leave(const std::string& script, std::chrono::seconds timeout, subject_end expected) {
  const fs::path note = fs::temp_directory_path() / ("situ-bench-test-pid-" + std::to_string(getpid()));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(run_subject({{"/bin/sh", "-c", script}, {{"NOTE", note.string()}}, {}, 1, timeout}).end, expected);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds{15});
  pid_t left = 0;
  std::ifstream{note} >> left;
  fs::remove(note);
  EXPECT_GT(left, 0);
  return left;
}

TEST(run_subject, ends_a_subject_that_takes_too_long_and_what_it_started) {
  EXPECT_FALSE(
      is_there(run_and_leave("sleep 300 & echo $! > $NOTE; wait", std::chrono::seconds{1}, subject_end::timed_out)));
}

TEST(run_subject, ends_what_a_subject_leaves_in_another_process_group) {
  const std::string script =
      R"(setsid sh -c 'echo $$ > $NOTE; exec sleep 300 >/dev/null 2>&1' & while ! test -s $NOTE; do sleep 0.01; done; )" +
      one_sample + R"(echo '{"end":"x"}')";
  EXPECT_FALSE(is_there(run_and_leave(script, std::chrono::seconds{20}, subject_end::complete)));
}

TEST(run_subject, hands_on_what_a_subject_needs) {
  const subject_outcome outcome = run_subject(
      {{"/bin/sh", "-c", R"(test -r "$SITU_BENCH_PAGE" && echo "$SITU_BENCH_CASES $SITU_BENCH_SECONDS $EXTRA" >&2)"},
       {{"EXTRA", "given"}},
       {"put_8", "get_8"},
       2.5,
       std::chrono::seconds{20}});
  EXPECT_EQ(outcome.error_output, ",put_8,get_8, 2.500000 given\n");
}

}  // namespace
}  // namespace situ::bench
