// Sequential references: one thread, the whole network in view, textbook algorithms other than the kernels'.
#pragma once

#include "network.h"

namespace imsuite {

[[nodiscard]] answer reference(const problem& p);

// Whether there is one right answer, that of the reference, once ties are broken as reference.cpp and the kernels both
// say: parents and next nodes are the lowest, of equally good candidates the highest joins a dominating set, links are
// ordered by weight and then by ends. Not so for byzantine (any agreed value may do) and vertexColoring.
[[nodiscard]] bool has_one_answer(kernel k) noexcept;

}  // namespace imsuite
