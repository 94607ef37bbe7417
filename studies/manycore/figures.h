// The parts of the study, from its runs.
#pragma once

#include "manycore/heap_runs.h"
#include "support/study.h"

namespace situ::studies::manycore {

// Cycles by those of one tile: predicted, measured, the paper's, with the aims.
[[nodiscard]] study_part ratios(const heap_runs& runs);
// Figures 9 and 12: the doubled bundles, and what gives them.
[[nodiscard]] study_part bundles(const heap_runs& runs);
// Figures 10 and 14: stalls by kind; what the cycles beyond one tile's are.
[[nodiscard]] study_part stalls(const heap_runs& runs);
// Figure 11: stalls by function.
[[nodiscard]] study_part functions(const heap_runs& runs);
// Batons, words of other tiles, misses.
[[nodiscard]] study_part traffic(const heap_runs& runs);
[[nodiscard]] study_part coherence(const study_context& context);

}  // namespace situ::studies::manycore
