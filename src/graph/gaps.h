// Gaps: bytes that a message leaves out, which are padding and inactive alternatives of choices. A copy within the job
// keeps them unchanged.
#pragma once

#include <situ/graph/detail/descriptor.h>

#include <cstddef>
#include <cstdint>

namespace situ::detail {

// Sets the gaps of objects of one type, or of a part of a block, to zero. `bytes`: whole objects, a multiple of 8; of a
// block, whole periods, or the rest of the block. pre: type.has_gaps. cost: a load and a store for each word with a
// gap.
void clear_gaps(std::byte* memory, std::uint64_t bytes, const type_descriptor& type) noexcept;

}  // namespace situ::detail
