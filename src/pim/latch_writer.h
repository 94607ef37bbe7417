// Writes the commands of a program for latches, with the names of its operands' rows. A result that a mask holds back
// goes through a latch of its own: the row is read, and its cells that the mask does not apply to are written as they
// were.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pim/operation.h>

#include <array>
#include <cstdint>

#include "pim/micro_program.h"

namespace situ::pim {

class latch_writer {
 public:
  // The latches with a fixed part; 1 to 5 are free, and `held` and `mask` too if the operation has no mask.
  static constexpr std::uint8_t amplifiers = 0;
  static constexpr std::uint8_t held = 6;
  static constexpr std::uint8_t mask = 7;

  latch_writer(machine::pim_design design, const operation_spec& spec);

  [[nodiscard]] const operation_spec& spec() const noexcept { return spec_; }
  [[nodiscard]] unsigned bits() const noexcept { return spec_.bits; }
  [[nodiscard]] bool masked() const noexcept { return spec_.mask != mask_use::none; }
  // Returns bit i of the scalar.
  [[nodiscard]] bool scalar_bit(unsigned i) const noexcept { return ((spec_.scalar.value_or(0) >> i) & 1) != 0; }
  // Returns row i of an operand. pre: the operation has it.
  [[nodiscard]] row_name row(operand_role role, unsigned i) const;
  // Returns the next scratch row.
  [[nodiscard]] row_name scratch() noexcept;

  void read(operand_role role, unsigned i) { program_.read(row(role, i)); }
  void read(row_name row) { program_.read(row); }
  void write(row_name row) { program_.write(row); }
  void count() { program_.commands.push_back({.op = micro_op::count_ones}); }
  // Writes a gate, or two if the design has none of this kind (bitsimd: nand, nor, xnor).
  void gate(micro_op op, std::uint8_t d, std::uint8_t a = 0, std::uint8_t b = 0, std::uint8_t c = 0);
  void move(std::uint8_t d, std::uint8_t a) {
    if (d != a) gate(micro_op::move, d, a);
  }

  // Reads the mask into its latch, inverted if it applies to elements whose flag is false. Nothing if there is none.
  void load_mask();
  // Returns the latch that a result is best made in: the amplifiers, or `held` under a mask.
  [[nodiscard]] std::uint8_t out() const noexcept { return masked() ? held : amplifiers; }
  // Writes a latch to row i of the result, for the elements to which the mask applies. Under a mask, amplifiers and, if
  // it is not `from`,
  // `held` are lost if from is the amplifiers.
  void store(unsigned i, std::uint8_t from);
  // Writes zeros or ones to rows first to last - 1 of the result.
  void store_constant(unsigned first, unsigned last, bool one);

  [[nodiscard]] micro_program finish() noexcept { return std::move(program_); }

 private:
  machine::pim_design design_;
  operation_spec spec_;
  micro_program program_;
  std::array<std::uint8_t, 8> operand_{};  // by operand_role
};

}  // namespace situ::pim
