#include "nemesys/table6.h"

#include <situ/base/detail/assert.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "nemesys/macro_figures.h"

namespace situ::studies::nemesys {
namespace {

struct paper_table {
  variant of;
  std::array<counters, kernel_names.size() + 1> lines;  // the last: the mean
};

// clang-format off
const std::array<paper_table, 4> paper_tables{{
    {.of = variant::nemesys_single,
     .lines = {{
         {5.3, 11.5, 67.2, 53, 22.7, 44.5, 68.3, 318, 234},  // BF
         {5.2, 25.6, 67.9, 232, 27.4, 40.5, 66.1, 479, 392},  // DST
         {6.7, 13.9, 45.7, 52, 26.3, 19.4, 55.8, 289, 212},  // BY
         {11.6, 30.3, 76.5, 67, 38.6, 37.9, 90.5, 460, 361},  // DR
         {7.6, 16.4, 55.3, 223, 26.0, 29.3, 64.7, 319, 241},  // DS
         {12.3, 46.9, 56.3, 281, 40.5, 15.8, 64.2, 506, 444},  // KC
         {9.9, 16.3, 35.7, 106, 28.0, 7.7, 28.7, 291, 233},  // LCR
         {7.7, 10.1, 32.6, 266, 23.5, 9.1, 33.0, 220, 150},  // HS
         {4.9, 12.6, 41.3, 103, 22.8, 18.5, 41.3, 295, 219},  // DP
         {4.8, 10.8, 39.8, 299, 26.6, 13.2, 21.7, 225, 151},  // MIS
         {3.7, 5.8, 26.4, 170, 13.7, 12.7, 25.2, 236, 166},  // MST
         {3.9, 4.1, 45.5, 60, 14.3, 31.2, 46.0, 186, 94},  // VC
         {7.0, 20.9, 49.2, 159, 25.9, 32.3, 50.5, 319, 241},  // Mean
     }}},
    {.of = variant::pegasus_single,
     .lines = {{
         {3.5, 33.5, 27.5, 133, 0, 0, 0, 346, 296},  // BF
         {3.4, 38.4, 44.6, 554, 0, 0, 0, 381, 331},  // DST
         {6.7, 14.2, 31.4, 77, 0, 0, 0, 244, 204},  // BY
         {7.0, 48.5, 50.5, 167, 0, 0, 0, 445, 389},  // DR
         {5.0, 30.8, 40.7, 543, 0, 0, 0, 338, 288},  // DS
         {12.5, 45.7, 45.5, 402, 0, 0, 0, 445, 403},  // KC
         {10.4, 13.7, 30.2, 128, 0, 0, 0, 226, 183},  // LCR
         {8.3, 10.5, 27.5, 346, 0, 0, 0, 191, 135},  // HS
         {3.7, 19.6, 32.0, 230, 0, 0, 0, 287, 234},  // DP
         {4.1, 23.4, 39.3, 523, 0, 0, 0, 279, 220},  // MIS
         {3.1, 13.6, 23.0, 359, 0, 0, 0, 273, 218},  // MST
         {3.5, 22.5, 35.7, 127, 0, 0, 0, 283, 232},  // VC
         {5.9, 26.2, 37.2, 299, 0, 0, 0, 311, 261},  // Mean
     }}},
    {.of = variant::nemesys_twin,
     .lines = {{
         {4.3, 15.6, 41.1, 86, 24.5, 16.6, 28.4, 571, 436},  // BF
         {5.0, 25.3, 44.5, 362, 27.4, 17.1, 30.6, 542, 421},  // DST
         {7.3, 11.3, 28.1, 65, 18.2, 9.9, 27.5, 228, 146},  // BY
         {14.2, 35.7, 56.6, 97, 36.6, 20.0, 52.0, 507, 367},  // DR
         {8.2, 19.0, 36.6, 317, 22.5, 14.1, 33.8, 382, 256},  // DS
         {17.4, 31.6, 40.7, 322, 30.6, 10.1, 40.3, 276, 205},  // KC
         {10.5, 10.6, 19.1, 116, 15.3, 3.8, 13.5, 191, 128},  // LCR
         {7.7, 7.8, 17.1, 298, 12.8, 4.3, 14.2, 172, 104},  // HS
         {4.9, 11.6, 25.6, 141, 17.0, 8.6, 20.2, 287, 183},  // DP
         {4.6, 10.4, 24.0, 393, 17.9, 6.1, 11.0, 228, 144},  // MIS
         {3.6, 5.1, 11.0, 217, 7.0, 4.0, 12.0, 221, 130},  // MST
         {2.9, 4.6, 25.1, 94, 14.3, 10.8, 17.9, 256, 123},  // VC
         {7.6, 15.7, 30.8, 209, 20.4, 10.5, 25.1, 322, 220},  // Mean
     }}},
    {.of = variant::pegasus_twin,
     .lines = {{
         {4.7, 25.7, 30.9, 133, 0, 0, 0, 208, 150},  // BF
         {4.7, 28.6, 31.1, 555, 0, 0, 0, 215, 158},  // DST
         {7.3, 9.8, 17.1, 77, 0, 0, 0, 160, 105},  // BY
         {10.8, 36.3, 39.3, 167, 0, 0, 0, 225, 166},  // DR
         {6.9, 21.4, 26.2, 543, 0, 0, 0, 194, 135},  // DS
         {17.8, 28.6, 31.8, 402, 0, 0, 0, 212, 159},  // KC
         {11.1, 9.7, 15.8, 128, 0, 0, 0, 157, 102},  // LCR
         {8.8, 8.4, 14.1, 346, 0, 0, 0, 151, 93},  // HS
         {4.3, 13.7, 18.5, 230, 0, 0, 0, 182, 124},  // DP
         {4.8, 17.7, 23.0, 523, 0, 0, 0, 188, 124},  // MIS
         {3.4, 8.9, 8.8, 341, 0, 0, 0, 172, 112},  // MST
         {4.2, 16.7, 21.9, 127, 0, 0, 0, 185, 124},  // VC
         {7.4, 18.8, 23.2, 298, 0, 0, 0, 188, 129},  // Mean
     }}},
}};
// clang-format on

struct column {
  const char* name;
  const char* unit;
  double counters::* paper;
  double kernel_run::* ours;
  double scale;  // of ours
  origin when_fitted;
  bool of_units = false;
};
// machines/nemesys-4x4-fitted.toml says which constants follow from the means of the calibrated columns.
constexpr std::array<column, 9> columns{{
    {"bus load", "%", &counters::bus_load, &kernel_run::bus_load, 100, origin::predicted},
    {"NA usage", "%", &counters::adapter_use, &kernel_run::adapter_use, 100, origin::calibrated},
    {"MEM usage", "%", &counters::memory_use, &kernel_run::memory_use, 100, origin::calibrated},
    {"MEM accessed", "MB", &counters::megabytes, &kernel_run::megabytes, 1, origin::predicted},
    {"MEM via NA", "%", &counters::via_adapter, &kernel_run::via_adapter, 100, origin::calibrated, true},
    {"MEM via NMA", "%", &counters::via_unit, &kernel_run::via_unit, 100, origin::predicted, true},
    {"NMA utilization", "%", &counters::unit_use, &kernel_run::unit_use, 100, origin::predicted, true},
    {"load", "cycles", &counters::load_cycles, &kernel_run::load_cycles, 1, origin::calibrated},
    {"store", "cycles", &counters::store_cycles, &kernel_run::store_cycles, 1, origin::calibrated},
}};

bool has_units(variant of) { return of == variant::nemesys_single || of == variant::nemesys_twin; }

std::string beside(double ours, double theirs) {
  return ours >= 100 ? fmt::format("{:.0f} ({:.0f})", ours, theirs) : fmt::format("{:.1f} ({:.1f})", ours, theirs);
}

// How often the tiles' adapters were used, which the machine's figures hardly change.
grid operations(const macro_runs& runs) {
  grid all{.title = "Remote loads, stores and atomics of all tiles, in thousands; ms", .headings = {"kernel"}};
  for (const paper_table& theirs : paper_tables) all.headings.emplace_back(name(theirs.of));
  for (std::size_t k = 0; k < kernel_names.size(); ++k) {
    std::vector<std::string> line{std::string{kernel_names[k].abbreviation}};
    for (const paper_table& theirs : paper_tables)
      if (const kernel_run* const ran = runs.find(k, theirs.of))
        line.push_back(fmt::format("{:.2f}, {:.2f}, {:.2f}; {:.2f}", ran->loads / 1e3, ran->stores / 1e3,
                                   ran->atomics / 1e3, ran->seconds * 1e3));
    if (line.size() == all.headings.size()) all.lines.push_back(std::move(line));
  }
  return all;
}

}  // namespace

const counters& paper_counters(variant of, std::size_t kernel) {
  const auto found = std::ranges::find(paper_tables, of, &paper_table::of);
  SITU_ASSERT(1, found != paper_tables.end(), "ask for NEMESYS or Pegasus, single or twin");
  return found->lines.at(kernel);
}

study_part table6(const macro_runs& runs, bool is_fitted) {
  study_part part{.name = "table6", .title = "Table 6: what the machine counts; ours, and the paper's in brackets"};
  for (const paper_table& theirs : paper_tables) {
    grid all{.title = std::string{name(theirs.of)}, .headings = {"kernel"}};
    for (const column& each : columns)
      if (!each.of_units || has_units(theirs.of)) all.headings.push_back(fmt::format("{} [{}]", each.name, each.unit));
    const auto kernels = runs.kernels({theirs.of});
    for (const std::size_t k : kernels) {
      std::vector<std::string> line{std::string{kernel_names[k].abbreviation}};
      for (const column& each : columns)
        if (!each.of_units || has_units(theirs.of))
          line.push_back(beside(runs.find(k, theirs.of)->*each.ours * each.scale, theirs.lines[k].*each.paper));
      all.lines.push_back(std::move(line));
    }
    part.grids.push_back(std::move(all));
    for (const column& each : columns) {
      if (kernels.size() != kernel_names.size() || (each.of_units && !has_units(theirs.of))) continue;
      double sum = 0;
      for (const std::size_t k : kernels) sum += runs.find(k, theirs.of)->*each.ours * each.scale;
      part.rows.push_back({.what = fmt::format("{} mean {}", name(theirs.of), each.name),
                           .unit = each.unit,
                           .paper = theirs.lines.back().*each.paper,
                           .ours = sum / static_cast<double>(kernels.size()),
                           .from = is_fitted ? each.when_fitted : origin::predicted});
    }
    if (kernels.empty()) part.missing.push_back(fmt::format("no kernel has run by {}", name(theirs.of)));
  }
  part.grids.push_back(operations(runs));
  if (!is_fitted) {
    part.notes.emplace_back(
        "No figure of the machine follows from this table: those that the paper does not give are assumed (part "
        "\"assumed\").");
    return part;
  }
  part.notes.emplace_back(
      "calibrated: an adapter serves one load or store at a time, and a memory one request, since the means of these "
      "columns agree with that (Little's law); no single figure of the table was fitted.");
  return part;
}

}  // namespace situ::studies::nemesys
