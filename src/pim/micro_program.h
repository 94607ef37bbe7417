// Micro-programs: lists of the commands that a subarray carries out on whole rows.
//
// Two kinds of designs, one list of commands:
//   latches (imi, bitsimd)     a row is read to the sense amplifiers (latch 0) or written from them; logic works on
// latches
//   rows (ambit, simdram)      AP opens an address and precharges; AAP opens a first address, then a second one, whose
//                              cells take what the first one's hold. Some addresses open two or three rows at once:
//                              three become the majority of the three (and are destroyed: all three hold it)
//
// A program names rows by operand and bit, so one program serves all blocks: row b of operand k is row b of the block
// that is bound to it. Scratch rows are an operand of their own. Rows for computing (T0-T3 and so on) belong to each
// subarray, beside the rows that programs allocate.
#pragma once

#include <situ/pim/counts.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace situ::pim {

enum class micro_op : std::uint8_t {
  // latches: d, a, b, c are latches; latch 0 is the sense amplifiers
  read_row,   // latch 0 = row
  write_row,  // row = latch 0
  set_zero,   // d = 0
  set_one,    // d = 1
  move,       // d = a
  invert,     // d = not a
  logic_and,  // d = a and b
  logic_or,
  logic_nand,
  logic_nor,
  logic_xor,
  logic_xnor,
  select,       // d = a ? b : c
  shift_left,   // d = a moved by one column towards higher columns; column 0 gets 0
  shift_right,  // d = a moved by one column towards lower columns; the last column gets 0
  count_ones,   // the periphery counts the ones of latch 0; the program's caller gets the sum
  // rows
  ap,   // opens `row`
  aap,  // opens `row`, then `to`
};

inline constexpr unsigned latches = 8;  // of a subarray, with the sense amplifiers

// The addresses of the rows for computing: Ambit's B-group (Seshadri et al., MICRO 2017, table 1) and its C-group. A
// dual-contact cell has two addresses: through the second one (n) it is read and written inverted.
enum class own_row : std::uint8_t {
  t0,
  t1,
  t2,
  t3,
  dcc0,
  dcc0n,
  dcc1,
  dcc1n,
  dcc0n_t0,
  dcc1n_t1,
  t2_t3,
  t0_t3,  // two rows: for writing, or if both hold the same
  t0_t1_t2,
  t1_t2_t3,
  dcc0_t1_t2,
  dcc1_t0_t3,  // three rows
  zero,
  one,  // constants: never written
};

// A row as programs name it.
struct row_name {
  static constexpr std::uint8_t own = 255;      // `bit` is an own_row
  static constexpr std::uint8_t scratch = 254;  // row `bit` of the scratch block
  std::uint8_t operand = own;                   // else the operand's number
  std::uint16_t bit = 0;

  row_name() = default;
  constexpr row_name(std::uint8_t of, std::uint16_t at) : operand{of}, bit{at} {}
  constexpr row_name(own_row which) : operand{own}, bit{static_cast<std::uint16_t>(which)} {}  // implicit, for tables
  friend bool operator==(const row_name&, const row_name&) = default;
};

struct command {
  micro_op op = micro_op::ap;
  std::uint8_t d = 0, a = 0, b = 0, c = 0;  // latches
  row_name row, to;
};

struct micro_program {
  std::string name;  // for errors: "add.v.i32"
  std::vector<command> commands;
  std::uint8_t operands = 0;  // that must be bound
  std::uint16_t scratch_rows = 0;

  void read(row_name row) { commands.push_back({.op = micro_op::read_row, .row = row}); }
  void write(row_name row) { commands.push_back({.op = micro_op::write_row, .row = row}); }
  void logic(micro_op op, std::uint8_t d, std::uint8_t a = 0, std::uint8_t b = 0, std::uint8_t c = 0) {
    commands.push_back({.op = op, .d = d, .a = a, .b = b, .c = c});
  }
  void ap(row_name row) { commands.push_back({.op = micro_op::ap, .row = row}); }
  void aap(row_name row, row_name to) { commands.push_back({.op = micro_op::aap, .row = row, .to = to}); }
};

}  // namespace situ::pim
