#include "pim/row_gates.h"

namespace situ::pim {

void ambit_gates::start(own_row constant) { state_ = constant; }

void ambit_gates::keep(row_name state) {
  if (!at_constant() && state_ != state) scratch().give(state_);
  state_ = state;
}

void ambit_gates::end(row_name d) {
  copy(d, state_);
  if (!at_constant()) scratch().give(state_);
  state_ = row_name{};
}

void ambit_gates::start_add() { start(own_row::zero); }
void ambit_gates::start_subtract() { start(own_row::one); }
void ambit_gates::end_add(row_name d) { end(d); }

// With carry c: a xor b xor c, and the next carry (a and b) or ((a xor b) and c). With a constant carry, half of it.
void ambit_gates::add(row_name d, row_name a, row_name b, bool keeps_carry) {
  const row_name c = state_;
  if (at_constant()) {
    const bool one = c == row_name{own_row::one};
    if (keeps_carry) {
      const row_name next = scratch().take();
      logic(one ? micro_op::logic_or : micro_op::logic_and, next, a, b);
      keep(next);
    }
    logic(one ? micro_op::logic_xnor : micro_op::logic_xor, d, a, b);
    return;
  }
  const row_name differ = scratch().take();
  logic(micro_op::logic_xor, differ, a, b);
  if (keeps_carry) {
    const row_name both = scratch().take();
    logic(micro_op::logic_and, both, a, b);
    logic(micro_op::logic_xor, d, differ, c);
    logic(micro_op::logic_and, differ, differ, c);
    logic(micro_op::logic_or, c, both, differ);
    scratch().give(both);
  } else {
    logic(micro_op::logic_xor, d, differ, c);
    keep(row_name{});
  }
  scratch().give(differ);
}

void ambit_gates::subtract(row_name d, row_name a, row_name b, bool keeps_carry) {
  const row_name not_b = scratch().take();
  invert(not_b, b);
  add(d, a, not_b, keeps_carry);
  scratch().give(not_b);
}

void ambit_gates::add_product(micro_op op, row_name d, row_name a, row_name x, row_name y, bool keeps_carry) {
  const row_name product = scratch().take();
  logic(op, product, x, y);
  add(d, a, product, keeps_carry);
  scratch().give(product);
}

void ambit_gates::full_add(row_name sum, row_name carry, row_name a, row_name b, row_name c) {
  if (c.operand == row_name::own) {  // zero: nothing else is asked for
    logic(micro_op::logic_and, carry, a, b);
    logic(micro_op::logic_xor, sum, a, b);
    return;
  }
  const row_name differ = scratch().take();
  logic(micro_op::logic_xor, differ, a, b);
  const row_name both = scratch().take();
  logic(micro_op::logic_and, both, a, b);
  logic(micro_op::logic_and, carry, differ, c);
  logic(micro_op::logic_or, carry, carry, both);
  logic(micro_op::logic_xor, sum, differ, c);
  scratch().give(both);
  scratch().give(differ);
}

void ambit_gates::start_greater(bool or_equal) { start(or_equal ? own_row::one : own_row::zero); }
void ambit_gates::end_greater(row_name d) { end(d); }

// (a and not b) or ((a or not b) and c): what a constant c leaves of it is one gate.
void ambit_gates::greater(row_name a, row_name b) {
  const row_name not_b = scratch().take();
  invert(not_b, b);
  if (at_constant()) {
    const bool one = state_ == row_name{own_row::one};
    logic(one ? micro_op::logic_or : micro_op::logic_and, not_b, a, not_b);
    keep(not_b);
    return;
  }
  const row_name above = scratch().take();
  logic(micro_op::logic_and, above, a, not_b);
  logic(micro_op::logic_or, not_b, a, not_b);
  logic(micro_op::logic_and, not_b, not_b, state_);
  logic(micro_op::logic_or, state_, above, not_b);
  scratch().give(above);
  scratch().give(not_b);
}

void ambit_gates::start_equal(bool inverted) {
  inverted_ = inverted;
  start(inverted ? own_row::zero : own_row::one);
}
void ambit_gates::end_equal(row_name d) { end(d); }

void ambit_gates::equal(row_name a, row_name b) {
  const row_name bit = scratch().take();
  logic(inverted_ ? micro_op::logic_xor : micro_op::logic_xnor, bit, a, b);
  if (at_constant()) {
    keep(bit);
    return;
  }
  logic(inverted_ ? micro_op::logic_or : micro_op::logic_and, state_, state_, bit);
  scratch().give(bit);
}

void ambit_gates::start_select(row_name s) {
  selector_ = s;
  not_selector_ = scratch().take();
  invert(not_selector_, s);
}

void ambit_gates::end_select() { scratch().give(not_selector_); }

void ambit_gates::select(row_name d, row_name a, row_name b) {
  if (a == row_name{own_row::zero}) return logic(micro_op::logic_and, d, not_selector_, b);
  if (a == row_name{own_row::one}) return logic(micro_op::logic_or, d, selector_, b);
  if (b == row_name{own_row::zero}) return logic(micro_op::logic_and, d, selector_, a);
  if (b == row_name{own_row::one}) return logic(micro_op::logic_or, d, not_selector_, a);
  const row_name chosen = scratch().take();
  const row_name other = scratch().take();
  logic(micro_op::logic_and, chosen, selector_, a);
  logic(micro_op::logic_and, other, not_selector_, b);
  logic(micro_op::logic_or, d, chosen, other);
  scratch().give(other);
  scratch().give(chosen);
}

// A negative number's bits above its lowest one are inverted: flip = some bit below is one, and the sign is.
void ambit_gates::absolute(const std::vector<row_name>& d, const std::vector<row_name>& a) {
  const std::size_t n = a.size();
  const row_name sign = a[n - 1];
  if (n == 1) return copy(d[0], a[0]);
  const row_name flip = scratch().take();
  logic(micro_op::logic_and, flip, sign, a[0]);
  copy(d[0], a[0]);
  const row_name more = scratch().take();
  for (std::size_t k = 1; k < n; ++k) {
    const bool last = k + 1 == n;
    if (!last) logic(micro_op::logic_and, more, sign, a[k]);
    logic(micro_op::logic_xor, d[k], a[k], flip);
    if (!last) logic(micro_op::logic_or, flip, flip, more);
  }
  scratch().give(more);
  scratch().give(flip);
}

}  // namespace situ::pim
