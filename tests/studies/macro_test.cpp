#include "nemesys/figure8_software.h"
#include "nemesys/macro_figures.h"
#include "nemesys/macro_runs.h"

#include <situ/base/error.h>
#include <situ/machine/toml.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace situ::studies::nemesys {
namespace {

using json = nlohmann::json;
using runs_by_variant = std::map<std::pair<std::size_t, variant>, kernel_run>;

json part(const char* name, const char* kind, json values) {
  values["part"] = name;
  values["kind"] = kind;
  return values;
}

// Two tiles, two memories, a second of modelled time.
json report() {
  constexpr std::int64_t second = 1'000'000'000'000;
  const auto adapter = [](const char* name, std::int64_t busy, std::int64_t loads) {
    return part(name, "adapter",
                {{"busy_ps", busy},
                 {"loads", loads},
                 {"load_ps", loads * 2'000'000},
                 {"stores", 0},
                 {"store_ps", 0},
                 {"atomics", 5}});
  };
  const auto memory = [](const char* name, std::int64_t busy, std::int64_t of_unit) {
    return part(
        name, "memory",
        {{"busy_ps", busy}, {"unit_busy_ps", of_unit}, {"read_bytes", 3'000'000}, {"written_bytes", 1'000'000}});
  };
  return {{"regions",
           {{{"name", "load"}, {"modelled_ps", 7}},
            {{"name", "compute"},
             {"modelled_ps", second},
             {"cores", {{{"to_machine_ps", second / 8}, {"fetch_ps", second / 8}, {"idle_ps", second / 2}}}},
             {"parts",
              {part("compute tile 0", "bus", {{"busy_ps", second / 10}}),
               part("compute tile 1", "bus", {{"busy_ps", second / 5}}), adapter("compute tile 0", second / 2, 3),
               adapter("compute tile 1", 0, 1), memory("dram 14", second / 2, second / 10),
               memory("dram 15", second / 4, second / 10), memory("scratchpad 0", second, second),
               part("graph copy, dram 14", "graph unit", {{"busy_ps", second / 2}}),
               part("graph copy, dram 15", "graph unit", {{"busy_ps", second / 4}})}}}}}};
}
json program() {
  return {{"kernels",
           {{{"kernel", "mis"}, {"validated", true}, {"ats", {{"at_seconds", 4.0}, {"function_seconds", 1.0}}}}}}};
}

TEST(macro_runs, reads_what_a_run_has_counted) {
  const kernel_run run = read_run(report().dump(), program().dump(), 2);
  EXPECT_DOUBLE_EQ(run.seconds, 1);
  EXPECT_DOUBLE_EQ(run.at_seconds, 4);
  EXPECT_DOUBLE_EQ(run.com_seconds, 3);
  EXPECT_DOUBLE_EQ(run.bus_load, 0.15);
  EXPECT_DOUBLE_EQ(run.adapter_use, 0.25);
  EXPECT_DOUBLE_EQ(run.memory_use, 0.375);
  EXPECT_DOUBLE_EQ(run.via_unit, 0.1);
  EXPECT_DOUBLE_EQ(run.via_adapter, 0.275);
  EXPECT_DOUBLE_EQ(run.megabytes, 8);  // not the tiles' own memories
  EXPECT_DOUBLE_EQ(run.unit_use, 0.375);
  EXPECT_DOUBLE_EQ(run.load_cycles, 100);
  EXPECT_DOUBLE_EQ(run.store_cycles, 0);
  EXPECT_DOUBLE_EQ(run.memory_bound, 0.5);
  EXPECT_DOUBLE_EQ(run.loads, 4);
  EXPECT_DOUBLE_EQ(run.stores, 0);
  EXPECT_DOUBLE_EQ(run.atomics, 10);
}

TEST(macro_runs, refuses_wrong_answers_and_reports_without_the_computation) {
  json wrong = program();
  wrong["kernels"][0]["validated"] = false;
  EXPECT_THROW(static_cast<void>(read_run(report().dump(), wrong.dump(), 2)), error);
  json none = report();
  none["regions"].erase(1);
  EXPECT_THROW(static_cast<void>(read_run(none.dump(), program().dump(), 2)), error);
  EXPECT_THROW(static_cast<void>(read_run("{", program().dump(), 2)), error);
}

TEST(macro_runs, a_variants_machine_has_its_l2) {
  const auto l2_bytes = [](variant of) {
    const machine::tree tree = machine::parse_toml(machine_file(of), "test");
    std::uint64_t bytes = 0;
    for (const machine::node& each : tree.nodes())
      if (each.kind == machine::node_kind::cache && each.level == 2) bytes = each.bytes;
    return bytes;
  };
  EXPECT_EQ(l2_bytes(variant::nemesys_single), 512u << 10);
  EXPECT_EQ(l2_bytes(variant::small_nemesys), 512u << 10);
  EXPECT_EQ(l2_bytes(variant::pegasus_l2_16), 64u << 10);
  EXPECT_EQ(l2_bytes(variant::nemesys_l2_8), 32u << 10);
}

TEST(macro_runs, a_study_says_on_which_machine) {
  const auto occupancy_ns = [](variant of, const run_choice& choice) {
    const machine::tree tree = machine::parse_toml(machine_file(of, choice), "test");
    double found = 0;
    for (const machine::node& each : tree.nodes()) found = std::max(found, each.occupancy_ns);
    return found;
  };
  const run_choice fitted{.is_fitted = true, .settings = {}, .variants = {}};
  EXPECT_EQ(occupancy_ns(variant::nemesys_twin, {}), 160);
  EXPECT_EQ(occupancy_ns(variant::small_nemesys, {}), 160);
  EXPECT_EQ(occupancy_ns(variant::nemesys_twin, fitted), 540);
  EXPECT_EQ(occupancy_ns(variant::small_nemesys, fitted), 540);
}

// All that holds in the paper: NEMESYS is twice as fast, for LCR and HS 1.5 times.
runs_by_variant as_in_the_paper() {
  runs_by_variant runs;
  for (std::size_t k = 0; k < kernel_names.size(); ++k) {
    const bool is_small = kernel_names[k].abbreviation == "LCR" || kernel_names[k].abbreviation == "HS";
    for (std::size_t v = 0; v < variant_count; ++v) {
      const auto of = static_cast<variant>(v);
      const bool is_nemesys =
          name(of).starts_with("NEMESYS") || of == variant::nemesys_no_dummies || of == variant::nemesys_no_nca;
      const bool is_twin = name(of).find("twin") != std::string_view::npos;
      kernel_run run{.seconds = is_nemesys ? (is_small ? 2.0 / 3 : 0.5) : 1,
                     .at_seconds = is_nemesys ? 5.0 : 10,
                     .com_seconds = is_nemesys ? 4.0 : 8,
                     .adapter_use = (is_nemesys ? 0.1 : 0.2) - (is_twin ? 0.05 : 0),
                     .memory_use = (is_nemesys ? 0.5 : 0.4) - (is_twin ? 0.1 : 0),
                     .megabytes = (is_nemesys ? 1.0 : 3.0) + (is_twin && is_nemesys ? 1 : 0),
                     .via_unit = is_small ? 0.1 : 0.3,
                     .unit_use = is_small ? 0.2 : 0.6,
                     .load_cycles = is_twin ? 100.0 : 200,
                     .store_cycles = is_twin ? 100.0 : 200,
                     .memory_bound = 0.8};
      if (of == variant::pegasus_twin) run.seconds = 0.9;
      if (of == variant::nemesys_twin) run.seconds *= 1.05;
      if (of == variant::nemesys_no_nca) run.seconds *= 1.2;
      if (of == variant::small_nemesys) run.seconds = 0.8;
      if (of == variant::pegasus_l2_8 || of == variant::pegasus_l2_16) run.seconds = 1.3;
      runs[{k, of}] = run;
    }
  }
  return runs;
}

// The cells of an observation: its number, its words, the verdict, the figures.
std::vector<std::string> observed(const runs_by_variant& runs, const std::string& number) {
  const study_part part = observations(macro_runs{runs});
  for (const auto& line : part.grids.at(0).lines)
    if (line.at(0) == number) return line;
  return {number, "", "is not there", ""};
}
std::string verdict_of(const runs_by_variant& runs, const std::string& number) { return observed(runs, number).at(2); }

constexpr std::array all_numbers{"abstract", "1", "2",  "3",  "4",     "5",     "6",    "7",
                                 "8",        "9", "10", "11", "5.4.5", "5.4.6", "5.4.7"};
constexpr std::size_t bf = 0, kc = 5, lcr = 6, mis = 9;

TEST(macro_figures, observations_hold_where_they_do) {
  for (const char* const number : all_numbers)
    EXPECT_EQ(verdict_of(as_in_the_paper(), number), "holds") << number << observed(as_in_the_paper(), number).at(3);
}

TEST(macro_figures, observations_do_not_hold_where_they_do_not) {
  runs_by_variant runs = as_in_the_paper();
  for (auto& [key, run] : runs) {
    if (key.second == variant::nemesys_single || key.second == variant::nemesys_no_nca)
      run.seconds = 1.1, run.adapter_use = run.memory_use = run.memory_bound = run.unit_use = run.via_unit = 0.3;
    if (key.second == variant::nemesys_single) run.megabytes = 4;
    if (key.second == variant::nemesys_twin) run.seconds = 2, run.adapter_use = 0.9;
    if (key.second == variant::pegasus_twin)
      run = {.seconds = 1.1, .adapter_use = 0.3, .memory_use = 0.9, .load_cycles = 300, .store_cycles = 300};
    if (key.second == variant::nemesys_single_timed) run.com_seconds = 9;
    if (key.second == variant::nemesys_twin || key.second == variant::pegasus_single) run.memory_bound = 0.3;
    if (key.second == variant::nemesys_l2_8 || key.second == variant::nemesys_l2_16) run.seconds = 9;
  }
  for (const char* const number : all_numbers)
    EXPECT_EQ(verdict_of(runs, number), "does not hold") << number << observed(runs, number).at(3);
}

TEST(macro_figures, one_kernel_is_not_hidden_by_the_mean) {
  runs_by_variant runs = as_in_the_paper();
  runs[{bf, variant::nemesys_twin}].seconds = 2;
  EXPECT_EQ(verdict_of(runs, "1"), "in part");
  EXPECT_NE(observed(runs, "1").at(3).find("NEMESYS-twin faster than Pegasus-twin: not BF (of 12)"), std::string::npos);
  EXPECT_EQ(verdict_of(runs, "3"), "in part");
  runs[{bf, variant::nemesys_single}].seconds = 0.2;  // beyond the paper's range, though faster
  EXPECT_EQ(verdict_of(runs, "abstract"), "in part");
  runs[{bf, variant::pegasus_twin}].store_cycles = 201;
  EXPECT_EQ(verdict_of(runs, "6"), "in part");
  EXPECT_NE(observed(runs, "6").at(3).find("not BF (of 12)"), std::string::npos) << observed(runs, "6").at(3);
  runs[{bf, variant::nemesys_single_timed}].com_seconds = 5;  // less by 37.5 %
  EXPECT_EQ(verdict_of(runs, "4"), "in part");
}

TEST(macro_figures, kernels_are_asked_what_the_papers_lines_show) {
  runs_by_variant runs = as_in_the_paper();
  // Table 6 has more NA usage by NEMESYS-single than by Pegasus-single for KC and LCR, and no more of the NMA for MIS.
  runs[{kc, variant::nemesys_single}].adapter_use = runs[{lcr, variant::nemesys_single}].adapter_use = 0.3;
  runs[{mis, variant::nemesys_single}].unit_use = 0.1;
  EXPECT_EQ(verdict_of(runs, "5"), "holds") << observed(runs, "5").at(3);
  EXPECT_EQ(verdict_of(runs, "11"), "holds") << observed(runs, "11").at(3);
  runs[{bf, variant::nemesys_single}].adapter_use = 0.3;
  EXPECT_EQ(verdict_of(runs, "5"), "in part");
}

TEST(macro_figures, a_mean_that_turns_is_no_part_of_it) {
  runs_by_variant runs = as_in_the_paper();
  runs[{bf, variant::nemesys_single}].megabytes = 1000;
  EXPECT_EQ(verdict_of(runs, "8"), "does not hold");
}

TEST(macro_figures, a_quick_study_is_judged_by_its_kernels) {
  runs_by_variant runs = as_in_the_paper();
  std::erase_if(runs, [](const auto& each) { return each.first.first != bf && each.first.first != lcr; });
  EXPECT_EQ(verdict_of(runs, "1"), "holds") << observed(runs, "1").at(3);
}

TEST(macro_figures, what_has_not_run_is_said) {
  runs_by_variant runs = as_in_the_paper();
  std::erase_if(runs, [](const auto& each) { return each.first.second == variant::nemesys_l2_8; });
  const macro_runs some{runs};
  EXPECT_EQ(figure12(some).missing.size(), 1u);
  EXPECT_TRUE(figure12(some).grids.at(0).lines.empty());
  EXPECT_EQ(observations(some).missing.size(), 1u);
  EXPECT_EQ(figure9(some).rows.size(), kernel_names.size());
}

TEST(macro_figures, speed_ups_stand_beside_the_papers_range) {
  const study_part part = figure9(macro_runs{as_in_the_paper()});
  EXPECT_EQ(part.rows.at(0).ours, 2.0);
  EXPECT_EQ(part.rows.at(0).deviation(), 0.0);
  EXPECT_EQ(part.rows.at(6).what, "LCR NEMESYS-single over Pegasus-single");
  EXPECT_DOUBLE_EQ(part.rows.at(6).ours.value(), 1.5);
}

TEST(macro_figures, table_6_is_held_against_the_papers) {
  const study_part part = table6(macro_runs{as_in_the_paper()});
  ASSERT_EQ(part.grids.size(), 5u);  // four variants, and the counts of operations
  EXPECT_EQ(part.grids[0].title, "NEMESYS-single");
  EXPECT_EQ(part.grids[0].headings.size(), 10u);
  EXPECT_EQ(part.grids[1].headings.size(), 7u);         // Pegasus has no unit
  EXPECT_EQ(part.grids[0].lines[3][7], "60.0 (90.5)");  // DR, utilization of the NMA
  EXPECT_EQ(part.grids[3].lines[11][6], "100 (124)");   // VC by Pegasus-twin, store
  EXPECT_EQ(part.rows.size(), 2 * 9 + 2 * 6u);
  EXPECT_EQ(part.rows[0].paper, 7.0);  // NEMESYS-single, mean bus load
  EXPECT_EQ(part.rows[0].from, origin::predicted);
  EXPECT_EQ(part.rows[1].from, origin::predicted);
  EXPECT_EQ(part.grids[4].lines.size(), kernel_names.size());
  const study_part fitted = table6(macro_runs{as_in_the_paper()}, true);
  EXPECT_EQ(fitted.rows[0].from, origin::predicted);
  EXPECT_EQ(fitted.rows[1].from, origin::calibrated);  // NA usage: constants of that machine follow from its mean
}

TEST(software_copies, are_read_by_their_letters) {
  const software_copies copies = read_software_copies("a 1 53.440\na 2 52.960\nc 1024 10458.560\n");
  EXPECT_EQ(copies.lines.at('a').size(), 2u);
  EXPECT_EQ(copies.lines.at('c').at(0), (std::pair{1024.0, 10458.56}));
  EXPECT_THROW(static_cast<void>(read_software_copies("a 1 fast\n")), error);
  EXPECT_THROW(static_cast<void>(read_software_copies("z 1 2\n")), error);
}

}  // namespace
}  // namespace situ::studies::nemesys
