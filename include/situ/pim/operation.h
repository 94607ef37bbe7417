// The operations of memories that compute, on vectors of elements: what a program of commands is made for.
//
// As text, in the paper's form (Leidel et al., 3.1), OPERATION.[H|V].TYPE.[T|F]: "ADD.V.I32" adds vertical vectors of
// signed elements of 32 bits, "ADD.V.I32.T" only where a mask is true, "ADD.V.I32 5" adds the constant 5.
//
// Thread-safe: operations are values. cost: reading and printing one, and the list of its operands: a string or two;
// the rest are loads.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/pim/geometry.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::pim {

// Inputs are a, b and c, in this order; results have the elements' width unless said otherwise, and wrap.
enum class operation : std::uint8_t {
  copy,       // a
  invert,     // not a
  logic_and,  // a and b
  logic_or,
  logic_nand,
  logic_nor,
  logic_xor,
  logic_xnor,
  add,           // a + b
  subtract,      // a - b
  multiply,      // a * b; `wide`: of twice the width
  multiply_add,  // a * b + c
  equal,         // a flag, see operation_spec
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  select,  // a if the condition, a flag, is true, else b
  minimum,
  maximum,
  absolute,     // of the least signed value: itself
  popcount,     // the number of a's ones
  shift_left,   // a by a constant number of bits: the scalar
  shift_right,  // the same; copies of the sign come in if the elements are signed
  broadcast,    // the scalar, to all elements
  reduce_sum,   // the sum of all elements of the blocks, to the host; elements behind a vector's end are zero or masked
};

// Returns an operation in its spelling in texts: "ADD", "MUL", "SHL".
[[nodiscard]] std::string_view name(operation what) noexcept;

// Restricts an operation to elements to which the mask, a flag for each, applies. Other elements keep their contents.
enum class mask_use : std::uint8_t { none, when_true, when_false };

// One operation. A flag, of a comparison, a condition or a mask, is one row for vertical elements. For
// horizontal ones it is a row whose columns of an element are all the same.
struct operation_spec {
  operation what = operation::add;
  dimension direction = dimension::vertical;
  unsigned bits = 32;  // of an element, 1 to 64
  bool is_signed = true;
  std::optional<std::uint64_t> scalar;  // a constant in the place of b; its lowest `bits` bits count
  mask_use mask = mask_use::none;
  bool wide = false;  // multiply gives 2 * bits; of vertical elements of up to 32 bits only

  friend bool operator==(const operation_spec&, const operation_spec&) = default;
};

// The parts that blocks have in an operation.
enum class operand_role : std::uint8_t {
  condition,
  a,
  b,
  c,
  result,
  mask,
  pattern,  // of horizontal arithmetic: row 0 has a one in each element's lowest column, row 1 in its highest
};

// A block that an operation needs: a program's operands, in the order of operands_of().
struct operand_need {
  operand_role role = operand_role::a;
  std::uint16_t rows = 0;

  friend bool operator==(const operand_need&, const operand_need&) = default;
};

// Throws bad_argument, naming the operation, for widths outside 1 to 64, for a scalar that the operation does not take
// or lacks, and for `wide` if the operation has no such form.
void check(const operation_spec& spec);
// Returns the operands of its program, in the order condition, a, b, c, result, mask, pattern, without those that it
// does not have. A horizontal program works on one row of each block. Throws as check().
[[nodiscard]] std::vector<operand_need> operands_of(const operation_spec& spec);
// Returns the width of the result: 1 for vertical comparisons, 0 for reduce_sum. Throws as check().
[[nodiscard]] unsigned result_bits(const operation_spec& spec);

// Returns the text of an operation. parse() of it is the operation again.
[[nodiscard]] std::string text(const operation_spec& spec);
// Throws bad_argument, naming the part that is wrong, for a text that is no operation.
[[nodiscard]] operation_spec parse_operation(std::string_view text);

// Returns the sum that a reduce_sum has found, modulo 2^64: ones[k] is the number of ones in bit k of all elements. The
// highest bit of signed elements counts negative.
[[nodiscard]] std::uint64_t weighted_sum(const operation_spec& spec, std::span<const std::uint64_t> ones) noexcept;

}  // namespace situ::pim
