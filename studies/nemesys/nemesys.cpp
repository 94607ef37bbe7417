#include "nemesys/nemesys.h"

#include <algorithm>
#include <array>

#include "nemesys/figure8.h"
#include "nemesys/macro_figures.h"
#include "nemesys/table5.h"

namespace situ::studies::nemesys {

namespace {

struct macro_part {
  const char* name;
  study_part (*make)(const macro_runs&);
};
constexpr std::array<macro_part, 7> macro_parts{{{"figure9", figure9},
                                                 {"figure10", figure10},
                                                 {"figure11", figure11},
                                                 {"figure12", figure12},
                                                 {"figure13", figure13},
                                                 {"table6", table6},
                                                 {"observations", observations}}};

// All of them stand on the same runs.
void add_macro_parts(study_result& result, const study_context& context) {
  if (std::ranges::none_of(macro_parts, [&](const macro_part& each) { return context.wants(each.name); })) return;
  const macro_runs runs{context};
  for (const macro_part& each : macro_parts)
    if (context.wants(each.name)) result.parts.push_back(each.make(runs));
  result.parts.back().missing.insert(result.parts.back().missing.end(), runs.missing().begin(), runs.missing().end());
}

}  // namespace

study_result run(const study_context& context) {
  study_result result{
      .name = "nemesys",
      .title = "NEMESYS, reproduced",
      .source = "Paper: NEMESYS: Near-Memory Graph Copy Enhanced System-Software, MEMSYS 2019.",
      .method = {
          "All figures of ours are modelled: the graph-copy unit walks real graphs of Situ and counts cycles.",
          "\"ours\" counts words as the paper has them: 4 bytes, pointers too. \"8-byte pointers\" has Situ's.",
          "given: a figure of the paper that goes into the model as it is; calibrated: a constant of the model "
          "was chosen for it; criterion chosen: a threshold that hangs on what we call faster, or full speed; "
          "predicted: "
          "comes out.",
          "MP, Pegasus and NEMESYS are Situ's own transfers message, pull and offload, not the paper's software: "
          "deviations are printed, and no time of a kernel was fitted.",
          "Two constants of the machine, what an adapter and a memory serve at a time, follow from relations between "
          "the means of table 6: its columns of NA usage, MEM usage, MEM via NA, load and store are calibrated so, "
          "figures 9 to 13 and its other columns predicted.",
          "Observations are judged kernel by kernel: by the paper's bounds for all kernels, or, if table 6 has the "
          "figures, for the kernels for which they show what the text observes. \"in part\": not for all of these.",
          "14 compute tiles with one application core each; a core's instructions are those of x86-64, by class."}};
  if (context.wants("figure8")) result.parts.push_back(figure8{context}.run());
  if (!context.stopped() && context.wants("table5")) result.parts.push_back(run_table5(context));
  if (!context.stopped()) add_macro_parts(result, context);
  result.was_stopped = context.stopped();
  return result;
}

}  // namespace situ::studies::nemesys
