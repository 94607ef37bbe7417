// Whether an answer is right, from what the question means: no code, order or tie-break is shared with the kernels or
// the references.
#pragma once

#include "network.h"

#include <string>

namespace imsuite {

// Empty where the answer is right, else what is wrong with it, and where.
[[nodiscard]] std::string validate(const problem& p, const answer& a);

}  // namespace imsuite
