// Part `allocation` of the study `pim`: the experiments of Leidel, Wang and Chen, section 5, beside the paper's words.
#pragma once

#include "support/study.h"

namespace situ::studies::pim {

// Starts situ_bench_pim_allocators. Without it the part says what is missing.
[[nodiscard]] study_part allocation(const study_context& context);

}  // namespace situ::studies::pim
