// The checks of a program's rows that need no data: done once, when a program is made or bound.
//
// Undefined rows: when a program starts, the rows for computing and the scratch rows hold what an earlier program left
// there. A program may not read it: a row is defined once a command of this program writes it (as the second address of
// an aap, or by write_row). Three rows that a command opens at once stay defined: all hold the majority, which is what
// programs of majorities go on with.
//
// Destroyed rows: blocks of two operands may share rows, as when a result goes over an operand. Then a command that
// writes one operand destroys rows of the other one, and no later command may read these under the other one's name.
//
// The run checks the rest: that two cells which a command opens at once hold the same bits (run_row_commands).
#pragma once

#include <situ/pim/geometry.h>

#include <cstdint>
#include <span>
#include <string>

#include "pim/micro_program.h"

namespace situ::pim {

// Throws bad_argument, naming the program, the command's number (the first is 0) and its text, if a command reads a row
// that is not defined, or writes a constant. undefined_operands: bit k says that the rows of operand k are undefined
// when the program starts, too. cost: one pass over the commands.
void check_defined_rows(const micro_program& program, std::uint64_t undefined_operands = 0);

// Returns the two cells that an address opens, for errors: "t0 and t3". pre: it opens two.
[[nodiscard]] std::string opened_together(const row_name& pair);

// Throws bad_argument, naming the program, the command's number and its text, and the command that destroyed the row,
// if a command reads a destroyed row. operands, scratch: the blocks that the program is bound to, in the same
// subarrays; an empty scratch block: none. cost: nothing unless blocks share rows; then one pass over the commands.
void check_shared_rows(const micro_program& program, std::span<const block> operands, const block& scratch);

}  // namespace situ::pim
