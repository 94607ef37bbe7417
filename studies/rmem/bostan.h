// The study's part `bostan`: RMem on the modelled MPPA-256, beside what its paper and its authors' raw runs say.
#pragma once

#include "support/study.h"

namespace situ::studies::rmem {

[[nodiscard]] study_part on_bostan(const study_context& context);

}  // namespace situ::studies::rmem
