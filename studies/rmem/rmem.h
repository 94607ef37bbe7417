// The study `rmem`: remote memory as RMem's authors measured theirs, and what the ways of replacing pages and of
// fetching ahead are worth, which their paper leaves open.
#pragma once

#include "support/study.h"

namespace situ::studies::rmem {

[[nodiscard]] study_result run(const study_context& context);

}  // namespace situ::studies::rmem
