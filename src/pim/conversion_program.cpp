#include <situ/base/error_code.h>

#include <fmt/format.h>

#include "pim/programs.h"

namespace situ::pim {
namespace {

using machine::pim_design;

bool has_latches(pim_design design) { return design == pim_design::imi || design == pim_design::bitsimd; }

// Row `from` of operand 0, or zeros if there is none, to row `to` of operand 1.
void copy_row(micro_program& made, bool latches, bool is_zero, std::uint16_t from, std::uint16_t to) {
  if (!latches) {
    made.aap(is_zero ? row_name{own_row::zero} : row_name{0, from}, row_name{1, to});
    return;
  }
  if (is_zero)
    made.logic(micro_op::set_zero, 0);
  else
    made.read({0, from});
  made.write({1, to});
}

}  // namespace

micro_program make_conversion(pim_design design, unsigned from_bits, bool is_signed, unsigned to_bits) {
  if (design == pim_design::none)
    throw_error(errc::not_supported, "pim: a memory without a design computes nothing, so it converts nothing");
  micro_program made;
  made.name = fmt::format("CONVERT.V.{}{} to {} bits", is_signed ? 'I' : 'U', from_bits, to_bits);
  made.operands = 2;
  const bool latches = has_latches(design);
  for (unsigned bit = 0; bit < to_bits; ++bit) {
    const bool is_above = bit >= from_bits;
    copy_row(made, latches, is_above && !is_signed, static_cast<std::uint16_t>(is_above ? from_bits - 1 : bit),
             static_cast<std::uint16_t>(bit));
  }
  return made;
}

}  // namespace situ::pim
