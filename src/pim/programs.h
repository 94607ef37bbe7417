// Programs for operations: one generator for each kind of design.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pim/operation.h>

#include "pim/cell_storage.h"
#include "pim/micro_program.h"

namespace situ::pim {

// Returns the program of a design for an operation; its operands are those of operands_of(). The result's block may be
// that of an input, bit for bit, but not in multiply (of a or b), multiply_add (of a or b) and popcount. Throws
// bad_argument as check(operation_spec), and not_supported, naming design and operation, for what the design cannot do:
// bitsimd has horizontal logic only, and pim_design::none nothing. cost: that of a list of as many commands.
[[nodiscard]] micro_program make_program(machine::pim_design design, const operation_spec& spec);

// Returns the program that copies vertical elements, operand 0, to another width, operand 1: the lowest bits, or more
// of them by the sign or zeros. Throws not_supported for pim_design::none.
[[nodiscard]] micro_program make_conversion(machine::pim_design design, unsigned from_bits, bool is_signed,
                                            unsigned to_bits);

// For imi and bitsimd. pre: check(spec) has passed; the direction is vertical.
[[nodiscard]] micro_program make_latch_program(machine::pim_design design, const operation_spec& spec);
// For imi and bitsimd. pre: check(spec) has passed; the direction is horizontal.
[[nodiscard]] micro_program make_horizontal_program(machine::pim_design design, const operation_spec& spec);
// Writes the rows of operand_role::pattern for elements of a width, in all subarrays of a block of two rows. The host
// does that once for each width and subarray. Throws bad_argument if the block is not in the device, or has other rows.
void write_patterns(cell_storage& cells, const block& where, unsigned bits);
// For ambit and simdram (majority_programs.cpp). pre: check(spec) has passed.
[[nodiscard]] micro_program make_majority_program(machine::pim_design design, const operation_spec& spec);

}  // namespace situ::pim
