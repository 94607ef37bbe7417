// The parts of the study.
#pragma once

#include "support/study.h"

namespace situ::studies::gascore {

// Tables 4 to 7: sixteen figures.
[[nodiscard]] study_part tables(const study_context& context);

}  // namespace situ::studies::gascore
