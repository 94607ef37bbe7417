#include "manycore/manycore.h"

#include <optional>
#include <string>
#include <utility>

#include "manycore/figures.h"
#include "manycore/heap_runs.h"
#include "support/child_program.h"

namespace situ::studies::manycore {
namespace {

struct heap_part {
  const char* name;
  study_part (*make)(const heap_runs&);
};
constexpr heap_part parts[] = {
    {"ratios", ratios}, {"bundles", bundles}, {"stalls", stalls}, {"functions", functions}, {"traffic", traffic}};

// All of them stand on the same runs.
void add_parts(study_result& result, const study_context& context) {
  std::optional<heap_runs> runs;
  for (const heap_part& each : parts) {
    if (!context.wants(each.name) || context.stopped()) continue;
    if (!runs) runs.emplace(context);
    result.parts.push_back(each.make(*runs));
  }
  if (runs) {
    std::vector<std::string>& missing = result.parts.back().missing;
    missing.insert(missing.end(), runs->missing().begin(), runs->missing().end());
  }
  if (context.wants("coherence") && !context.stopped()) result.parts.push_back(coherence(context));
}

}  // namespace

study_result run(const study_context& context) {
  study_result result{
      .name = "manycore-heap",
      .title = "An object heap on the TILE64, reproduced",
      .source = "Paper: Ungar and Adams, Hosting an Object Heap on Manycore Hardware, DLS 2009.",
      .method = {
          "All figures of ours are modelled: the VM examples/squeak on machines/tile64.toml compiles one method "
          "by the image's own compiler; the last of three evaluations is measured.",
          "calibrated: the instructions of a miss of the data TLB, and those of a clock call, so that bundles "
          "double from one tile to two; predicted: all else, written down before (docs/studies/manycore-heap.md)."}};
  std::string lacking = missing_programs({"situ", "situ-model", "squeak_modelled"});
  if (lacking.empty()) lacking = missing_image();
  if (!lacking.empty()) {
    result.parts.push_back(
        {.name = "ratios", .title = "Cycles with several tiles, by those with one", .missing = {std::move(lacking)}});
    return result;
  }
  add_parts(result, context);
  result.was_stopped = context.stopped();
  return result;
}

}  // namespace situ::studies::manycore
