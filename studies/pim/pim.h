// The study `pim`: memories that compute, by operation and by kernel, beside the host, PIMeval, SIMDRAM and Ambit; and
// bit-contiguous allocation beside the words of its paper.
#pragma once

#include "support/study.h"

namespace situ::studies::pim {

[[nodiscard]] study_result run(const study_context& context);

}  // namespace situ::studies::pim
