// Programs of rows (ambit, simdram) for vertical elements: rows of bits, the lowest first. make_majority_program
// (programs.h) names the rows of an operation and calls these.
#pragma once

#include <cstdint>
#include <vector>

#include "pim/row_gates.h"

namespace situ::pim {

using bit_rows = std::vector<row_name>;

// The rows of an operation. b may be constants: a scalar's bits.
struct operation_rows {
  bit_rows a, b, c, result;
  row_name condition, mask;
};

// s = a > b, or with or_equal a >= b.
void write_greater(row_gates& gates, row_name s, const bit_rows& a, const bit_rows& b, bool is_signed, bool or_equal);
// d = a * b: of as many bits as a, or of twice as many. d is neither a nor b.
void write_multiply(row_gates& gates, const bit_rows& d, const bit_rows& a, const bit_rows& b, bool is_signed);
// d = a * b + c, of as many bits as a. d may be c, but neither a nor b.
void write_multiply_add(row_gates& gates, const bit_rows& d, const bit_rows& a, const bit_rows& b, const bit_rows& c);
// d = a * factor + c, all of d.size() bits: a shifted addition or subtraction for each digit of the factor that is not
// zero, in the form of the fewest. d may be c, but not a.
void write_scaled(row_gates& gates, const bit_rows& d, const bit_rows& a, std::uint64_t factor, const bit_rows& c);
// d = the number of ones in a. d is not a.
void write_popcount(row_gates& gates, const bit_rows& d, const bit_rows& a);

}  // namespace situ::pim
