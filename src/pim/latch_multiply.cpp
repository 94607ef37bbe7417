// Multiplication of vertical elements: one pass over the multiplicand for each bit of the multiplier, which adds to the
// result's rows. Latches: 1 the carry, 2 the addend's bit, 3 a temporary, 4 the multiplier's bit in all columns.
//
// Under a mask only the first pass holds back what it writes: later ones add zero to elements to which the mask does
// not apply.
#include <cstdint>
#include <vector>

#include "pim/latch_programs.h"

namespace situ::pim {
namespace {

using role = operand_role;
using op = micro_op;
constexpr std::uint8_t carry_latch = 1, addend_latch = 2, temporary_latch = 3, multiplier_latch = 4, old_top_latch = 5;

// Adds the addend latch to the amplifiers, or subtracts it from them: the result in latch d. first: nothing is carried
// yet. last: nothing will be.
void write_step(latch_writer& to, bool subtracts, bool first, bool last, std::uint8_t d) {
  if (first && subtracts) {
    to.gate(op::logic_xor, temporary_latch, sa, addend_latch);
    if (!last) to.gate(op::logic_and, carry_latch, temporary_latch, addend_latch);
    to.move(d, temporary_latch);
    return;
  }
  if (first) {
    if (!last) to.gate(op::logic_and, carry_latch, sa, addend_latch);
    to.gate(op::logic_xor, d, sa, addend_latch);
    return;
  }
  to.gate(op::logic_xor, temporary_latch, addend_latch, carry_latch);
  if (!subtracts && !last) to.gate(op::select, carry_latch, temporary_latch, sa, carry_latch);
  to.gate(op::logic_xor, d, sa, temporary_latch);
  // In columns in which the addend and the last borrow differ, the borrow is the inverse of the amplifiers, that is, of
  // the result.
  if (subtracts && !last) to.gate(op::select, carry_latch, temporary_latch, d, carry_latch);
}

// Adds a * latch `by`, moved up by `shift` bits, to rows of `from`: the result's, or in a first pass c's.
void write_pass(latch_writer& to, unsigned shift, bool subtracts, role from, bool has_factor, std::uint8_t by) {
  const bool first_pass = from != role::result;
  for (unsigned i = 0; i + shift < to.bits(); ++i) {
    to.read(role::a, i);
    if (has_factor)
      to.gate(op::logic_and, addend_latch, sa, by);
    else
      to.move(addend_latch, sa);
    to.read(from, i + shift);
    const std::uint8_t d = first_pass ? to.out() : sa;
    write_step(to, subtracts, i == 0, i + shift + 1 == to.bits(), d);
    if (first_pass)
      to.store(i + shift, d);
    else
      to.write(to.row(role::result, i + shift));
  }
}

void load_multiplier(latch_writer& to, unsigned j) {
  to.read(role::b, j);
  if (j > 0 && to.masked())
    to.gate(op::logic_and, multiplier_latch, sa, latch_writer::mask);
  else
    to.move(multiplier_latch, sa);
}

// Writes a * the multiplier's lowest bit to the result.
void write_first_product(latch_writer& to) {
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(role::a, i);
    to.gate(op::logic_and, to.out(), sa, multiplier_latch);
    to.store(i, to.out());
  }
}

void write_low_product(latch_writer& to) {
  load_multiplier(to, 0);
  if (to.spec().what == operation::multiply_add)
    write_pass(to, 0, false, role::c, true, multiplier_latch);
  else
    write_first_product(to);
  for (unsigned j = 1; j < to.bits(); ++j) {
    load_multiplier(to, j);
    write_pass(to, j, false, role::result, true, multiplier_latch);
  }
}

// A digit of a constant: 1 or -1 at a bit.
struct signed_digit {
  unsigned bit = 0;
  bool negative = false;
};

// Returns the constant's non-adjacent form, modulo 2^bits: of all forms the one with the fewest digits, at most every
// second one.
std::vector<signed_digit> digits_of(std::uint64_t scalar, unsigned bits) {
  std::vector<signed_digit> digits;
  bool carried = false;
  for (unsigned i = 0; i < bits; ++i) {
    const bool one = (((scalar >> i) & 1) != 0) != carried;
    if (!one) continue;  // a carry into a one goes on, one into a zero was a one
    const bool next = i + 1 < bits && ((scalar >> (i + 1)) & 1) != 0;
    digits.push_back({i, next});
    carried = next;
  }
  return digits;
}

// Writes a, or -a, moved up to a bit, over zeros.
void write_first_digit(latch_writer& to, const signed_digit& digit) {
  to.store_constant(0, digit.bit, false);
  for (unsigned i = 0; i + digit.bit < to.bits(); ++i) {
    to.read(role::a, i);
    if (digit.negative && i == 0) to.move(carry_latch, sa);
    if (!digit.negative || i == 0) {
      to.store(i + digit.bit, sa);
      continue;
    }
    to.gate(op::logic_xor, temporary_latch, sa, carry_latch);
    to.gate(op::logic_or, carry_latch, sa, carry_latch);
    to.store(i + digit.bit, temporary_latch);
  }
}

void write_scalar_product(latch_writer& to) {
  const std::vector<signed_digit> digits = digits_of(*to.spec().scalar, to.bits());
  const bool adds = to.spec().what == operation::multiply_add;
  const unsigned lowest = digits.empty() ? to.bits() : digits.front().bit;
  if (adds) {
    for (unsigned i = 0; i < lowest; ++i) {
      to.read(role::c, i);
      to.store(i, sa);
    }
  } else if (digits.empty()) {
    to.store_constant(0, to.bits(), false);
  }
  for (std::size_t k = 0; k < digits.size(); ++k) {
    if (k == 0 && !adds)
      write_first_digit(to, digits[k]);
    else if (k == 0)
      write_pass(to, digits[k].bit, digits[k].negative, role::c, false, 0);
    else
      write_pass(to, digits[k].bit, digits[k].negative, role::result, to.masked(), latch_writer::mask);
  }
}

// The product's whole width. After pass j the result has n + j + 1 bits (n after the first). A pass adds n bits to the
// highest ones; for signed elements n + 1, both sides extended by their signs, and the last pass subtracts, since the
// multiplier's highest bit is negative.
class wide_product {
 public:
  explicit wide_product(latch_writer& to) : to_{to}, filled_{to.bits()} {}

  void write() {
    load_multiplier(to_, 0);
    write_first_product(to_);
    for (unsigned j = 1; j < to_.bits(); ++j) {
      load_multiplier(to_, j);
      if (to_.spec().is_signed)
        signed_pass(j);
      else
        unsigned_pass(j);
      filled_ = to_.bits() + j + 1;
    }
    to_.store_constant(filled_, 2 * to_.bits(), false);  // of one bit: the product is 0 or 1
  }

 private:
  void load_addend(unsigned i) {
    to_.read(role::a, i);
    to_.gate(op::logic_and, addend_latch, sa, multiplier_latch);
  }

  void write_result(unsigned i, std::uint8_t from) {
    if (i >= filled_) return to_.store(i, from);
    to_.move(sa, from);
    to_.write(to_.row(role::result, i));
  }

  void unsigned_pass(unsigned j) {
    for (unsigned i = 0; i < to_.bits(); ++i) {
      load_addend(i);
      if (i + j < filled_)
        to_.read(role::result, i + j);
      else
        to_.gate(op::set_zero, sa);
      write_step(to_, false, i == 0, false, latch_writer::held);
      write_result(i + j, latch_writer::held);
    }
    write_result(to_.bits() + j, carry_latch);
  }

  void signed_pass(unsigned j) {
    const unsigned n = to_.bits();
    for (unsigned i = 0; i <= n; ++i) {
      if (i < n) load_addend(i);
      if (i + j < filled_)
        to_.read(role::result, i + j);
      else
        to_.move(sa, old_top_latch);
      if (i + j + 1 == filled_) to_.move(old_top_latch, sa);
      write_step(to_, j + 1 == n, i == 0, i == n, latch_writer::held);
      write_result(i + j, latch_writer::held);
    }
  }

  latch_writer& to_;
  unsigned filled_;  // bits of the result that the passes before have written
};

}  // namespace

void write_multiply(latch_writer& to) {
  if (to.spec().wide) return wide_product{to}.write();
  if (to.spec().scalar) return write_scalar_product(to);
  write_low_product(to);
}

}  // namespace situ::pim
