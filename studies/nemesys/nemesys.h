// The study `nemesys`: the experiments of "NEMESYS: Near-Memory Graph Copy Enhanced System-Software" (MEMSYS 2019) on
// modelled hardware, with Situ's own graphs.
#pragma once

#include "support/study.h"

namespace situ::studies::nemesys {

// On machines without a figure from the paper's results on kernels.
[[nodiscard]] study_result run(const study_context& context);
// The study `nemesys-fitted`: the kernels alone, on the machines with two figures fitted to table 6.
[[nodiscard]] study_result run_fitted(const study_context& context);
// The study `nemesys-ranges`: what changes if an assumed figure of the machine is at an end of its range.
[[nodiscard]] study_result run_ranges(const study_context& context);

}  // namespace situ::studies::nemesys
