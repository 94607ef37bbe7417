// What a message does not tell: padding, and alternatives of choices that are not there. A copy within the job keeps
// them as they are.
#pragma once

#include <situ/graph/detail/descriptor.h>

#include <cstddef>
#include <cstdint>

namespace situ::detail {

// Sets the gaps of objects of one type, or of a part of a block, to zero. `bytes`: of whole objects, in units of 8; of
// a block, whole periods, or up to its end. pre: type.has_gaps. cost: a load and a store for each word with a gap.
void clear_gaps(std::byte* memory, std::uint64_t bytes, const type_descriptor& type) noexcept;

}  // namespace situ::detail
