// Figures 9 to 13, table 6 and the observations of section 5.4, from runs of the kernels.
//
// The paper gives its bars as drawings and few of them in figures: the ranges of speed-ups and of communication time,
// and table 6. A row without a figure of the paper says so.
#pragma once

#include <vector>

#include "nemesys/macro_runs.h"
#include "support/study.h"

namespace situ::studies::nemesys {

[[nodiscard]] study_part figure9(const macro_runs& runs);
[[nodiscard]] study_part figure10(const macro_runs& runs);
[[nodiscard]] study_part figure11(const macro_runs& runs);
[[nodiscard]] study_part figure12(const macro_runs& runs);
[[nodiscard]] study_part figure13(const macro_runs& runs);
// is_fitted: on the machine with the figures that were fitted to this table, so some of its columns are calibrated.
[[nodiscard]] study_part table6(const macro_runs& runs, bool is_fitted = false);
// The ranges of the abstract, the text's observations 1 to 11 and those of 5.4.5 to 5.4.7: for which kernels each
// holds.
[[nodiscard]] study_part observations(const macro_runs& runs);

}  // namespace situ::studies::nemesys
