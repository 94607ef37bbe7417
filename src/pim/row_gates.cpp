#include "pim/row_gates.h"

#include <algorithm>
#include <iterator>

namespace situ::pim {

row_name scratch_rows::take() {
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  const auto at = static_cast<std::uint16_t>(std::distance(taken_.begin(), free));
  if (free == taken_.end()) taken_.push_back(true);
  taken_[at] = true;
  program_.scratch_rows = static_cast<std::uint16_t>(std::max<std::size_t>(program_.scratch_rows, taken_.size()));
  return {row_name::scratch, at};
}

void scratch_rows::give(row_name row) { taken_[row.bit] = false; }

void row_gates::copy(row_name d, row_name a) { aap(a, d); }

void row_gates::invert(row_name d, row_name a) {
  aap(a, own_row::dcc0n);
  aap(own_row::dcc0, d);
}

// Ambit's sequences. Exclusive or: both rows are kept with their inverses, and the two conjunctions of one with the
// inverse of the other are majorities with a zero; its complement likewise, of disjunctions with ones.
void row_gates::logic(micro_op op, row_name d, row_name a, row_name b) {
  const bool exclusive = op == micro_op::logic_xor || op == micro_op::logic_xnor;
  const bool conjunction = op == micro_op::logic_and || op == micro_op::logic_nand || op == micro_op::logic_xor;
  const own_row constant = conjunction ? own_row::zero : own_row::one;
  if (exclusive) {
    aap(a, own_row::dcc0n_t0);
    aap(b, own_row::dcc1n_t1);
    aap(constant, own_row::t2_t3);
    ap(own_row::dcc0_t1_t2);
    ap(own_row::dcc1_t0_t3);
    aap(conjunction ? own_row::one : own_row::zero, own_row::t2);
    aap(own_row::t0_t1_t2, d);
    return;
  }
  aap(a, own_row::t0);
  aap(b, own_row::t1);
  aap(constant, own_row::t2);
  if (op == micro_op::logic_nand || op == micro_op::logic_nor) {
    aap(own_row::t0_t1_t2, own_row::dcc0n);
    aap(own_row::dcc0, d);
  } else {
    aap(own_row::t0_t1_t2, d);
  }
}

}  // namespace situ::pim
