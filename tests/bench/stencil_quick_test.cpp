// `situ bench stencil --quick` end to end, and how it fails. Only what must hold whatever the machine's load.
#include "stencil_bench.h"

#include "bench/quick_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/build_paths.h"
#include "support/programs.h"

namespace situ::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class stencil_quick : public quick_bench {
 protected:
  stencil_quick() : quick_bench{"stencil", "--quick --no-install"} {}
  // An empty cache, so whatever this machine has.
  [[nodiscard]] std::string no_devito() const { return "XDG_CACHE_HOME=" + (directory_ / "cache").string(); }
};

TEST_F(stencil_quick, delivers_every_row_and_leaves_nothing) {
  const fs::path file = directory_ / "rows.json";
  const result r = run("--seconds 0.2 --large --json " + file.string(), no_devito());
  ASSERT_EQ(r.status, 0) << r.output;
  const auto seen = check_rows(file, 1);
  std::size_t expected = 0;
  for (const comparison_case& info : all_stencil_cases()) {
    if (info.is_programs || info.is_devito) continue;
    EXPECT_THAT(r.output, HasSubstr("\n" + std::string{info.name} + ": "));
    for (const comparison_subject& subject : info.subjects) {
      ++expected;
      EXPECT_TRUE(seen.contains({std::string{info.name}, std::string{subject.name}}))
          << info.name << ' ' << subject.name << '\n'
          << r.output;
    }
  }
  EXPECT_EQ(seen.size(), expected);
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

TEST_F(stencil_quick, compares_programs_built_elsewhere) {
  const auto add = [&](const std::string& subject, const std::string& text) {
    const fs::path file = directory_ / "programs/cloverleaf_3840" / subject;
    fs::create_directories(file.parent_path());
    std::ofstream{file} << "#!/bin/sh\n" << text << '\n';
    fs::permissions(file, fs::perms::owner_all);
  };
  const std::string arguments = "--seconds 0.1 --cases cloverleaf --programs " + (directory_ / "programs").string() +
                                " --json " + (directory_ / "rows.json").string();
  EXPECT_THAT(run(arguments).output, HasSubstr("Directory does not exist"));
  fs::create_directory(directory_ / "programs");
  EXPECT_THAT(run(arguments).output, HasSubstr("holds no folder of a case"));
  add("ops", "echo ' Wall clock 1.5'; echo 'Total Wall time 2.0 s'; echo done 7");
  add("plain", "test -x ops && echo 'Total Wall time 1.7'");
  const result r = run(arguments);
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("0.85 x ops"));
  EXPECT_THAT(r.output, HasSubstr("aim <= 1 x: met"));
  EXPECT_EQ(check_rows(directory_ / "rows.json", 1).size(), 2u);
  // Of several the fastest counts; what the user says of them is on the record, and rivals are bound.
  add("ops@4", "echo 'Total Wall time 1.9 s'");
  add("ops@8", "test \"$OMP_PROC_BIND\" = true && echo 'Total Wall time 1.75 s'");
  std::ofstream{directory_ / "programs/cloverleaf_3840/ops.txt"} << "OPS 1, by hand\n";
  EXPECT_THAT(run(arguments).output, HasSubstr("0.971 x ops"));
  std::ifstream rows{directory_ / "rows.json"};
  const std::string recorded{std::istreambuf_iterator<char>{rows}, {}};
  EXPECT_THAT(recorded, HasSubstr(R"("flags":"unknown","built":"OPS 1, by hand")"));
  EXPECT_THAT(recorded, HasSubstr(R"("flags":"unknown","built":"unknown: no plain.txt beside it")"));
  add("plain", "echo 'no such deck'; exit 3");
  EXPECT_THAT(run(arguments).output,
              ::testing::AllOf(HasSubstr("cloverleaf_3840/plain: ended with status 3"), HasSubstr("no such deck")));
  add("plain", "kill -INT $(sed -n 's/PPid:\\t//p' /proc/$PPID/status); sleep 60; echo 'Total Wall time 1.7'");
  const result interrupted = run("--cases triad_1 " + arguments);
  EXPECT_EQ(interrupted.status, 130) << interrupted.output;
  EXPECT_THAT(
      interrupted.output,
      ::testing::AllOf(HasSubstr("interrupted: the table holds what was measured until then"), HasSubstr("triad_1: ")));
  add("plain", "echo 5");
  EXPECT_THAT(run(arguments).output, HasSubstr("prints no line with the word 'wall'"));
}

// Scripts that tell what CloverLeaf tells: steps as they go, and the report of its loops.
TEST_F(stencil_quick, compares_late_steps_in_given_tiles_and_loops_with_their_bytes) {
  const fs::path folder = directory_ / "programs/cloverleaf_3840";
  fs::create_directories(folder);
  const auto add = [&](const std::string& subject, const std::string& text) {
    std::ofstream{folder / subject} << "#!/bin/sh\n" << text << '\n';
    fs::permissions(folder / subject, fs::perms::owner_all);
  };
  add("plain", R"(test -n "$SITU_STENCIL_REPORT" && echo 'kernel_a 10 0.5 8.000 16.0 2 1 1' && echo 'no row 1 2 3'
echo 'Total Wall time 1000')");
  // A tile that is given is faster than the one that it chooses.
  add("tiled", R"(test "$1" = OPS_TILING || exit 4
echo ' Step 9 time 0'; echo ' Step 10 time 0'; sleep 0.${SITU_STENCIL_TILE:+0}2; echo ' Step 12 time 0'
echo 'Total Wall time 1')");
  std::ofstream{folder / "tiled.args"} << "OPS_TILING\n";
  const result r = run("--seconds 0.1 --cases cloverleaf --programs " + (directory_ / "programs").string());
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_THAT(r.output, ::testing::AllOf(HasSubstr("plain_bytes "), HasSubstr("tiled_by_hand "),
                                         HasSubstr("tiled_chosen "), HasSubstr("aim <= 1.1 x: MISSED")));
}

// What stands for Devito's python in these: a script of ours.
TEST_F(stencil_quick, a_devito_that_computes_something_else_is_not_compared) {
  const fs::path script = directory_ / "devito";
  const auto run_with = [&](const std::string& text) {
    std::ofstream{script} << "#!/bin/sh\n" << text << '\n';
    fs::permissions(script, fs::perms::owner_all);
    const std::string command =
        "SITU_BENCH_QUICK=1 SITU_BENCH_SECONDS=0.1 SITU_BENCH_CASES=,devito_heat, SITU_BENCH_DEVITO=" +
        script.string() + " SITU_BENCH_DEVITO_SCRIPT=none " + SITU_TEST_BIN_DIR + "/situ_bench_stencil";
    const test::shell_result ended = test::run_shell(command);
    EXPECT_NE(ended.exit_code, 0);
    return ended.text;
  };
  EXPECT_THAT(run_with("echo flags -O3; echo line 1 2 3; cat"), HasSubstr("devito_heat: the subjects' results differ"));
  EXPECT_THAT(run_with("exit 1"), HasSubstr("devito: it says '' where 'flags ...' is expected"));
}

TEST_F(stencil_quick, goes_without_a_devito_that_is_not_there) {
  const result r = run("--seconds 0.1 --cases devito_heat,copy", no_devito());
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_THAT(r.output, ::testing::AllOf(HasSubstr("devito is skipped: it is not in"), HasSubstr("copy: "),
                                         Not(HasSubstr("devito_heat: "))));
}

TEST_F(stencil_quick, refuses_what_does_not_exist) {
  const result r = run("--cases quicksort");
  EXPECT_NE(r.status, 0);
  EXPECT_THAT(r.output, HasSubstr("no case 'quicksort'"));
}

TEST_F(stencil_quick, says_where_no_file_can_be_made) {
  const result r = run("--cases jacobi_far --seconds 0.1", "SITU_STENCIL_DIRECTORY=/nonexistent");
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_THAT(r.output, HasSubstr("/nonexistent"));
}

TEST(stencil_cases, are_found_by_name) {
  EXPECT_EQ(find_stencil_case("euler")->unit, "step");
  EXPECT_EQ(find_stencil_case("eule"), nullptr);
  for (const comparison_case& info : all_stencil_cases()) EXPECT_EQ(find_stencil_case(info.name), &info);
}

TEST(stencil_cases, aims_are_held_against_what_was_measured) {
  const std::vector<sample> samples{{"copy", "raw", 1, 1, 1, 0},
                                    {"copy", "plain", 1.1, 1, 1, 0},
                                    {"plan_cached", "tiled", 12'000, 1, 1e9, 0},
                                    {"euler", "out_of_core", 1.1e9, 1, 1e9, 2e9}};
  const std::string table = to_stencil_table(summarize(samples), {"c0ffee", "a machine", "Release", ""});
  EXPECT_THAT(table, HasSubstr("aim <= 1.05 x: MISSED"));
  EXPECT_THAT(table, HasSubstr("aim <= 50 us: met"));
  EXPECT_THAT(table, HasSubstr("aim <= 1.2 x: met"));
  EXPECT_THAT(table, HasSubstr("16 GB/s"));
  EXPECT_THAT(table, HasSubstr("2 GB, 1.82 GB/s"));
  EXPECT_THAT(table, Not(HasSubstr("seven_point")));
}

}  // namespace
}  // namespace situ::bench
