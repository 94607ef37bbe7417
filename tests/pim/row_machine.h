// A subarray on which the tests of row programs run operations: with checks of what the programs read, and with results
// over operands.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pim/operation.h>

#include <cstdint>
#include <string>
#include <vector>

#include "host_model.h"
#include "pim/cell_storage.h"
#include "pim/execute.h"

namespace situ::test {

// Whether the result of an operation has rows of its own, or those of operand a.
enum class result_place : std::uint8_t { apart, over_a };

class row_machine {
 public:
  explicit row_machine(std::uint32_t columns, std::uint32_t rows = 1024)
      : cells_{pim::geometry{.rows = rows, .columns = columns, .subarrays = 1, .banks = 1}} {}

  // Makes the design's program, checks that it reads nothing undefined (a result's old contents are, unless there is a
  // mask), runs it, and returns the result's elements, or of reduce_sum the sum.
  std::vector<std::uint64_t> run(machine::pim_design design, const pim::operation_spec& spec, const pim_values& values,
                                 result_place place = result_place::apart);

 private:
  pim::cell_storage cells_;
  pim::executor executor_;
};

// Returns "" if these are the host's results, else the first element that differs, in words.
std::string difference(const pim::operation_spec& spec, const pim_values& values,
                       const std::vector<std::uint64_t>& got);

}  // namespace situ::test
