// Table 5 of NEMESYS: which object graphs the twelve IMSuite kernels copy in their computation, by the copy log of
// examples/imsuite on 14 places. Counts of the program itself: nothing is modelled.
#pragma once

#include <string>

#include "support/study.h"

namespace situ::studies::nemesys {

// Runs `imsuite`, which lies beside the running program. Where it is not there or fails, the part says so.
[[nodiscard]] study_part run_table5(const study_context& context);
// From what imsuite has written as JSON. Throws bad_file where that lacks a kernel or its graphs.
[[nodiscard]] study_part table5_of(const std::string& json);

}  // namespace situ::studies::nemesys
