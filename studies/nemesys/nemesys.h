// The study `nemesys`: the experiments of "NEMESYS: Near-Memory Graph Copy Enhanced System-Software" (MEMSYS 2019) on
// modelled hardware, with Situ's own graphs.
#pragma once

#include "support/study.h"

namespace situ::studies::nemesys {

[[nodiscard]] study_result run(const study_context& context);

}  // namespace situ::studies::nemesys
