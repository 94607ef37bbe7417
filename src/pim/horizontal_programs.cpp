// Horizontal elements at latches: all bits of an element at once, in neighbouring columns of a row. Logic works on all
// columns alike. A carry moves by one column at a time, which imi can do and bitsimd cannot.
//
// Two rows of a pattern, which the host writes, tell where elements begin and end: `low` has a one in each element's
// lowest column, `top` in its highest. They keep shifts within elements.
//
// Carries: with x and y added and p = x xor y, a column's carry is p ? the carry of the column below : x. All columns
// do that at once, bits - 1 times; then the carry has come from wherever it began. In the lowest column p is left out,
// and the carry into it is 0 for a sum, 1 for a difference (x + not y + 1), whose carry is not (x < y).
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "pim/latch_writer.h"
#include "pim/programs.h"

namespace situ::pim {
namespace {

using role = operand_role;
using op = micro_op;

class row_writer {
 public:
  row_writer(machine::pim_design design, const operation_spec& spec) : to_{design, spec} {}

  micro_program write() {
    const operation what = to_.spec().what;
    if (what == operation::reduce_sum) {
      sum();
    } else {
      if (to_.spec().scalar && takes_b(what)) write_scalar_row();
      result(make());
    }
    return to_.finish();
  }

 private:
  static constexpr std::uint8_t sa = latch_writer::amplifiers;

  static bool takes_b(operation what) noexcept {
    return what != operation::shift_left && what != operation::shift_right && what != operation::broadcast &&
           what != operation::multiply && what != operation::multiply_add;
  }

  // Makes the result in a latch from 1 to 5, and returns that.
  std::uint8_t make() {
    switch (to_.spec().what) {
      case operation::copy: return load(1, role::a);
      case operation::invert: load(1, role::a); return invert(1);
      case operation::logic_and: return logic(op::logic_and);
      case operation::logic_or: return logic(op::logic_or);
      case operation::logic_nand: return logic(op::logic_nand);
      case operation::logic_nor: return logic(op::logic_nor);
      case operation::logic_xor: return logic(op::logic_xor);
      case operation::logic_xnor: return logic(op::logic_xnor);
      case operation::add:
        load(1, role::a);
        load(sa, role::b);
        return add();
      case operation::subtract:
        load(1, role::a);
        load(sa, role::b);
        return subtract();
      case operation::multiply:
      case operation::multiply_add: return multiply();
      case operation::select: load(4, role::condition); return choose();
      case operation::minimum: order(operation::less); return choose();
      case operation::maximum: order(operation::greater); return choose();
      case operation::absolute: return absolute();
      case operation::popcount: return count_ones();
      case operation::shift_left: return shift(true);
      case operation::shift_right: return shift(false);
      case operation::broadcast: return spread_scalar();
      case operation::equal: return equal();
      case operation::not_equal: return invert(equal());
      default: return order(to_.spec().what);
    }
  }

  void result(std::uint8_t from) {
    to_.load_mask();
    to_.store(0, from);
  }

  std::uint8_t load(std::uint8_t d, role which) {
    if (which == role::b && to_.spec().scalar)
      to_.read(scalar_);
    else
      to_.read(which, 0);
    to_.move(d, sa);
    return d;
  }
  std::uint8_t invert(std::uint8_t latch) {
    to_.gate(op::invert, latch, latch);
    return latch;
  }
  void up(std::uint8_t d, std::uint8_t a) { to_.gate(op::shift_left, d, a); }
  void down(std::uint8_t d, std::uint8_t a) { to_.gate(op::shift_right, d, a); }
  void read_low() { to_.read(role::pattern, 0); }
  void read_top() { to_.read(role::pattern, 1); }

  std::uint8_t logic(op gate) {
    load(1, role::a);
    load(sa, role::b);
    to_.gate(gate, 1, 1, sa);
    return 1;
  }

  // Latch 4 ? a : b.
  std::uint8_t choose() {
    load(1, role::a);
    load(sa, role::b);
    to_.gate(op::select, 1, 4, 1, sa);
    return 1;
  }

  // Makes the scalar in each element, in latch 4: the lowest columns' ones, shifted to each of its ones.
  std::uint8_t spread_scalar() {
    const std::uint64_t scalar = *to_.spec().scalar & (~std::uint64_t{0} >> (64 - to_.bits()));
    if (scalar == 0) {
      to_.gate(op::set_zero, 4);
      return 4;
    }
    read_low();
    const auto last = static_cast<unsigned>(std::bit_width(scalar)) - 1;
    bool found = false;
    for (unsigned k = 0; k <= last; ++k) {
      if (to_.scalar_bit(k)) found ? to_.gate(op::logic_or, 4, 4, sa) : to_.move(4, sa);
      found = found || to_.scalar_bit(k);
      if (k < last) up(sa, sa);
    }
    return 4;
  }

  void write_scalar_row() {
    to_.move(sa, spread_scalar());
    scalar_ = to_.scratch();
    to_.write(scalar_);
  }

  // Splits latch 2 by the lowest columns: its ones there go to latch 3, the others stay.
  void split_low() {
    read_low();
    to_.gate(op::logic_and, 3, 2, sa);
    to_.gate(op::logic_xor, 2, 2, 3);
  }

  // Makes carries in latch 4: where latch 2 is set that of the column below, else latch `own`.
  void carry(std::uint8_t own) {
    to_.move(4, own);
    for (unsigned k = 1; k < to_.bits(); ++k) {
      up(sa, 4);
      to_.gate(op::select, 4, 2, sa, own);
    }
  }

  // Makes the sum in latch 5: of carries in 4, p in 2, and 3 in the lowest columns.
  std::uint8_t finish_sum() {
    up(5, 4);
    to_.gate(op::logic_xor, 5, 5, 2);
    read_low();
    to_.gate(op::select, 5, sa, 3, 5);
    return 5;
  }

  // Adds latch 1 and the amplifiers.
  std::uint8_t add() {
    to_.gate(op::logic_xor, 2, 1, sa);
    split_low();
    to_.gate(op::invert, 4, 3);
    to_.gate(op::logic_and, 1, 1, 4);
    carry(1);
    return finish_sum();
  }

  // Latch 1 - the amplifiers.
  std::uint8_t subtract() {
    to_.gate(op::logic_xnor, 2, 1, sa);
    split_low();
    to_.gate(op::logic_or, 1, 1, 3);
    carry(1);
    invert(3);
    return finish_sum();
  }

  // Spreads latch 4's bit in each element's highest column to all of the element's columns.
  void fill_down() {
    if (to_.bits() == 1) return;
    read_top();
    to_.move(3, sa);
    for (unsigned k = 1; k < to_.bits(); ++k) {
      down(sa, 4);
      to_.gate(op::select, 4, 3, 4, sa);
    }
  }

  // The order of a and b as a flag in latch 4. For signed elements, x's highest bits count inverted.
  std::uint8_t order(operation what) {
    const bool swapped = what == operation::greater || what == operation::less_equal;
    const bool inverted = what == operation::less || what == operation::greater;  // of the carry
    load(1, swapped ? role::b : role::a);
    load(sa, swapped ? role::a : role::b);
    to_.gate(op::logic_xnor, 2, 1, sa);
    if (to_.spec().is_signed) {
      read_top();
      to_.gate(op::logic_xor, 1, 1, sa);
    }
    split_low();
    to_.gate(op::logic_or, 1, 1, 3);
    carry(1);
    if (inverted) invert(4);
    fill_down();
    return 4;
  }

  // A carry that comes in at the lowest column leaves the highest one if all columns are equal.
  std::uint8_t equal() {
    load(1, role::a);
    load(sa, role::b);
    to_.gate(op::logic_xnor, 2, 1, sa);
    split_low();
    carry(3);
    fill_down();
    return 4;
  }

  // (a xor s) + s's lowest column, for the sign s in all columns.
  std::uint8_t absolute() {
    load(1, role::a);
    if (!to_.spec().is_signed) return 1;
    to_.move(4, 1);
    fill_down();
    to_.gate(op::logic_xor, 1, 1, 4);
    read_low();
    to_.gate(op::logic_and, sa, sa, 4);
    return add();
  }

  // Adds each bit, shifted to the lowest column, to a count in latch 4.
  std::uint8_t count_ones() {
    load(3, role::a);
    read_low();
    to_.move(1, sa);
    to_.gate(op::set_zero, 4);
    for (unsigned j = 1; j <= to_.bits(); ++j) {
      to_.gate(op::logic_and, sa, 3, 1);
      const auto digits = static_cast<unsigned>(std::bit_width(j));
      for (unsigned digit = 1; digit <= digits; ++digit) {
        if (digit < digits) to_.gate(op::logic_and, 5, 4, sa);
        to_.gate(op::logic_xor, 4, 4, sa);
        if (digit < digits) up(sa, 5);
      }
      if (j < to_.bits()) down(3, 3);
    }
    return 4;
  }

  std::uint8_t shift(bool left) {
    const bool extends = !left && to_.spec().is_signed;
    const std::uint64_t most = extends ? to_.bits() - 1 : to_.bits();
    const auto by = static_cast<unsigned>(std::min<std::uint64_t>(*to_.spec().scalar, most));
    if (by == to_.bits()) {
      to_.gate(op::set_zero, 1);
      return 1;
    }
    left ? read_low() : read_top();
    to_.gate(extends ? op::move : op::invert, 2, sa);
    load(1, role::a);
    for (unsigned k = 0; k < by; ++k) {
      left ? up(sa, 1) : down(sa, 1);
      extends ? to_.gate(op::select, 1, 2, 1, sa) : to_.gate(op::logic_and, 1, sa, 2);
    }
    return 1;
  }

  // Spreads latch 6's bits in lowest columns to all columns of their elements, twice as many at each step.
  void fill_up() {
    for (unsigned filled = 1; filled < to_.bits();) {
      const unsigned more = std::min(filled, to_.bits() - filled);
      up(sa, 6);
      for (unsigned k = 1; k < more; ++k) up(sa, sa);
      to_.gate(op::logic_or, 6, 6, sa);
      filled += more;
    }
  }

  // Adds a latch to the sum in latches 4 and 5: what a column's three bits carry goes to the next one's 5. Latch 1 has
  // zeros in lowest columns, ones elsewhere.
  void save_carries(std::uint8_t addend) {
    to_.gate(op::logic_xor, 7, 4, 5);
    to_.gate(op::select, sa, 7, addend, 4);
    to_.gate(op::logic_xor, 4, 7, addend);
    up(5, sa);
    to_.gate(op::logic_and, 5, 5, 1);
  }

  // Latch 2 is a, moved up bit by bit, latch 3 is b, moved down: its lowest bit says whether a is added.
  std::uint8_t multiply() {
    const bool scalar = to_.spec().scalar.has_value();
    read_low();
    to_.gate(op::invert, 1, sa);
    load(2, role::a);
    if (!scalar) load(3, role::b);
    to_.gate(op::set_zero, 4);
    to_.gate(op::set_zero, 5);
    for (unsigned j = 0; j < to_.bits(); ++j) {
      if (!scalar) add_product();
      if (scalar && to_.scalar_bit(j)) save_carries(2);
      if (j + 1 == to_.bits()) break;
      up(2, 2);
      to_.gate(op::logic_and, 2, 2, 1);
      if (!scalar) down(3, 3);
    }
    if (to_.spec().what == operation::multiply_add) save_carries(load(6, role::c));
    to_.move(1, 4);
    to_.move(sa, 5);
    return add();
  }

  void add_product() {
    to_.gate(op::logic_and, 6, 3, 1);
    to_.gate(op::logic_xor, 6, 6, 3);  // b's lowest bits alone
    fill_up();
    to_.gate(op::logic_and, 6, 6, 2);
    save_carries(6);
  }

  // Counts bit after bit, each picked out by the pattern, which moves up.
  void sum() {
    to_.load_mask();
    load(1, role::a);
    if (to_.masked()) to_.gate(op::logic_and, 1, 1, latch_writer::mask);
    read_low();
    to_.move(2, sa);
    for (unsigned k = 0; k < to_.bits(); ++k) {
      if (k > 0) up(2, 2);
      to_.gate(op::logic_and, sa, 1, 2);
      to_.count();
    }
  }

  latch_writer to_;
  row_name scalar_;
};

}  // namespace

micro_program make_horizontal_program(machine::pim_design design, const operation_spec& spec) {
  if (design == machine::pim_design::bitsimd)
    for (const operand_need& need : operands_of(spec))
      if (need.role == operand_role::pattern)
        throw_error(
            errc::not_supported,
            fmt::format("pim: bitsimd has no shifts, which {} needs: store the elements vertically", text(spec)));
  return row_writer{design, spec}.write();
}

void write_patterns(cell_storage& cells, const block& where, unsigned bits) {
  cells.check_block(where);
  if (where.rows != 2 || bits == 0 || bits > 64)
    throw_error(
        errc::bad_argument,
        fmt::format("pim: a pattern for elements of {} bits in {} rows: 1 to 64 bits, and two rows", bits, where.rows));
  const std::uint32_t columns = cells.shape().columns;
  std::vector<std::uint64_t> low(columns / 64), top(columns / 64);
  for (std::uint32_t first = 0; first + bits <= columns; first += bits) {
    low[first / 64] |= std::uint64_t{1} << (first % 64);
    top[(first + bits - 1) / 64] |= std::uint64_t{1} << ((first + bits - 1) % 64);
  }
  for (std::uint32_t s = 0; s < where.subarrays; ++s) {
    cells.write_row(where.subarray + s, where.row, low);
    cells.write_row(where.subarray + s, where.row + 1, top);
  }
}

}  // namespace situ::pim
