#include "nemesys/nemesys.h"

#include "nemesys/figure8.h"
#include "nemesys/table5.h"

namespace situ::studies {

study_result run_nemesys(const study_context& context) {
  study_result result{
      .name = "nemesys",
      .title = "NEMESYS, reproduced",
      .source = "Paper: NEMESYS: Near-Memory Graph Copy Enhanced System-Software, MEMSYS 2019.",
      .method = {"All figures of ours are modelled: the graph-copy unit walks real graphs of Situ and counts cycles.",
                 "\"ours\" counts words as the paper has them: 4 bytes, pointers too. \"8-byte pointers\" has Situ's.",
                 "given: a figure of the paper that goes into the model as it is; calibrated: a constant of the model "
                 "was chosen for it; criterion chosen: a threshold that hangs on what we call faster, or full speed; "
                 "predicted: "
                 "comes out."}};
  figure8 measured{context};
  result.parts.push_back(measured.run());
  if (!context.stopped()) result.parts.push_back(run_table5(context));
  result.was_stopped = context.stopped();
  result.parts.push_back(
      {.name = "macro",
       .title = "Table 6, figures 9 to 13: the IMSuite kernels on the modelled machine",
       .missing = {"the kernels run on it (situ model run), the study does not hold them against the paper yet"}});
  return result;
}

}  // namespace situ::studies
