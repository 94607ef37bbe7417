#include "nemesys/macro_figures.h"

#include <fmt/format.h>

#include <string>

namespace situ::studies::nemesys {
namespace {

std::string milliseconds(double seconds) { return fmt::format("{:.0f}", seconds * 1e3); }
std::string times(double factor) { return fmt::format("{:.2f}", factor); }
std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string abbreviation_of(std::size_t kernel) { return std::string{kernel_names[kernel].abbreviation}; }

double seconds(const macro_runs& runs, std::size_t kernel, variant of) { return runs.find(kernel, of)->seconds; }

void say_if_empty(study_part& part, const std::vector<std::size_t>& kernels) {
  if (kernels.empty()) part.missing.emplace_back("no kernel has run in all of its variants");
}

}  // namespace

study_part figure9(const macro_runs& runs) {
  using enum variant;
  study_part part{.name = "figure9", .title = "Figure 9: run times, by message (MP), by Pegasus and by NEMESYS"};
  const auto kernels = runs.kernels(
      {message_single, message_twin, pegasus_single, pegasus_twin, nemesys_single, nemesys_twin, nemesys_no_dummies});
  grid all{
      .title = "modelled ms; speed-ups",
      .headings = {"kernel", "MP-single", "MP-twin", "Pegasus-single", "Pegasus-twin", "NEMESYS-single", "NEMESYS-twin",
                   "no dummies, single", "over MP-single", "over Pegasus-single", "twin over Pegasus-twin"}};
  for (const std::size_t k : kernels) {
    part.rows.push_back({.what = abbreviation_of(k) + " NEMESYS-single over Pegasus-single",
                         .unit = "x",
                         .paper = 1.35,
                         .paper_most = 3.85,
                         .ours = runs.speedup(k, pegasus_single, nemesys_single)});
    std::vector<std::string> line{abbreviation_of(k)};
    for (const variant each :
         {message_single, message_twin, pegasus_single, pegasus_twin, nemesys_single, nemesys_twin, nemesys_no_dummies})
      line.push_back(milliseconds(seconds(runs, k, each)));
    line.push_back(times(runs.speedup(k, message_single, nemesys_single)));
    line.push_back(times(runs.speedup(k, pegasus_single, nemesys_single)));
    line.push_back(times(runs.speedup(k, pegasus_twin, nemesys_twin)));
    all.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(all));
  say_if_empty(part, kernels);
  return part;
}

study_part figure10(const macro_runs& runs) {
  using enum variant;
  study_part part{.name = "figure10", .title = "Figure 10: communication time Tcom, and its part of Tat"};
  const auto kernels =
      runs.kernels({pegasus_single_timed, pegasus_twin_timed, nemesys_single_timed, nemesys_twin_timed});
  grid all{.title = "Tcom / Tat",
           .headings = {"kernel", "Pegasus-single", "Pegasus-twin", "NEMESYS-single", "NEMESYS-twin"}};
  for (const std::size_t k : kernels) {
    const double before = runs.find(k, pegasus_single_timed)->com_seconds;
    part.rows.push_back({.what = abbreviation_of(k) + " Tcom less by NEMESYS-single",
                         .unit = "%",
                         .paper = 40,
                         .paper_most = 82,
                         .ours = 100 * (1 - runs.find(k, nemesys_single_timed)->com_seconds / before)});
    std::vector<std::string> line{abbreviation_of(k)};
    for (const variant each : {pegasus_single_timed, pegasus_twin_timed, nemesys_single_timed, nemesys_twin_timed})
      line.push_back(percent(runs.find(k, each)->com_seconds / runs.find(k, each)->at_seconds));
    all.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(all));
  say_if_empty(part, kernels);
  return part;
}

study_part figure11(const macro_runs& runs) {
  using enum variant;
  study_part part{.name = "figure11", .title = "Figure 11: the 2 x 2 machine, run times normalized to Pegasus"};
  const auto kernels =
      runs.kernels({small_message, small_pegasus, small_nemesys, pegasus_single, nemesys_single, pegasus_twin});
  grid all{.headings = {"kernel", "MP", "Pegasus", "NEMESYS", "speed-up 2x2", "speed-up 4x4 single"}};
  for (const std::size_t k : kernels) {
    const double pegasus = seconds(runs, k, small_pegasus);
    all.lines.push_back({abbreviation_of(k), times(seconds(runs, k, small_message) / pegasus), "1",
                         times(seconds(runs, k, small_nemesys) / pegasus),
                         times(runs.speedup(k, small_pegasus, small_nemesys)),
                         times(runs.speedup(k, pegasus_single, nemesys_single))});
  }
  part.grids.push_back(std::move(all));
  say_if_empty(part, kernels);
  return part;
}

study_part figure12(const macro_runs& runs) {
  using enum variant;
  study_part part{.name = "figure12", .title = "Figure 12: run times with a small L2, normalized to 4 x 128 KiB"};
  const auto kernels =
      runs.kernels({pegasus_single, nemesys_single, pegasus_l2_8, pegasus_l2_16, nemesys_l2_8, nemesys_l2_16});
  grid all{.headings = {"kernel", "NEMESYS 4x8", "NEMESYS 4x16", "Pegasus 4x8", "Pegasus 4x16"}};
  for (const std::size_t k : kernels) {
    std::vector<std::string> line{abbreviation_of(k)};
    for (const variant each : {nemesys_l2_8, nemesys_l2_16})
      line.push_back(times(runs.speedup(k, each, nemesys_single)));
    for (const variant each : {pegasus_l2_8, pegasus_l2_16})
      line.push_back(times(runs.speedup(k, each, pegasus_single)));
    all.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(all));
  say_if_empty(part, kernels);
  return part;
}

study_part figure13(const macro_runs& runs) {
  using enum variant;
  study_part part{.name = "figure13",
                  .title = "Figure 13: without the NCA's graph unit, run times normalized to Pegasus-single"};
  const auto kernels = runs.kernels({pegasus_single, nemesys_no_nca, nemesys_single});
  grid all{.headings = {"kernel", "Pegasus", "noNCA", "NEMESYS"}};
  for (const std::size_t k : kernels) {
    const double pegasus = seconds(runs, k, pegasus_single);
    all.lines.push_back({abbreviation_of(k), "1", times(seconds(runs, k, nemesys_no_nca) / pegasus),
                         times(seconds(runs, k, nemesys_single) / pegasus)});
  }
  part.grids.push_back(std::move(all));
  say_if_empty(part, kernels);
  return part;
}

}  // namespace situ::studies::nemesys
