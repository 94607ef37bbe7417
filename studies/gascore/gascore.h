// The study `gascore`: GAScore, PAMS and their network on four chips, cycle by cycle, beside the tables of their paper.
#pragma once

#include "support/study.h"

namespace situ::studies::gascore {

[[nodiscard]] study_result run(const study_context& context);

}  // namespace situ::studies::gascore
