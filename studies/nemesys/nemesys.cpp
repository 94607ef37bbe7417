#include "nemesys/nemesys.h"

#include <situ/machine/toml.h>

#include <algorithm>
#include <vector>

#include "nemesys/figure8.h"
#include "nemesys/macro_figures.h"
#include "nemesys/table5.h"
#include "support/machine_files.h"

namespace situ::studies::nemesys {

namespace {

using enum variant;

struct macro_part {
  const char* name;
  study_part (*make)(const macro_runs&, bool is_fitted);
  std::vector<variant> needs;  // empty: all
};
template <study_part (*Make)(const macro_runs&)>
study_part alike(const macro_runs& runs, bool /*is_fitted*/) {
  return Make(runs);
}
const std::vector<macro_part>& macro_parts() {
  static const std::vector<macro_part> parts{
      {"figure9",
       alike<figure9>,
       {message_single, message_twin, pegasus_single, pegasus_twin, nemesys_single, nemesys_twin, nemesys_no_dummies}},
      {"figure10",
       alike<figure10>,
       {pegasus_single_timed, pegasus_twin_timed, nemesys_single_timed, nemesys_twin_timed}},
      {"figure11",
       alike<figure11>,
       {small_message, small_pegasus, small_nemesys, pegasus_single, nemesys_single, pegasus_twin}},
      {"figure12",
       alike<figure12>,
       {pegasus_single, nemesys_single, pegasus_l2_8, pegasus_l2_16, nemesys_l2_8, nemesys_l2_16}},
      {"figure13", alike<figure13>, {pegasus_single, nemesys_no_nca, nemesys_single}},
      {"table6", table6, {nemesys_single, pegasus_single, nemesys_twin, pegasus_twin}},
      {"observations", alike<observations>, {}}};
  return parts;
}

// Returns the variants that the wanted parts need, each once; empty: all.
std::vector<variant> needed_by(const std::vector<const macro_part*>& wanted) {
  std::vector<variant> needed;
  for (const macro_part* each : wanted) {
    if (each->needs.empty()) return {};
    needed.insert(needed.end(), each->needs.begin(), each->needs.end());
  }
  std::ranges::sort(needed);
  const auto repeated = std::ranges::unique(needed);
  needed.erase(repeated.begin(), repeated.end());
  return needed;
}

// All of them stand on the same runs.
void add_macro_parts(study_result& result, const study_context& context, bool is_fitted) {
  std::vector<const macro_part*> wanted;
  for (const macro_part& each : macro_parts())
    if (context.wants(each.name)) wanted.push_back(&each);
  if (wanted.empty()) return;
  const macro_runs runs{context, {.is_fitted = is_fitted, .settings = {}, .variants = needed_by(wanted)}};
  for (const macro_part* each : wanted) result.parts.push_back(each->make(runs, is_fitted));
  result.parts.back().missing.insert(result.parts.back().missing.end(), runs.missing().begin(), runs.missing().end());
}

study_part assumed_part() {
  study_part part{.name = "assumed", .title = "The machine's figures that the paper does not give"};
  grid all{.title = "nemesys-4x4.toml", .headings = {"figure", "value", "range", "reason"}};
  std::vector<machine::assumption> assumed;
  static_cast<void>(machine::parse_toml(nemesys_4x4_toml(), "nemesys-4x4.toml", nullptr, &assumed));
  for (const machine::assumption& each : assumed)
    all.lines.push_back({each.figure, each.value, machine::range_of(each), each.source});
  part.grids.push_back(std::move(all));
  part.notes.emplace_back("situ study run nemesys-ranges has what the ends of these ranges change.");
  return part;
}

constexpr const char* source = "Paper: NEMESYS: Near-Memory Graph Copy Enhanced System-Software, MEMSYS 2019.";
constexpr const char* origins =
    "given: a figure of the paper that goes into the model as it is; calibrated: a constant of the model was chosen "
    "for it; criterion chosen: a threshold that hangs on what we call faster, or full speed; predicted: comes out.";
constexpr const char* own_transfers =
    "MP, Pegasus and NEMESYS are Situ's own transfers message, pull and offload, not the paper's software: "
    "deviations are printed, and no time of a kernel was fitted.";
constexpr const char* free_of_results =
    "No figure of the machine follows from the paper's results on the kernels (figures 9 to 13, table 6): those that "
    "section 5.1 does not give are assumed, and three of these have a reason in figure 8.";
constexpr const char* judging =
    "Observations are judged kernel by kernel: by the paper's bounds for all kernels, or, if table 6 has the "
    "figures, for the kernels for which they show what the text observes. \"in part\": not for all of these.";
constexpr const char* cores =
    "14 compute tiles with one application core each; a core's instructions are those of x86-64, by class.";

}  // namespace

study_result run(const study_context& context) {
  study_result result{
      .name = "nemesys",
      .title = "NEMESYS, reproduced",
      .source = source,
      .method = {"All figures of ours are modelled: the graph-copy unit walks real graphs of Situ and counts cycles.",
                 "\"ours\" counts words as the paper has them: 4 bytes, pointers too. \"8-byte pointers\" has Situ's.",
                 origins, own_transfers, free_of_results, judging, cores}};
  if (context.wants("figure8")) result.parts.push_back(figure8{context}.run());
  if (!context.stopped() && context.wants("table5")) result.parts.push_back(run_table5(context));
  if (context.wants("assumed")) result.parts.push_back(assumed_part());
  if (!context.stopped()) add_macro_parts(result, context, false);
  result.was_stopped = context.stopped();
  return result;
}

study_result run_fitted(const study_context& context) {
  study_result result{
      .name = "nemesys-fitted",
      .title = "NEMESYS on a machine that was fitted to its table 6",
      .source = source,
      .method = {
          own_transfers,
          "calibrated: two constants of the machine, what an adapter and a memory serve at a time, follow from "
          "relations between the means of table 6: its columns of NA usage, MEM usage, MEM via NA, load and store; "
          "figures 9 to 13 and its other columns come out of a machine with these constants.",
          judging, cores}};
  add_macro_parts(result, context, true);
  result.was_stopped = context.stopped();
  return result;
}

}  // namespace situ::studies::nemesys
