#include "pim/row_gates.h"

namespace situ::pim {

// Between the steps of an addition the carry is in DCC1, of a subtraction in DCC0, as the published programs have it.
void majority_gates::start_add() {
  carry_ = own_row::dcc1;
  aap(own_row::zero, carry_);
}
void majority_gates::start_subtract() {
  carry_ = own_row::dcc0;
  aap(own_row::one, carry_);
}
void majority_gates::end_add(row_name d) { aap(carry_, d); }

// d = M(b, not m, M(not m, c, a)), where m = M(a, b, c) is in DCC1, and T1 = c, T2 = a: the last two of a full adder's
// three majorities. b may be read again, as nothing has been written yet but what the caller wrote.
void majority_gates::sum_of(row_name d, row_name b) {
  aap(own_row::dcc1n, own_row::t0_t3);
  ap(own_row::t0_t1_t2);
  aap(b, own_row::t1);
  aap(own_row::t1_t2_t3, d);
}

void majority_gates::add(row_name d, row_name a, row_name b, bool /*keeps_carry*/) {
  aap(own_row::dcc1, own_row::t0_t1_t2);
  aap(a, own_row::t2_t3);
  aap(b, own_row::dcc1);
  ap(own_row::dcc1_t0_t3);
  sum_of(d, b);
}

// This one takes the inverse of b, through DCC1's n-address.
void majority_gates::subtract(row_name d, row_name a, row_name b, bool /*keeps_carry*/) {
  aap(own_row::dcc0, own_row::t0_t1_t2);
  aap(a, own_row::t2_t3);
  aap(b, own_row::dcc1n);
  aap(own_row::dcc1_t0_t3, own_row::dcc0);
  aap(own_row::dcc1n, own_row::t0_t3);
  ap(own_row::t0_t1_t2);
  aap(b, own_row::dcc1n);
  aap(own_row::dcc1_t0_t3, d);
}

void majority_gates::add_product(micro_op op, row_name d, row_name a, row_name x, row_name y, bool /*keeps_carry*/) {
  aap(x, own_row::t0);
  aap(y, own_row::t1);
  aap(own_row::zero, own_row::t2);
  if (op == micro_op::logic_nand) {
    aap(own_row::t0_t1_t2, own_row::dcc0n);
    aap(own_row::dcc0, own_row::t0_t1_t2);
  } else {
    ap(own_row::t0_t1_t2);
  }
  aap(own_row::dcc1, own_row::t2_t3);
  aap(a, own_row::dcc1);
  ap(own_row::dcc1_t0_t3);
  sum_of(d, a);
}

void majority_gates::full_add(row_name sum, row_name carry, row_name a, row_name b, row_name c) {
  aap(a, own_row::t0_t1_t2);
  aap(b, own_row::t2_t3);
  aap(c, own_row::dcc1);
  aap(own_row::dcc1_t0_t3, carry);
  sum_of(sum, c);
}

// T2 holds a > b for the bits so far: M(a, not b, T2).
void majority_gates::start_greater(bool or_equal) { aap(or_equal ? own_row::one : own_row::zero, own_row::t2); }
void majority_gates::greater(row_name a, row_name b) {
  aap(a, own_row::t1);
  aap(b, own_row::dcc0n);
  ap(own_row::dcc0_t1_t2);
}
void majority_gates::end_greater(row_name d) { aap(own_row::t2, d); }

// Both comparisons at once: T2 has b >= a, T3 has a >= b (or, from zeros on, b > a and a > b), and the result is
// their conjunction (or disjunction).
void majority_gates::start_equal(bool inverted) {
  inverted_ = inverted;
  aap(inverted ? own_row::zero : own_row::one, own_row::t2_t3);
}
void majority_gates::equal(row_name a, row_name b) {
  aap(a, own_row::dcc0n_t0);
  aap(b, own_row::dcc1n_t1);
  ap(own_row::dcc0_t1_t2);
  ap(own_row::dcc1_t0_t3);
}
void majority_gates::end_equal(row_name d) {
  aap(inverted_ ? own_row::one : own_row::zero, own_row::t1);
  aap(own_row::t0_t1_t2, d);
}

void majority_gates::start_select(row_name s) { selector_ = s; }
void majority_gates::end_select() {}

// s ? a : b = M(s or b, not s and b, a): one write of a constant to DCC1 and T1 gives both the one and the zero.
void majority_gates::select(row_name d, row_name a, row_name b) {
  const row_name zero{own_row::zero};
  const row_name one{own_row::one};
  if (b == zero) return logic(micro_op::logic_and, d, selector_, a);
  if (a == one) return logic(micro_op::logic_or, d, selector_, b);
  if (a == zero || b == one) {  // not s and b; not s or a
    aap(selector_, own_row::dcc0n);
    aap(a == zero ? b : a, own_row::t1);
    aap(a == zero ? zero : one, own_row::t2);
    return aap(own_row::dcc0_t1_t2, d);
  }
  aap(selector_, own_row::dcc0n_t0);
  aap(zero, own_row::dcc1n_t1);
  aap(b, own_row::t2_t3);
  ap(own_row::dcc1_t0_t3);
  ap(own_row::dcc0_t1_t2);
  aap(a, own_row::t2);
  aap(own_row::t0_t1_t2, d);
}

// A negative number's bits above its lowest one are inverted. f: some bit below is one, and the sign is; it is in T1,
// its inverse in DCC1. The bit is a xor f; the next f is M(sign, a, not a and f), and DCC0 still has the last of these
// when the exclusive or is done. The bit waits in T0 until a has been read again, so that it may go over a.
void majority_gates::absolute(const std::vector<row_name>& d, const std::vector<row_name>& a) {
  const std::size_t n = a.size();
  const row_name sign = a[n - 1];
  if (n == 1) return copy(d[0], a[0]);
  aap(a[0], own_row::t0);
  aap(sign, own_row::t1);
  aap(own_row::zero, own_row::t2);
  aap(own_row::t0_t1_t2, own_row::dcc1n_t1);
  aap(a[0], d[0]);
  for (std::size_t k = 1; k + 1 < n; ++k) {
    aap(a[k], own_row::dcc0n_t0);
    aap(own_row::zero, own_row::t2_t3);
    ap(own_row::dcc0_t1_t2);
    ap(own_row::dcc1_t0_t3);
    aap(own_row::one, own_row::t2);
    ap(own_row::t0_t1_t2);
    aap(a[k], own_row::t1);
    aap(sign, own_row::t2);
    aap(own_row::dcc0_t1_t2, own_row::dcc1n_t1);
    aap(own_row::t0, d[k]);
  }
  aap(sign, own_row::t0);  // the sign: sign and not f
  aap(own_row::zero, own_row::t3);
  aap(own_row::dcc1_t0_t3, d[n - 1]);
}

}  // namespace situ::pim
