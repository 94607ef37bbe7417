// A subarray on which the tests of row programs run operations, and what the host gets for them.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pim/operation.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pim/cell_storage.h"
#include "pim/execute.h"
#include "pim/programs.h"

namespace situ::pim::test {

using elements = std::vector<std::uint64_t>;

// The operands of an operation, an element for each column; those that it does not have are empty.
struct operand_values {
  elements condition, a, b, c, result, mask;
};

class row_machine {
 public:
  explicit row_machine(std::uint32_t columns, std::uint32_t rows = 1024)
      : cells_{geometry{.rows = rows, .columns = columns, .subarrays = 1, .banks = 1}} {}

  // Makes the design's program, checks that it reads nothing undefined, runs it, and returns the result's elements (of
  // reduce_sum: the sum). over_a: the result goes over operand a.
  elements run(machine::pim_design design, const operation_spec& spec, const operand_values& values,
               bool over_a = false);

  // What the last run has done.
  [[nodiscard]] const execution& done() const noexcept { return done_; }

 private:
  cell_storage cells_;
  executor executor_;
  execution done_;
};

// Returns what the host gets: the result's elements, with those that the mask leaves alone.
elements expected(const operation_spec& spec, const operand_values& values);

// Returns "" if both have the same elements, else the first that differ, in words.
std::string difference(const operation_spec& spec, const operand_values& values, const elements& got);

}  // namespace situ::pim::test
