// Pages of results: from JSON to rows, from rows to verdicts, from a described page to its text and its plots.
#include "aims.h"
#include "cases.h"
#include "graph_cases.h"
#include "job_bench.h"
#include "page_sections.h"
#include "recorded_flags.h"
#include "report.h"
#include "results_page.h"
#include "results_report.h"
#include "stencil_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "support/build_paths.h"

namespace situ::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const provenance somewhere{"c0ffee", "a machine, 2 processors", "Release", "2026-05-09T12:00:00Z"};

std::string text_of(const fs::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::string golden(const char* name) { return text_of(fs::path{SITU_TEST_SOURCE_DIR} / "bench/golden" / name); }

row make_row(const char* case_name, const char* subject, double ns, double ratio, bool is_far = false) {
  figures f{{ns, 0.9 * ns, 1.2 * ns}, ratio, is_far ? 500.0 : 100.0, 0, 7};
  row r{case_name, subject, f, std::nullopt, std::nullopt, {"gcc 12.2.0 -O3", "this build"}};
  (is_far ? r.far : r.near) = f;
  return r;
}

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// A directory of this test's own.
class page_files : public ::testing::Test {
 protected:
  page_files() {
    std::string pattern = (fs::temp_directory_path() / "situ-page-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~page_files() override { fs::remove_all(directory_); }
  std::string write(const char* name, const std::string& text) const {
    std::ofstream{directory_ / name} << text;
    return (directory_ / name).string();
  }
  fs::path directory_;
};

// ---- JSON ----

TEST(from_json, gives_back_what_was_written) {
  std::vector<row> rows{make_row("put_8", "situ", 1.5, 4.5), make_row("put_8", "raw", 0.5, 1, true)};
  rows[1].all.bytes = 4096;
  const recorded_run run = from_json(to_json(rows, somewhere));
  EXPECT_EQ(run.from, somewhere);
  EXPECT_EQ(to_json(run.rows, run.from), to_json(rows, somewhere));
  ASSERT_EQ(run.rows.size(), 2u);
  EXPECT_EQ(run.rows[0].terms.flags, "gcc 12.2.0 -O3");
  EXPECT_EQ(run.rows[0].terms.built, "this build");
  EXPECT_EQ(run.rows[0].near->ns.median, 1.5);
  EXPECT_FALSE(run.rows[0].far);
}

TEST(from_json, refuses_what_is_no_result) {
  EXPECT_THAT(message_of([] { (void)from_json("[{\"case\":"); }), HasSubstr("no result of `situ bench`"));
  EXPECT_THAT(message_of([] { (void)from_json("[{\"case\":\"put_8\"}]"); }), HasSubstr("no result of `situ bench`"));
  EXPECT_THAT(message_of([] { (void)from_json("[]"); }), HasSubstr("holds no row"));
  auto two = nlohmann::json::parse(to_json(std::vector{make_row("put_8", "situ", 1, 1)}, somewhere));
  two.push_back(two[0]);
  two[1]["commit"] = "another";
  EXPECT_THAT(message_of([&] { (void)from_json(two.dump()); }), HasSubstr("of several runs"));
}

TEST(merge_runs, keeps_to_one_run) {
  const recorded_run core{somewhere, {make_row("put_8", "situ", 1, 1)}};
  recorded_run graph{somewhere, {make_row("clone_dlist_1e7", "situ", 24, 18)}};
  graph.from.date = "2026-05-09T11:00:00Z";
  const recorded_run both = merge_runs({core, graph});
  EXPECT_EQ(both.rows.size(), 2u);
  EXPECT_EQ(both.from.date, graph.from.date) << "the earliest";
  EXPECT_EQ(page_name(both), "2026-05-09-core-graph-c0ffee");
  EXPECT_THAT(message_of([&] { (void)merge_runs({core, core}); }), HasSubstr("two files hold put_8 of situ"));
  graph.from.commit = "another";
  EXPECT_THAT(message_of([&] { (void)merge_runs({core, graph}); }), HasSubstr("not of one run: commit"));
  graph.from = somewhere;
  graph.from.machine = "another machine";
  EXPECT_THAT(message_of([&] { (void)merge_runs({core, graph}); }), HasSubstr("not of one run: machine"));
}

// ---- aims ----

TEST(judge, compares_with_the_fastest_rival_in_each_regime) {
  const rival_aim aim{"put", "put_1m", "situ", aim_base::fastest, 1.03, "openmpi,oshmem"};
  std::vector<row> rows{make_row("put_1m", "situ", 102, 1), make_row("put_1m", "openmpi", 100, 1),
                        make_row("put_1m", "oshmem", 110, 1)};
  auto verdicts = judge(aim, rows);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].regime, "near");
  EXPECT_DOUBLE_EQ(verdicts[0].value, 1.02);
  EXPECT_EQ(verdicts[0].against, "openmpi, 100 ns");
  EXPECT_TRUE(verdicts[0].is_met);
  rows[2] = make_row("put_1m", "oshmem", 90, 1);
  verdicts = judge(aim, rows);
  EXPECT_EQ(verdicts[0].against, "oshmem, 90 ns");
  EXPECT_FALSE(verdicts[0].is_met);
  rows[0] = make_row("put_1m", "situ", 102, 1, true);
  EXPECT_THAT(judge(aim, rows), IsEmpty()) << "no rival was measured in the far regime";
}

TEST(judge, takes_a_quoted_figure_where_no_rival_was_measured) {
  const rival_aim aim{"at", "at_1000_doubles", "situ", aim_base::fastest, 1.1, "gasnetex", 313, "GASNet-EX", "near"};
  std::vector<row> rows{make_row("at_1000_doubles", "situ", 400, 4)};
  EXPECT_EQ(judge(aim, rows).at(0).against, "quoted: GASNet-EX, 313 ns");
  EXPECT_FALSE(judge(aim, rows).at(0).is_met);
  rows.push_back(make_row("at_1000_doubles", "gasnetex", 390, 4));
  EXPECT_EQ(judge(aim, rows).at(0).against, "gasnetex, 390 ns");
  EXPECT_TRUE(judge(aim, rows).at(0).is_met);
}

TEST(judge, knows_ratios_and_times) {
  const std::vector<row> rows{make_row("euler", "out_of_core", 500e6, 1.25), make_row("clone_dlist_1e7", "situ", 5, 4)};
  const auto euler = judge({"euler", "euler", "out_of_core", aim_base::counterpart, 1.2}, rows).at(0);
  EXPECT_EQ(euler.value, 1.25);
  EXPECT_EQ(euler.against, "the larger of file and computing, 400 ms");
  EXPECT_FALSE(euler.is_met);
  EXPECT_TRUE(judge({"clone", "clone_dlist_1e7", "situ", aim_base::nanoseconds, 6}, rows).at(0).is_met);
  EXPECT_THAT(judge({"heat", "devito_heat", "tiled", aim_base::counterpart, 0.6}, rows), IsEmpty()) << "not measured";
}

TEST(stencil_cases, have_subjects_that_only_the_run_knows) {
  const std::vector<row> rows{make_row("cloverleaf_kernels", "viscosity_kernel", 9, 1.25),
                              make_row("cloverleaf_kernels", "worst", 12, 3.5), make_row("processor", "divide", 1, 8)};
  EXPECT_THAT(to_stencil_table(rows, somewhere),
              AllOf(HasSubstr("viscosity_kernel"), HasSubstr("1.25 x the larger limit"), HasSubstr("divide")));
  for (const rival_aim& aim : all_rival_aims()) {
    if (aim.case_name != "cloverleaf_kernels" || aim.subject != "worst") continue;
    EXPECT_FALSE(judge(aim, rows).at(0).is_met);
    EXPECT_THAT(judge(aim, rows).at(0).against, HasSubstr("the larger limit"));
  }
  EXPECT_THAT(subjects_of(*find_stencil_case("copy"), rows), ::testing::SizeIs(2)) << "what is listed";
}

TEST(limits, are_known_for_every_case_that_has_an_aim) {
  for (const rival_aim& aim : all_rival_aims())
    EXPECT_FALSE(limit_of(aim.case_name, aim.subject).empty()) << aim.case_name;
  for (const case_info& info : all_cases())
    if (info.aim) {
      EXPECT_FALSE(limit_of(info.name, "situ").empty()) << info.name;
    }
  for (const graph_case& info : all_graph_cases())
    if (info.aim) {
      EXPECT_FALSE(limit_of(info.name, "situ").empty()) << info.name;
    }
  for (const comparison_case& info : all_stencil_cases())
    for (const comparison_subject& subject : info.subjects)
      if (subject.aim) {
        EXPECT_FALSE(limit_of(info.name, subject.name).empty()) << info.name << ' ' << subject.name;
      }
}

// ---- flags ----

TEST(recorded_flags, are_read_from_a_program) {
  // This test is compiled with -frecord-gcc-switches and -falign-loops=32, which nothing else of this project is.
  EXPECT_THAT(recorded_flags("/proc/self/exe"), Contains(HasSubstr("-falign-loops=32")));
  EXPECT_THAT(recorded_flags("/proc/self/exe"), Not(Contains(HasSubstr("-frecord"))));
  EXPECT_THAT(recorded_flags(fs::path{SITU_TEST_SOURCE_DIR} / "bench/page_test.cpp"), IsEmpty()) << "no program";
  EXPECT_THAT(recorded_flags("/nonexistent"), IsEmpty());
}

TEST_F(page_files, flags_of_a_truncated_program_are_unknown) {
  const std::string whole = text_of("/proc/self/exe");
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{5}, std::size_t{63}, std::size_t{64}, whole.size() / 2})
    EXPECT_EQ(flags_text(write("program", whole.substr(0, bytes))), "unknown") << bytes;
  std::string wrong = whole.substr(0, 4096);
  wrong.replace(0x28, 8, "\xff\xff\xff\xff\xff\xff\xff\xff");  // where the sections are said to be
  EXPECT_EQ(flags_text(write("program", wrong)), "unknown");
}

TEST(shortened_flags, keep_what_decides_the_speed) {
  EXPECT_EQ(
      shortened_flags("GNU C++20 12.2.0 -mavx2 -mavx512f -march=znver3 --param=l1-cache-size=32 -mtune=generic -O3 "
                      "-std=c++20 -fno-math-errno -fasynchronous-unwind-tables"),
      "gcc 12.2.0 -mavx512f -march=znver3 -mtune=generic -O3 -fno-math-errno");
  EXPECT_EQ(shortened_flags("GNU C17 12.2.0"), "");
}

TEST(missing_flags, are_those_that_no_part_has_or_implies) {
  const std::vector<std::string> ours{"-O3", "-fno-math-errno", "-mtune=generic"};
  EXPECT_THAT(missing_flags({"gcc 12 -O3 -fno-math-errno -mtune=generic"}, ours), IsEmpty());
  EXPECT_THAT(missing_flags({"gcc 12 -Ofast -mtune=generic"}, ours), IsEmpty());
  EXPECT_THAT(missing_flags({"gcc 12 -O3 -mtune=znver3"}, ours), ElementsAre("-fno-math-errno", "-mtune=generic"));
}

TEST_F(page_files, terms_of_a_program_come_with_its_words) {
  const std::string program = write("ops", "#!/bin/sh\n");
  EXPECT_EQ(terms_of_program(program).flags, "unknown");
  EXPECT_EQ(terms_of_program(program).built, "unknown: no ops.txt beside it");
  write("ops.txt", "OPS 1.0,\n generated OpenMP\n");
  EXPECT_EQ(terms_of_program(program).built, "OPS 1.0, generated OpenMP");
}

// ---- pages ----

results_page small_page() {
  results_page page{"Results of a day", somewhere, {}, {}, {"day/core.json", "day/graph.json"}};
  page_section core{"Core",
                    "How to read it.",
                    {},
                    {{"case", "situ"}, {{"`put_8`", "1.5 ns [1.4, 1.8]"}, {"`get_8`", ""}}},
                    {"`put_8`, near: a call."}};
  core.plots.push_back({"core.svg",
                        "Ratios",
                        "ratio to raw",
                        "",
                        {{"put_8", {{"situ", 4.5, 5.0}, {"openmpi", 60}}}, {"get_8", {{"situ", 4.0}}}},
                        {}});
  page_section graph{"Graphs", "", {}, {}, {}};
  graph.plots.push_back({"clone.svg", "Copies", "size", "ns", {}, {{"situ", {{100, 3, 2, 4}, {1000, 2, 1.5, 2.5}}}}});
  page.sections = {core, graph};
  page.terms = {{"subject", "flags", "how it was built"}, {{"core: situ", "`-O3`", "this build"}}};
  return page;
}

TEST(results_page, is_the_golden_one) {
  // Where a change of the form is meant, the new text goes into the file.
  EXPECT_EQ(to_markdown(small_page(), "day"), golden("page.golden"));
  EXPECT_EQ(to_plot_json(small_page()), golden("plots.golden"));
  EXPECT_THAT(to_markdown(small_page(), ""), Not(HasSubstr("svg")));
  EXPECT_THAT(to_markdown(small_page(), ""), Not(HasSubstr("quick")));
  results_page quick = small_page();
  quick.from.build += quick_mark;
  EXPECT_THAT(to_markdown(quick, ""), HasSubstr("A **quick** run"));
}

TEST(describe_run, says_what_is_met_and_what_limits_a_miss) {
  const std::vector<row> rows{make_row("put_8", "raw", 0.3, 1),
                              make_row("put_8", "situ", 2.0, 6),
                              make_row("put_1m", "situ", 45e3, 1.2),
                              make_row("put_1m", "openmpi", 38e3, 1),
                              make_row("clone_dlist_1e4", "situ", 2.5, 1.9),
                              make_row("clone_dlist_1e6", "situ", 2.8, 2.2),
                              make_row("euler", "file", 400e6, 1),
                              make_row("euler", "out_of_core", 500e6, 1.25)};
  const results_page page = describe_run({somewhere, rows}, {"x/core.json"});
  const std::string text = to_markdown(page, "x");
  EXPECT_THAT(text, AllOf(HasSubstr("| `put_8` | near | 0.3 ns [0.27, 0.36], 1 x | 2 ns [1.8, 2.4], 6 x |"),
                          HasSubstr("<= 2.5 ns: met"), HasSubstr("openmpi, 38 us | 1.18 x | <= 1.03 x | **missed** |"),
                          HasSubstr("mb_shsgc, against OPS | | | | <= 1 x | not measured (needs"),
                          HasSubstr("the larger of file and computing | 7 | <= 1.2 x: **missed** |"),
                          HasSubstr("## Equal terms")));
  EXPECT_THAT(text, HasSubstr("`euler`, out_of_core: the memory's bandwidth, which transfers and kernels share."));
  EXPECT_THAT(text, HasSubstr("![clone: doubly linked list, in order](x/clone_dlist.svg)"));
  EXPECT_THAT(text, HasSubstr("| `dlist` | 1e4 | 2.5 ns [2.25, 3], 1.9 x, aim <= 6 ns: met |"));
  EXPECT_THAT(text, HasSubstr("| core: situ | `gcc 12.2.0 -O3` | this build |"));
  const auto plots = nlohmann::json::parse(to_plot_json(page));
  std::set<std::string> files;
  for (const auto& each : plots) files.insert(each["file"]);
  EXPECT_THAT(files, ElementsAre("aims.svg", "clone_dlist.svg", "core.svg", "stencil.svg"));
  EXPECT_EQ(to_markdown(describe_run({somewhere, rows}, {"x/core.json"}), "x"), text);
}

TEST(describe_run, finds_the_bench_of_each_case) {
  for (const job_bench* const of : job_benches())
    for (const comparison_case& each : of->cases) EXPECT_EQ(bench_of(each.name), of->name) << each.name;
}

TEST(describe_run, has_a_row_for_a_rival_that_is_absent) {
  const std::vector<row> rows{make_row("hash_insert", "lmdb", 700, 1), make_row("hash_insert", "situ", 250, 0.36)};
  const std::string text = to_markdown(describe_run({somewhere, rows}, {}), "");
  EXPECT_THAT(text,
              HasSubstr("| `hash_insert` | 1e6 keys of 8 B with values of 8 B to a map, 1000 a transaction | pmemobj | "
                        "absent: apt install libpmemobj-dev, and build Situ again |"));
  EXPECT_THAT(text,
              HasSubstr("| | | situ | 250 ns [225, 300] | | 0.36 x | the best of the others | 7 | <= 0.5 x: met |"));
  EXPECT_THAT(text, Not(HasSubstr("`hash_mixed`"))) << "which was not asked for";
  const std::string table = to_comparison_table(pool_bench().cases, rows, somewhere, "");
  EXPECT_THAT(table, AllOf(HasSubstr("absent: apt install libpmemobj-dev"), Not(HasSubstr("hash_mixed"))));
}

TEST(describe_run, tells_how_loaded_the_machine_was_where_that_is_known) {
  const std::vector<row> rows{make_row("put_8", "situ", 2, 6)};
  EXPECT_THAT(to_markdown(describe_run({somewhere, rows}, {}), ""), Not(HasSubstr("load")));
  provenance busy = somewhere;
  busy.load = 2.5;
  const recorded_run again = from_json(to_json(rows, busy));
  EXPECT_EQ(again.from, busy);
  EXPECT_THAT(to_markdown(describe_run(again, {}), ""), HasSubstr("Z; load average 2.50 in the minute before.\n"));
}

TEST_F(page_files, a_report_is_a_page_with_its_files) {
  const std::string file = write("core.json", to_json(std::vector{make_row("put_8", "situ", 2, 6)}, somewhere));
  const std::string out = (directory_ / "results").string();
  ASSERT_EQ(run_report({.files = {file}, .out = out, .name = "", .with_plots = false}), 0);
  const fs::path page = fs::path{out} / "2026-05-09-core-c0ffee.md";
  EXPECT_THAT(text_of(page), HasSubstr("[2026-05-09-core-c0ffee/core.json](2026-05-09-core-c0ffee/core.json)"));
  EXPECT_EQ(text_of(fs::path{out} / "2026-05-09-core-c0ffee/core.json"), text_of(file));
  // Again, from the copy that lies beside the page.
  const std::string copy = (fs::path{out} / "2026-05-09-core-c0ffee/core.json").string(), before = text_of(page);
  ASSERT_EQ(run_report({.files = {copy}, .out = out, .name = "", .with_plots = false}), 0);
  EXPECT_EQ(text_of(page), before);
  EXPECT_THAT(message_of([&] { run_report({.files = {"/nonexistent"}, .out = out, .name = "", .with_plots = false}); }),
              HasSubstr("cannot read /nonexistent"));
  const std::string other = write("other.json", to_json(std::vector{make_row("quicksort", "situ", 2, 6)}, somewhere));
  EXPECT_THAT(message_of([&] { run_report({.files = {other}, .out = out, .name = "", .with_plots = false}); }),
              HasSubstr("no bench has any of the cases"));
}

TEST_F(page_files, plots_are_drawn_the_same_every_time) {
  try {
    (void)find_plotting_python();
  } catch (const std::runtime_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("apt-get install python3-matplotlib"));
    GTEST_SKIP() << e.what();
  }
  const std::string file = write(
      "core.json", to_json(std::vector{make_row("put_8", "situ", 2, 6), make_row("put_8", "raw", 0.3, 1)}, somewhere));
  for (const char* const folder : {"one", "two"})
    ASSERT_EQ(run_report({.files = {file}, .out = (directory_ / folder).string(), .name = "page", .with_plots = true}),
              0);
  const std::string svg = text_of(directory_ / "one/page/core.svg");
  EXPECT_THAT(svg, AllOf(HasSubstr("</svg>"), HasSubstr("prefers-color-scheme: dark"), HasSubstr("ratio to raw"),
                         HasSubstr("Time of an operation over that of its raw counterpart")));
  EXPECT_EQ(svg, text_of(directory_ / "two/page/core.svg"));
  EXPECT_THAT(text_of(directory_ / "one/page.md"), HasSubstr("](page/core.svg)"));
}

}  // namespace
}  // namespace situ::bench
