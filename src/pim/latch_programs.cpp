// Vertical elements at latches: bit after bit, a row of each operand at a time.
//
// Additions, subtractions and comparisons use one form of the full adder (PIMeval's, for BitSIMD): with x the first
// input's bit, w what comes from the bits below and t = x xor w, the result is t xor y, and what goes on is
//   a carry    t ? y : w      since if x and w are the same, that is the majority of the three
//   a borrow   t ? w : y
// so a bit costs two reads, three gates and one write.
#include "pim/latch_programs.h"

#include <algorithm>

#include "pim/programs.h"

namespace situ::pim {
namespace {

using role = operand_role;
using op = micro_op;

void write_copy(latch_writer& to) {
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(role::a, i);
    to.store(i, sa);
  }
}

void write_invert(latch_writer& to) {
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(role::a, i);
    to.gate(op::invert, to.out(), sa);
    to.store(i, to.out());
  }
}

bool value_of(op gate, bool a, bool b) noexcept {
  switch (gate) {
    case op::logic_and: return a && b;
    case op::logic_or: return a || b;
    case op::logic_nand: return !(a && b);
    case op::logic_nor: return !(a || b);
    case op::logic_xor: return a != b;
    default: return a == b;
  }
}

// With a bit of the scalar, a gate is a constant, its input or the input's inverse.
void write_logic_scalar(latch_writer& to, op gate) {
  for (unsigned i = 0; i < to.bits(); ++i) {
    const bool of_zero = value_of(gate, false, to.scalar_bit(i));
    if (of_zero == value_of(gate, true, to.scalar_bit(i))) {
      to.store_constant(i, i + 1, of_zero);
      continue;
    }
    to.read(role::a, i);
    if (of_zero) to.gate(op::invert, to.out(), sa);
    to.store(i, of_zero ? to.out() : sa);
  }
}

void write_logic(latch_writer& to, op gate) {
  if (to.spec().scalar) return write_logic_scalar(to, gate);
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(role::a, i);
    to.move(1, sa);
    to.read(role::b, i);
    to.gate(gate, to.out(), sa, 1);
    to.store(i, to.out());
  }
}

// Adds a constant. Below its lowest one nothing changes; the carry is a's bit there.
void write_add_scalar(latch_writer& to, std::uint64_t scalar) {
  bool carries = false;
  for (unsigned i = 0; i < to.bits(); ++i) {
    const bool one = ((scalar >> i) & 1) != 0;
    to.read(role::a, i);
    if (!carries && !one) {
      to.store(i, sa);
    } else if (!carries) {
      to.move(1, sa);
      to.gate(op::invert, to.out(), sa);
      to.store(i, to.out());
    } else {
      to.gate(one ? op::logic_xnor : op::logic_xor, 2, sa, 1);
      to.gate(one ? op::logic_or : op::logic_and, 1, sa, 1);
      to.store(i, 2);
    }
    carries = carries || one;
  }
}

void write_add(latch_writer& to, bool subtracts) {
  if (to.spec().scalar) return write_add_scalar(to, subtracts ? 0 - *to.spec().scalar : *to.spec().scalar);
  to.gate(op::set_zero, 1);
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(role::a, i);
    to.gate(op::logic_xor, 2, sa, 1);
    to.read(role::b, i);
    if (subtracts)
      to.gate(op::select, 1, 2, 1, sa);
    else
      to.gate(op::select, 1, 2, sa, 1);
    to.gate(op::logic_xor, to.out(), sa, 2);
    to.store(i, to.out());
  }
}

// Makes x < y: the borrow of x - y. In the sign's bit the larger one is the less. d: the latch for it.
void write_borrow(latch_writer& to, role x, role y, std::uint8_t d) {
  for (unsigned i = 0; i < to.bits(); ++i) {
    const bool last = i + 1 == to.bits();
    const bool sign = last && to.spec().is_signed;
    to.read(sign ? y : x, i);
    if (i == 0)
      to.gate(op::invert, 1, sa);
    else
      to.gate(op::logic_xor, 2, sa, 1);
    to.read(sign ? x : y, i);
    if (i == 0)
      to.gate(op::logic_and, last ? d : 1, sa, 1);
    else
      to.gate(op::select, last ? d : 1, 2, 1, sa);
  }
}

// Makes a < k, or k < a, of a constant k in latch d; inverted if asked. The value that is kept is the borrow of p - q:
//   p = k   k's bit ? borrow and q : borrow or q
//   q = k   k's bit ? borrow or not p : borrow and not p; with the borrow inverted, a gate less
class scalar_borrow {
 public:
  explicit scalar_borrow(latch_writer& to) : to_{to} {}

  void write(bool scalar_is_less, bool inverted, std::uint8_t d) {
    for (unsigned i = 0; i < to_.bits(); ++i) {
      const bool sign = i + 1 == to_.bits() && to_.spec().is_signed;
      step(i, scalar_is_less != sign);
    }
    if (!known_)
      to_.gate(inverted_ != inverted ? op::invert : op::move, d, 1);
    else
      to_.gate(inverted ? op::set_one : op::set_zero, d);
  }

 private:
  void step(unsigned i, bool first) {
    const bool one = to_.scalar_bit(i);
    if (known_ && first == one) return;  // the borrow stays zero
    to_.read(role::a, i);
    if (known_) {
      to_.move(1, sa);
      inverted_ = !first;
      known_ = false;
      return;
    }
    if (inverted_ == first) {
      to_.gate(op::invert, 1, 1);
      inverted_ = !first;
    }
    to_.gate(one ? op::logic_and : op::logic_or, 1, 1, sa);
  }

  latch_writer& to_;
  bool known_ = true;  // to be zero
  bool inverted_ = false;
};

// The order of a and b in latch d.
void write_order(latch_writer& to, operation what, std::uint8_t d) {
  const bool swapped = what == operation::greater || what == operation::less_equal;
  const bool inverted = what == operation::less_equal || what == operation::greater_equal;
  if (to.spec().scalar) return scalar_borrow{to}.write(swapped, inverted, d);
  write_borrow(to, swapped ? role::b : role::a, swapped ? role::a : role::b, d);
  if (inverted) to.gate(op::invert, d, d);
}

// Returns whether all bits are those of a constant: its ones are and-ed, its zeros or-ed.
void write_equal_scalar(latch_writer& to, bool inverted, std::uint8_t d) {
  bool found[2] = {false, false};
  for (unsigned i = 0; i < to.bits(); ++i) {
    const bool one = to.scalar_bit(i);
    const std::uint8_t latch = one ? 2 : 1;
    to.read(role::a, i);
    if (found[one])
      to.gate(one ? op::logic_and : op::logic_or, latch, latch, sa);
    else
      to.move(latch, sa);
    found[one] = true;
  }
  if (found[0] && found[1]) {
    to.gate(op::invert, 1, 1);
    to.gate(inverted ? op::logic_nand : op::logic_and, d, 1, 2);
  } else {
    to.gate(found[0] != inverted ? op::invert : op::move, d, found[0] ? 1 : 2);
  }
}

void write_equal(latch_writer& to, bool inverted, std::uint8_t d) {
  if (to.spec().scalar) return write_equal_scalar(to, inverted, d);
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(role::a, i);
    to.move(2, sa);
    to.read(role::b, i);
    to.gate(op::logic_xor, i == 0 ? 1 : 2, sa, 2);
    if (i > 0) to.gate(op::logic_or, 1, 1, 2);
  }
  to.gate(inverted ? op::move : op::invert, d, 1);
}

void write_compare(latch_writer& to) {
  const operation what = to.spec().what;
  if (what == operation::equal || what == operation::not_equal)
    write_equal(to, what == operation::not_equal, to.out());
  else
    write_order(to, what, to.out());
  to.store(0, to.out());
}

// Latch 1 ? x : y, where x or y may be the scalar's bits.
void write_choice(latch_writer& to, role x, role y) {
  if (to.spec().scalar) {
    to.gate(op::invert, 3, 1);
    for (unsigned i = 0; i < to.bits(); ++i) {
      to.read(role::a, i);
      to.gate(to.scalar_bit(i) ? op::logic_or : op::logic_and, to.out(), sa, to.scalar_bit(i) ? 3 : 1);
      to.store(i, to.out());
    }
    return;
  }
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(x, i);
    to.move(2, sa);
    to.read(y, i);
    to.gate(op::select, to.out(), 1, 2, sa);
    to.store(i, to.out());
  }
}

void write_select(latch_writer& to) {
  to.read(role::condition, 0);
  to.move(1, sa);
  write_choice(to, role::a, role::b);
}

void write_extreme(latch_writer& to, bool largest) {
  write_order(to, largest ? operation::greater : operation::less, 1);
  write_choice(to, role::a, role::b);
}

// a xor s, plus s, for the sign s in each bit.
void write_absolute(latch_writer& to) {
  if (!to.spec().is_signed) return write_copy(to);
  to.read(role::a, to.bits() - 1);
  to.move(1, sa);
  to.move(2, sa);
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(role::a, i);
    to.gate(op::logic_xor, 3, sa, 1);
    to.gate(op::logic_xor, to.out(), 3, 2);
    if (i + 1 < to.bits()) to.gate(op::logic_and, 2, 2, 3);
    to.store(i, to.out());
  }
}

void write_shift_left(latch_writer& to) {
  const std::uint64_t by = std::min<std::uint64_t>(*to.spec().scalar, to.bits());
  for (unsigned i = to.bits(); i > by; --i) {
    to.read(role::a, i - 1 - static_cast<unsigned>(by));
    to.store(i - 1, sa);
  }
  to.store_constant(0, static_cast<unsigned>(by), false);
}

void write_shift_right(latch_writer& to) {
  const auto by = static_cast<unsigned>(std::min<std::uint64_t>(*to.spec().scalar, to.bits()));
  for (unsigned i = 0; i + by < to.bits(); ++i) {
    to.read(role::a, i + by);
    to.store(i, sa);
  }
  if (!to.spec().is_signed) return to.store_constant(to.bits() - by, to.bits(), false);
  if (by == 0) return;
  to.read(role::a, to.bits() - 1);
  to.move(to.out(), sa);
  for (unsigned i = to.bits() - by; i < to.bits(); ++i) to.store(i, to.out());
}

void write_broadcast(latch_writer& to) {
  for (const bool one : {false, true}) {
    bool set = false;
    for (unsigned i = 0; i < to.bits(); ++i) {
      if (to.scalar_bit(i) != one) continue;
      if (!set) to.gate(one ? op::set_one : op::set_zero, to.out());
      set = true;
      to.store(i, to.out());
    }
  }
}

void write_sum(latch_writer& to) {
  for (unsigned i = 0; i < to.bits(); ++i) {
    to.read(role::a, i);
    if (to.masked()) to.gate(op::logic_and, sa, sa, latch_writer::mask);
    to.count();
  }
}

void write_operation(latch_writer& to) {
  switch (to.spec().what) {
    case operation::copy: return write_copy(to);
    case operation::invert: return write_invert(to);
    case operation::logic_and: return write_logic(to, op::logic_and);
    case operation::logic_or: return write_logic(to, op::logic_or);
    case operation::logic_nand: return write_logic(to, op::logic_nand);
    case operation::logic_nor: return write_logic(to, op::logic_nor);
    case operation::logic_xor: return write_logic(to, op::logic_xor);
    case operation::logic_xnor: return write_logic(to, op::logic_xnor);
    case operation::add: return write_add(to, false);
    case operation::subtract: return write_add(to, true);
    case operation::multiply:
    case operation::multiply_add: return write_multiply(to);
    case operation::select: return write_select(to);
    case operation::minimum: return write_extreme(to, false);
    case operation::maximum: return write_extreme(to, true);
    case operation::absolute: return write_absolute(to);
    case operation::popcount: return write_popcount(to);
    case operation::shift_left: return write_shift_left(to);
    case operation::shift_right: return write_shift_right(to);
    case operation::broadcast: return write_broadcast(to);
    case operation::reduce_sum: return write_sum(to);
    default: return write_compare(to);
  }
}

}  // namespace

micro_program make_latch_program(machine::pim_design design, const operation_spec& spec) {
  latch_writer to{design, spec};
  if (spec.what != operation::popcount) to.load_mask();
  write_operation(to);
  return to.finish();
}

}  // namespace situ::pim
