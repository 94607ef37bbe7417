#include "pim/latch_writer.h"

#include <situ/base/detail/assert.h>

namespace situ::pim {
namespace {

constexpr std::uint8_t absent = 255;

}  // namespace

latch_writer::latch_writer(machine::pim_design design, const operation_spec& spec) : design_{design}, spec_{spec} {
  operand_.fill(absent);
  for (const operand_need& need : operands_of(spec)) operand_[static_cast<unsigned>(need.role)] = program_.operands++;
  program_.name = text(spec);
}

row_name latch_writer::row(operand_role role, unsigned i) const {
  const std::uint8_t operand = operand_[static_cast<unsigned>(role)];
  SITU_ASSERT(1, operand != absent, "pim: a program names an operand that its operation has not");
  return {operand, static_cast<std::uint16_t>(i)};
}

row_name latch_writer::scratch() noexcept { return {row_name::scratch, program_.scratch_rows++}; }

void latch_writer::gate(micro_op op, std::uint8_t d, std::uint8_t a, std::uint8_t b, std::uint8_t c) {
  if (design_ == machine::pim_design::bitsimd) {
    const auto inverted = [&](micro_op plain) {
      program_.logic(plain, d, a, b);
      program_.logic(micro_op::invert, d, d);
    };
    if (op == micro_op::logic_nand) return inverted(micro_op::logic_and);
    if (op == micro_op::logic_nor) return inverted(micro_op::logic_or);
    if (op == micro_op::logic_xnor) return inverted(micro_op::logic_xor);
  }
  program_.logic(op, d, a, b, c);
}

void latch_writer::load_mask() {
  if (!masked()) return;
  read(operand_role::mask, 0);
  gate(spec_.mask == mask_use::when_true ? micro_op::move : micro_op::invert, mask, amplifiers);
}

void latch_writer::store(unsigned i, std::uint8_t from) {
  if (masked()) {
    if (from == amplifiers) move(held, from);
    read(operand_role::result, i);
    gate(micro_op::select, amplifiers, mask, from == amplifiers ? held : from, amplifiers);
  } else {
    move(amplifiers, from);
  }
  write(row(operand_role::result, i));
}

void latch_writer::store_constant(unsigned first, unsigned last, bool one) {
  if (first >= last) return;
  gate(one ? micro_op::set_one : micro_op::set_zero, out());
  for (unsigned i = first; i < last; ++i) store(i, out());
}

}  // namespace situ::pim
