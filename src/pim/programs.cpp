#include "pim/programs.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

namespace situ::pim {

micro_program make_program(machine::pim_design design, const operation_spec& spec) {
  check(spec);
  switch (design) {
    case machine::pim_design::imi:
    case machine::pim_design::bitsimd:
      return spec.direction == dimension::vertical ? make_latch_program(design, spec)
                                                   : make_horizontal_program(design, spec);
    case machine::pim_design::ambit:
    case machine::pim_design::simdram: return make_majority_program(design, spec);
    default:
      throw_error(errc::not_supported,
                  fmt::format("pim: {}: the memory does not compute; its machine file names no design", text(spec)));
  }
}

}  // namespace situ::pim
