#include "nemesys/nemesys.h"

#include "nemesys/figure8.h"

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
  result.was_stopped = context.stopped();
  result.parts.push_back({.name = "macro",
                          .title = "Tables 4 to 6, figures 9 to 13: the IMSuite kernels",
                          .missing = {"they need programs that run on the modelled machine (instrumented execution)"}});
  return result;
}

}  // namespace situ::studies
