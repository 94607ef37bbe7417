// From samples to rows to JSON and the table: literal samples in, literal results out.
#include "results.h"
#include "cases.h"
#include "core_bench.h"
#include "report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace situ::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(parse_sample, takes_a_line_of_a_subject) {
  const auto s =
      parse_sample(R"({"case":"put_8","subject":"raw","ns":0.4125,"calibration_ns":103.25,"raw_ns":0.3100})");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->case_name, "put_8");
  EXPECT_EQ(s->subject, "raw");
  EXPECT_EQ(s->ns, 0.4125);
  EXPECT_EQ(s->calibration_ns, 103.25);
  EXPECT_EQ(s->raw_ns, 0.31);
  EXPECT_EQ(s->bytes, 0);
}

TEST(parse_sample, takes_memory_where_it_is_given) {
  const auto s = parse_sample(
      R"({"case":"idle_8","subject":"situ","ns":20000,"calibration_ns":100,"raw_ns":1000000000,"bytes":3141592})");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->bytes, 3141592);
}

TEST(parse_sample, leaves_what_is_no_sample) {
  EXPECT_FALSE(parse_sample(""));
  EXPECT_FALSE(parse_sample("[vm:8676 :0:8676] Caught signal 11"));
  EXPECT_FALSE(parse_sample(R"({"end":"raw"})"));
  EXPECT_FALSE(parse_sample(R"({"case":"put_8","subject":"raw","ns":0.4)")) << "cut short";
  EXPECT_FALSE(parse_sample(R"({"case":"put_8","subject":"raw","ns":0.4,"calibration_ns":103})")) << "no raw_ns";
  EXPECT_FALSE(parse_sample(R"({"case":"put_8","subject":"raw","ns":0.4,"calibration_ns":103,"raw_ns":0})"))
      << "no ratio to 0";
  EXPECT_FALSE(parse_sample(R"({"case":"put_8","subject":7,"ns":0.4,"calibration_ns":103,"raw_ns":1})"));
  EXPECT_FALSE(parse_sample("[1,2]"));
}

TEST(is_end_line, knows_the_last_line) {
  EXPECT_TRUE(is_end_line(R"({"end":"oshmem"})"));
  EXPECT_FALSE(is_end_line(R"({"case":"put_8"})"));
  EXPECT_FALSE(is_end_line("end"));
}

TEST(spread_of, interpolates_between_neighbours) {
  EXPECT_EQ(spread_of({7}), (spread{7, 7, 7}));
  EXPECT_EQ(spread_of({4, 1, 3, 2}).median, 2.5);
  // 0, 10, ..., 100 in any order: the quantiles are the values themselves.
  EXPECT_EQ(spread_of({100, 0, 50, 20, 80, 30, 60, 10, 90, 40, 70}), (spread{50, 10, 90}));
}

std::vector<sample> two_regimes() {
  return {
      {"am_short_rt", "situ", 150, 100, 100, 0}, {"am_short_rt", "situ", 170, 100, 100, 0},
      {"am_short_rt", "situ", 160, 100, 100, 0}, {"am_short_rt", "situ", 700, 500, 500, 0},
      {"am_short_rt", "situ", 800, 500, 500, 0}, {"am_short_rt", "raw", 101, 101, 101, 0},
  };
}

TEST(summarize, splits_the_regimes_by_calibration) {
  const auto rows = summarize(two_regimes());
  ASSERT_EQ(rows.size(), 2u);
  const row& situ_row = rows[0];
  EXPECT_EQ(situ_row.subject, "situ");
  EXPECT_EQ(situ_row.all.samples, 5u);
  EXPECT_EQ(situ_row.all.ns.median, 170);
  EXPECT_DOUBLE_EQ(situ_row.all.ratio_to_raw, 1.6);  // of 1.5 1.7 1.6 1.4 1.6, not 170 / some calibration
  ASSERT_TRUE(situ_row.near);
  EXPECT_EQ(situ_row.near->samples, 3u);
  EXPECT_EQ(situ_row.near->ns.median, 160);
  EXPECT_EQ(situ_row.near->calibration_ns, 100);
  ASSERT_TRUE(situ_row.far);
  EXPECT_EQ(situ_row.far->samples, 2u);
  EXPECT_EQ(situ_row.far->ns.median, 750);
  EXPECT_DOUBLE_EQ(situ_row.far->ratio_to_raw, 1.5);
  EXPECT_EQ(situ_row.far->calibration_ns, 500);
}

TEST(summarize, leaves_a_regime_out_that_was_not_met) {
  const auto rows = summarize(two_regimes());
  EXPECT_EQ(rows[1].subject, "raw");
  EXPECT_TRUE(rows[1].near);
  EXPECT_FALSE(rows[1].far);
  EXPECT_EQ(summarize(two_regimes(), 50)[1].near, std::nullopt) << "the split is the caller's";
  EXPECT_TRUE(summarize({}).empty());
}

TEST(find_row, finds_case_and_subject) {
  const auto rows = summarize(two_regimes());
  EXPECT_EQ(find_row(rows, "am_short_rt", "raw"), &rows[1]);
  EXPECT_EQ(find_row(rows, "am_short_rt", "openmpi"), nullptr);
  EXPECT_EQ(find_row(rows, "put_8", "raw"), nullptr);
}

TEST(to_json, keeps_the_form_that_every_benchmark_has) {
  const provenance from{"0123456789ab", "a machine", "Release", "2026-05-09T12:00:00Z"};
  const auto parsed = nlohmann::json::parse(to_json(summarize(two_regimes()), from));
  ASSERT_TRUE(parsed.is_array());
  ASSERT_EQ(parsed.size(), 2u);
  const auto& situ_row = parsed[0];
  EXPECT_EQ(situ_row["case"], "am_short_rt");
  EXPECT_EQ(situ_row["subject"], "situ");
  EXPECT_EQ(situ_row["median_ns"], 170.0);
  EXPECT_EQ(situ_row["p10_ns"], 154.0);
  EXPECT_EQ(situ_row["p90_ns"], 760.0);
  EXPECT_EQ(situ_row["ratio_to_raw"], 1.6);
  EXPECT_EQ(situ_row["samples"], 5);
  EXPECT_EQ(situ_row["near"]["median_ns"], 160.0);
  EXPECT_EQ(situ_row["far"]["ratio_to_raw"], 1.5);
  EXPECT_EQ(situ_row["commit"], "0123456789ab");
  EXPECT_EQ(situ_row["machine"], "a machine");
  EXPECT_EQ(situ_row["build"], "Release");
  EXPECT_EQ(situ_row["date"], "2026-05-09T12:00:00Z");
  EXPECT_FALSE(situ_row.contains("bytes"));
  EXPECT_TRUE(parsed[1]["far"].is_null());
}

TEST(to_json, is_one_row_a_line_and_exact_to_four_digits) {
  const std::vector<sample> samples{{"idle_8", "situ", 123456789, 100, 1e9, 3141592}};
  EXPECT_EQ(
      to_json(summarize(samples), {"c", "m", "Release", "d"}),
      "[\n"
      R"({"case":"idle_8","subject":"situ","median_ns":123500000.0,"p10_ns":123500000.0,"p90_ns":123500000.0,"ratio_to_raw":0.1235,)"
      R"("samples":1,"calibration_ns":100.0,"bytes":3141592,)"
      R"("near":{"median_ns":123500000.0,"p10_ns":123500000.0,"p90_ns":123500000.0,"ratio_to_raw":0.1235,"samples":1,)"
      R"("calibration_ns":100.0,"bytes":3141592},"far":null,"commit":"c","machine":"m","build":"Release","date":"d"})"
      "\n]\n");
  EXPECT_EQ(nlohmann::json::parse(to_json({}, {})), nlohmann::json::array());
}

TEST(cases, are_those_of_the_agreed_form) {
  std::vector<std::string_view> names;
  for (const case_info& info : all_cases()) names.push_back(info.name);
  names.resize(12);  // those after them are ours
  EXPECT_THAT(names, ElementsAre("put_8", "get_8", "put_1m", "get_1m", "fetch_add", "am_short_rt", "am_short_oneway",
                                 "at_empty_rt", "at_1000_doubles", "barrier_2", "barrier_8", "barrier_64"));
  EXPECT_THAT(std::vector(all_subjects().begin(), all_subjects().end()),
              ElementsAre("raw", "situ", "openmpi", "oshmem"));
}

TEST(in_unit_of, counts_in_the_unit_of_the_target) {
  figures measured;
  measured.ns.median = 36000;
  measured.ratio_to_raw = 1.25;
  EXPECT_EQ(in_unit_of(*find_case("put_8"), measured, 0), 36000);
  EXPECT_EQ(in_unit_of(*find_case("barrier_2"), measured, 0), 1.25);
  EXPECT_EQ(in_unit_of(*find_case("barrier_8"), measured, 2250), 2);  // 36 us / (8 places x 2.25 us)
  EXPECT_EQ(in_unit_of(*find_case("barrier_8"), measured, 0), std::nullopt);
  EXPECT_EQ(in_unit_of(*find_case("context_switch"), measured, 0), std::nullopt) << "no target";
}

TEST(time_text, has_three_digits_and_a_unit) {
  EXPECT_EQ(time_text(0.308), "0.308 ns");
  EXPECT_EQ(time_text(999), "999 ns");
  EXPECT_EQ(time_text(33800), "33.8 us");
  EXPECT_EQ(time_text(999.6), "1 us");
  EXPECT_EQ(time_text(1.234e6), "1.23 ms");
  EXPECT_EQ(time_text(5.4321e9), "5432 ms");
}

// The line of the table that begins with `case_name` or, for later subjects of the case, is the n-th after it.
std::string table_line(const std::string& table, const std::string& case_name, int n) {
  std::size_t at = table.find("\n" + case_name) + 1;
  for (; n > 0; --n) at = table.find('\n', at) + 1;
  return table.substr(at, table.find('\n', at) - at);
}

TEST(to_table, says_which_targets_are_met_in_which_regime) {
  std::vector<sample> samples{
      {"am_short_rt", "raw", 100, 100, 100, 0},  {"am_short_rt", "situ", 150, 100, 100, 0},
      {"am_short_rt", "situ", 900, 500, 500, 0}, {"barrier_8", "situ", 40000, 100, 100, 0},
      {"barrier_8", "situ", 30000, 500, 500, 0}, {"context_switch", "raw", 2250, 100, 100, 0},
      {"idle_8", "situ", 1e6, 100, 1e9, 9e6},    {"idle_64", "situ", 1e6, 100, 1e9, 7e6},
  };
  const std::string table = to_table(summarize(samples), {"c0ffee", "a machine", "Release", ""});
  EXPECT_THAT(table, HasSubstr("a machine; commit c0ffee, Release build"));
  EXPECT_THAT(table_line(table, "am_short_rt", 0), HasSubstr("best known rival: 2.3 x (GASNet-EX)"));
  const std::string message = table_line(table, "am_short_rt", 1);
  EXPECT_THAT(message, HasSubstr("150 ns (150..150) 1.5x n=1"));
  EXPECT_THAT(message, HasSubstr("900 ns (900..900) 1.8x n=1"));
  EXPECT_THAT(message, HasSubstr("<= 1.6 x; near met; far MISSED"));
  EXPECT_THAT(table_line(table, "barrier_8", 0), HasSubstr("<= 2 x 8 switches; near 2.2 x MISSED; far 1.7 x met"));
  EXPECT_THAT(table_line(table, "idle_8", 0), HasSubstr("0.1% of a core, 9 MB"));
  EXPECT_THAT(table_line(table, "idle_8", 0), HasSubstr("near MISSED"));
  EXPECT_THAT(table_line(table, "idle_64", 0), HasSubstr("near met"));
  EXPECT_THAT(table, HasSubstr("2.25 us each"));
}

TEST(to_table, takes_the_least_disturbed_switch_for_the_unit) {
  std::vector<sample> samples{{"barrier_8", "situ", 32000, 100, 100, 0}};
  for (const double ns : {2e3, 2e3, 2e3, 9e6, 9e6, 9e6})  // another process had the processor half of the time
    samples.push_back({"context_switch", "raw", ns, 100, 100, 0});
  EXPECT_THAT(table_line(to_table(summarize(samples), {}), "barrier_8", 0), HasSubstr("near 2 x met"));
}

TEST(to_table, shows_nothing_that_was_not_measured) {
  const std::vector<sample> samples{{"put_8", "situ", 1.5, 100, 0.3, 0}};
  const std::string table = to_table(summarize(samples), {});
  EXPECT_THAT(table, Not(HasSubstr("get_8")));
  EXPECT_THAT(table, Not(HasSubstr("far met")));
  EXPECT_THAT(table, Not(HasSubstr("switches")));
}

// ---- the plan of the runs ----

const planned_run* find_run(const std::vector<planned_run>& plan, std::string_view subject, unsigned places) {
  const auto found = std::find_if(plan.begin(), plan.end(),
                                  [&](const planned_run& r) { return r.subject == subject && r.places == places; });
  return found == plan.end() ? nullptr : &*found;
}

TEST(plan_core, takes_turns_and_keeps_to_the_time) {
  core_options options;
  options.seconds = 60;
  const std::vector<std::string> subjects{"raw", "situ"};
  const auto plan = plan_core(options, subjects);
  EXPECT_EQ(plan.size(), 2u * (6 + 3 + 2));
  double seconds = 0;
  for (const planned_run& run : plan) seconds += run.seconds;
  EXPECT_NEAR(seconds, 60, 1e-9);
  for (std::size_t i = 0; i < plan.size(); ++i) EXPECT_EQ(plan[i].subject, subjects[i % 2]) << i;
}

TEST(plan_core, measures_idleness_once) {
  const std::vector<std::string> subjects{"situ"};
  int runs = 0;
  for (const planned_run& run : plan_core({}, subjects))
    runs += static_cast<int>(std::count(run.cases.begin(), run.cases.end(), "idle_64"));
  EXPECT_EQ(runs, 1);
}

TEST(plan_core, gives_each_subject_what_it_has) {
  core_options options;
  options.quick = true;
  const std::vector<std::string> subjects{"raw", "openmpi", "oshmem"};
  const auto plan = plan_core(options, subjects);
  EXPECT_EQ(plan.size(), 9u);
  EXPECT_THAT(find_run(plan, "oshmem", 2)->cases,
              ElementsAre("put_8", "get_8", "put_1m", "get_1m", "fetch_add", "barrier_2"));
  EXPECT_THAT(find_run(plan, "raw", 2)->cases, ::testing::Contains("context_switch"));
  EXPECT_THAT(find_run(plan, "openmpi", 2)->cases, Not(::testing::Contains("context_switch")));
  EXPECT_THAT(find_run(plan, "raw", 64)->cases, ElementsAre("barrier_64"));
}

TEST(plan_core, adds_the_unit_of_a_barrier) {
  core_options options;
  options.quick = true;
  options.cases = {"barrier_8"};
  const std::vector<std::string> subjects{"raw", "situ"};
  const auto plan = plan_core(options, subjects);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_THAT(find_run(plan, "raw", 2)->cases, ElementsAre("context_switch"));
  EXPECT_THAT(find_run(plan, "raw", 8)->cases, ElementsAre("barrier_8"));
  EXPECT_THAT(find_run(plan, "situ", 8)->cases, ElementsAre("barrier_8"));
}

}  // namespace
}  // namespace situ::bench
