// The building blocks of the programs of rows (ambit, simdram): gates on rows, adders, comparisons and selections, each
// by the shortest commands that the design's users have.
//
//   ambit_gates      Ambit's published sequences for logic (Seshadri et al., MICRO 2017, figure 8); adders and the rest
//                    composed of these gates, with scratch rows between them
//   majority_gates   the same logic; adders, comparisons and selections as majorities of three, whose carries stay in
//                    the rows for computing (SIMDRAM, ASPLOS 2021)
//
// A chain (add, subtract, compare, equal) keeps its state in the rows for computing: between its start and its end, a
// program uses the chain's own steps alone. Every step reads all of its rows of bit k before it writes bit k, so a
// result may go over an operand of the same step.
//
// Below, the numbers are commands; for ambit_gates, the first step of a chain that starts with a constant is cheaper.
#pragma once

#include <cstdint>
#include <vector>

#include "pim/micro_program.h"

namespace situ::pim {

// The scratch rows of a program: the first free one is taken, so that few are needed.
class scratch_rows {
 public:
  explicit scratch_rows(micro_program& program) : program_{program} {}
  [[nodiscard]] row_name take();
  void give(row_name row);

 private:
  micro_program& program_;
  std::vector<bool> taken_;
};

class row_gates {
 public:
  explicit row_gates(micro_program& program) : program_{program}, scratch_{program} {}
  virtual ~row_gates() = default;
  row_gates(const row_gates&) = delete;
  row_gates& operator=(const row_gates&) = delete;

  [[nodiscard]] scratch_rows& scratch() noexcept { return scratch_; }

  void copy(row_name d, row_name a);    // d = a: 1
  void invert(row_name d, row_name a);  // d = not a: 2
  // d = a op b: logic_and, logic_or 4; logic_nand, logic_nor 5; logic_xor, logic_xnor 7.
  void logic(micro_op op, row_name d, row_name a, row_name b);

  // Chains of additions from the lowest bit on: d = a + b, or a - b, with the carry of the step before.
  virtual void start_add() = 0;
  virtual void start_subtract() = 0;
  // keeps_carry: false for the last step of a chain that nobody asks for its carry.
  virtual void add(row_name d, row_name a, row_name b, bool keeps_carry) = 0;
  virtual void subtract(row_name d, row_name a, row_name b, bool keeps_carry) = 0;
  // A step of an addition: d = a + (x op y), op logic_and or logic_nand.
  virtual void add_product(micro_op op, row_name d, row_name a, row_name x, row_name y, bool keeps_carry) = 0;
  // Ends a chain of additions: d = its carry.
  virtual void end_add(row_name d) = 0;

  // sum, carry = a + b + c; no chain. sum and carry are not a, b or c, but sum may be c.
  virtual void full_add(row_name sum, row_name carry, row_name a, row_name b, row_name c) = 0;

  // A chain that compares, from the lowest bit on: whether a > b, or with or_equal a >= b, of the bits so far.
  virtual void start_greater(bool or_equal) = 0;
  virtual void greater(row_name a, row_name b) = 0;
  virtual void end_greater(row_name d) = 0;

  // A chain: whether all bits are equal, or with `inverted` whether some are not.
  virtual void start_equal(bool inverted) = 0;
  virtual void equal(row_name a, row_name b) = 0;
  virtual void end_equal(row_name d) = 0;

  // Selections by one row s, which keeps its contents until the last one: d = s ? a : b.
  virtual void start_select(row_name s) = 0;
  virtual void select(row_name d, row_name a, row_name b) = 0;
  virtual void end_select() = 0;

  // d = the absolute value of a, bit by bit: sign is the highest bit of a. d may be a.
  virtual void absolute(const std::vector<row_name>& d, const std::vector<row_name>& a) = 0;

 protected:
  void aap(row_name from, row_name to) { program_.aap(from, to); }
  void ap(row_name row) { program_.ap(row); }

 private:
  micro_program& program_;
  scratch_rows scratch_;
};

// Ambit's gates alone.
class ambit_gates final : public row_gates {
 public:
  using row_gates::row_gates;
  void start_add() override;
  void start_subtract() override;
  void add(row_name d, row_name a, row_name b, bool keeps_carry) override;       // 26, the last one 14
  void subtract(row_name d, row_name a, row_name b, bool keeps_carry) override;  // 28, the last one 16
  void add_product(micro_op op, row_name d, row_name a, row_name x, row_name y, bool keeps_carry) override;
  void end_add(row_name d) override;
  void full_add(row_name sum, row_name carry, row_name a, row_name b, row_name c) override;  // 26
  void start_greater(bool or_equal) override;
  void greater(row_name a, row_name b) override;  // 18
  void end_greater(row_name d) override;
  void start_equal(bool inverted) override;
  void equal(row_name a, row_name b) override;  // 11
  void end_equal(row_name d) override;
  void start_select(row_name s) override;                    // 2
  void select(row_name d, row_name a, row_name b) override;  // 12, 4 if a or b is a constant
  void end_select() override;
  void absolute(const std::vector<row_name>& d, const std::vector<row_name>& a) override;

 private:
  void start(own_row constant);
  [[nodiscard]] bool at_constant() const noexcept { return state_.operand == row_name::own; }
  void keep(row_name state);  // the chain's state from now on: a scratch row
  void end(row_name d);

  row_name state_;  // a carry or what a comparison knows: a constant at first, then a scratch row
  row_name selector_, not_selector_;
  bool inverted_ = false;
};

// Majorities of three.
class majority_gates final : public row_gates {
 public:
  using row_gates::row_gates;
  void start_add() override;                                                                                 // 1
  void start_subtract() override;                                                                            // 1
  void add(row_name d, row_name a, row_name b, bool keeps_carry) override;                                   // 8
  void subtract(row_name d, row_name a, row_name b, bool keeps_carry) override;                              // 8
  void add_product(micro_op op, row_name d, row_name a, row_name x, row_name y, bool keeps_carry) override;  // 11, 12
  void end_add(row_name d) override;                                                                         // 1
  void full_add(row_name sum, row_name carry, row_name a, row_name b, row_name c) override;                  // 8
  void start_greater(bool or_equal) override;                                                                // 1
  void greater(row_name a, row_name b) override;                                                             // 3
  void end_greater(row_name d) override;                                                                     // 1
  void start_equal(bool inverted) override;                                                                  // 1
  void equal(row_name a, row_name b) override;                                                               // 4
  void end_equal(row_name d) override;                                                                       // 2
  void start_select(row_name s) override;                                                                    // 0
  void select(row_name d, row_name a, row_name b) override;  // 7, 4 if a or b is a constant
  void end_select() override;
  void absolute(const std::vector<row_name>& d, const std::vector<row_name>& a) override;  // 10 a bit

 private:
  void sum_of(row_name d, row_name b);

  own_row carry_ = own_row::dcc1;  // the row with the carry of the chain
  row_name selector_;
  bool inverted_ = false;
};

}  // namespace situ::pim
