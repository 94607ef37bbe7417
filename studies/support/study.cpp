#include "support/study.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gascore/gascore.h"
#include "host/host.h"
#include "manycore/manycore.h"
#include "nemesys/nemesys.h"
#include "pim/pim.h"
#include "rmem/rmem.h"
#include "support/child_program.h"

namespace situ::studies {

std::string_view name(origin of) noexcept {
  switch (of) {
    case origin::given: return "given";
    case origin::calibrated: return "calibrated";
    case origin::criterion: return "criterion chosen";
    case origin::measured: return "measured";
    case origin::predicted: break;
  }
  return "predicted";
}

std::optional<double> comparison_row::deviation() const {
  if (!ours || !paper) return std::nullopt;
  const double least = *paper;
  const double most = paper_most.value_or(least);
  const auto beyond = [&](double value) {
    if (value < least) return (value - least) / least * 100;
    return value > most ? (value - most) / most * 100 : 0.0;
  };
  const double first = beyond(*ours);
  const double second = beyond(ours_most.value_or(*ours));
  return std::abs(first) >= std::abs(second) ? first : second;
}

const std::vector<study_info>& all_studies() {
  static const std::vector<study_info> all{
      {"nemesys",
       "NEMESYS (MEMSYS 2019): a near-memory graph-copy unit; figures 8 to 13, tables 5 and 6",
       nemesys::run,
       {"figure8", "table5", "assumed", "figure9", "figure10", "figure11", "figure12", "figure13", "table6",
        "observations"},
       {{"situ"},
        {"situ-model",
         {"figure8", "figure9", "figure10", "figure11", "figure12", "figure13", "table6", "observations"}},
        {"imsuite", {"table5"}},
        {"imsuite_modelled", {"figure9", "figure10", "figure11", "figure12", "figure13", "table6", "observations"}},
        {"nemesys_software_copies_modelled", {"figure8"}}}},
      {"nemesys-fitted",
       "its kernels on the machine that was fitted to its table 6",
       nemesys::run_fitted,
       {"figure9", "figure10", "figure11", "figure12", "figure13", "table6", "observations"},
       {{"situ"}, {"situ-model"}, {"imsuite_modelled"}}},
      {"nemesys-ranges",
       "its kernels with assumed figures of the machine at the ends of their ranges",
       nemesys::run_ranges,
       {},
       {{"situ"}, {"situ-model"}, {"imsuite_modelled"}}},
      {"host",
       "this machine: kernels predicted by its model, and measured",
       host::run,
       {},
       {{"situ"}, {"situ-model"}, {"host_kernels"}, {"host_kernels_modelled"}}},
      {"pim",
       "memories that compute (MCHPC 2017): operations, kernels, energy, allocation",
       pim::run,
       {"commands", "energy", "operations", "simulation", "kernels", "allocation"},
       {{"situ_bench_pim_allocators", {"allocation"}}}},
      {"manycore-heap",
       "an object heap on the TILE64 (DLS 2009): a Squeak VM on 1, 2 and 56 tiles; section 5",
       manycore::run,
       {"ratios", "bundles", "stalls", "functions", "traffic", "coherence"},
       {{"situ"}, {"situ-model"}, {"squeak_modelled"}}},
      {"rmem",
       "remote memory on this host, as RMem's authors measured theirs; which pages go, which come along",
       rmem::run,
       {"replacement", "prefetch", "time", "sizes", "peers", "bostan"}},
      {"gascore",
       "active messages of FPGAs (FPGA 2013): GAScore and PAMS, cycle by cycle; tables 4 to 7, figure 10",
       gascore::run,
       {"tables", "cycles", "bandwidth", "barriers", "halo", "ring", "speed", "sizes"}}};
  return all;
}

const study_info& study_named(std::string_view name) {
  std::string names;
  for (const study_info& each : all_studies()) {
    if (each.name == name) return each;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  throw_error(errc::bad_argument, fmt::format("there is no study {}: there is {}", name, names));
}

void check_parts(const study_info& study, const std::vector<std::string>& only) {
  for (const std::string& each : only)
    if (std::ranges::find(study.parts, each) == study.parts.end())
      throw_error(errc::bad_argument,
                  study.parts.empty() ? fmt::format("the study {} runs as a whole: it has no part {}", study.name, each)
                                      : fmt::format("the study {} has no part {}: there is {}", study.name, each,
                                                    fmt::join(study.parts, ", ")));
}

std::string lacking_programs(const study_info& study, const study_context& context) {
  std::vector<std::string_view> names;
  for (const needed_program& each : study.programs)
    if (each.parts.empty() ||
        std::ranges::any_of(each.parts, [&](std::string_view part) { return context.wants(part); }))
      names.push_back(each.name);
  const std::string missing = missing_programs(names);
  return missing.empty() ? missing : fmt::format("the study {} lacks programs: {}", study.name, missing);
}

}  // namespace situ::studies
