#include "gascore/gascore.h"

#include <string_view>
#include <utility>

#include "gascore/parts.h"

namespace situ::studies::gascore {

study_result run(const study_context& context) {
  study_result result{
      .name = "gascore",
      .title = "GAScore and PAMS, reproduced",
      .source =
          "Paper: Willenberg and Chow, A Remote Memory Access Infrastructure for Global Address Space Programming "
          "Models in FPGAs, FPGA 2013.",
      .method = {
          "Times are modelled: programs of PAMS run on sixteen nodes of four chips in a ring, cycle by cycle "
          "(docs/design/message_units.md). A time is what a node's ArrivalTime register has, as in the paper, less the "
          "common start time.",
          "calibrated: a constant of the model was chosen by this figure; predicted: it follows."}};
  const std::pair<std::string_view, study_part (*)(const study_context&)> parts[] = {
      {"tables", tables}, {"cycles", cycles}, {"bandwidth", bandwidth}, {"barriers", barriers},
      {"halo", halos},    {"ring", ring},     {"speed", speeds},        {"sizes", sizes}};
  for (const auto& [name, part] : parts) {
    if (!context.wants(name)) continue;
    if (context.stopped()) break;
    result.parts.push_back(part(context));
  }
  result.was_stopped = context.stopped();
  return result;
}

}  // namespace situ::studies::gascore
