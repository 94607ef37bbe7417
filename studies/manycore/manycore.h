// The study `manycore-heap`: Ungar and Adams, Hosting an Object Heap on Manycore Hardware (DLS 2009), section 5.
#pragma once

#include "support/study.h"

namespace situ::studies::manycore {

[[nodiscard]] study_result run(const study_context& context);

}  // namespace situ::studies::manycore
