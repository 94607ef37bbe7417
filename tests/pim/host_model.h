// What operations give, by the host's own arithmetic; and a device that runs their programs on values of the host.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pim/operation.h>

#include <cstdint>
#include <vector>

#include "pim/execute.h"

namespace situ::test {

// The values of an operation's operands, element by element. Those that it does not have are not looked at.
struct pim_values {
  std::vector<std::uint64_t> a, b, c;
  std::vector<std::uint64_t> condition, mask;  // flags: 0 or 1
  std::vector<std::uint64_t> before;           // what the result's block holds before the program runs
};

// Returns the result's elements: flags as 0 or 1, numbers with the result's bits. Of reduce_sum: one, the sum.
std::vector<std::uint64_t> by_host(const pim::operation_spec& spec, const pim_values& values);

// Runs the program of an operation in a device of its own, with `columns` columns and as many subarrays as the elements
// need. Returns the result as by_host(). counts: where not null, gets the counts of commands.
std::vector<std::uint64_t> by_device(pim::executor& with, machine::pim_design design, const pim::operation_spec& spec,
                                     const pim_values& values, std::uint32_t columns,
                                     pim::command_counts* counts = nullptr);

// Random values of `bits` bits, every fourth at an edge: 0, 1, the greatest and least of either sign.
pim_values random_values(unsigned bits, std::size_t elements, std::uint64_t seed);
// All pairs of values of 8 bits; c, the flags and the result's contents before vary.
pim_values all_pairs();

}  // namespace situ::test
