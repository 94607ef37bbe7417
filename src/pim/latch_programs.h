// The programs of latch_programs.cpp that fill a file of their own.
#pragma once

#include "pim/latch_writer.h"

namespace situ::pim {

// The sense amplifiers, short: most commands name them.
inline constexpr std::uint8_t sa = latch_writer::amplifiers;

// multiply and multiply_add of vertical elements (latch_multiply.cpp).
void write_multiply(latch_writer& to);
// popcount of vertical elements (latch_popcount.cpp). It reads the mask itself, when a latch is free for it.
void write_popcount(latch_writer& to);

}  // namespace situ::pim
