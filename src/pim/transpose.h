// Transposition between the host's elements and bit planes: plane k holds bit k of 64 elements, one a bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pim/instruction_set.h"

namespace situ::pim {

// Writes the lowest `bits` bits of 64 elements of `host_bytes` (1, 2, 4 or 8) bytes: plane k goes to
// planes[k * stride]. pre: bits <= 8 * host_bytes; the processor has the instructions.
void to_planes(instruction_set set, const std::byte* elements, unsigned host_bytes, unsigned bits,
               std::uint64_t* planes, std::size_t stride) noexcept;
// Makes 64 elements of planes. pre: as above. sign_extends: whether the bits above `bits` are the last plane, else
// zero.
void from_planes(instruction_set set, const std::uint64_t* planes, std::size_t stride, unsigned bits, bool sign_extends,
                 unsigned host_bytes, std::byte* elements) noexcept;

}  // namespace situ::pim
