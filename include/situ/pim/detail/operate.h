// Operations on vectors without types, for situ/pim/compute.h.
#pragma once

#include <situ/pim/detail/vector_core.h>
#include <situ/pim/operation.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ::pim::detail {

// The vectors of an operation, by their parts; null: it has no such part.
struct operands {
  const vector_core* a = nullptr;
  const vector_core* b = nullptr;
  const vector_core* c = nullptr;
  const vector_core* condition = nullptr;
  const vector_core* mask = nullptr;
};

// Carries out an operation on all elements. result: may be an input. Errors: those of situ/pim/vector.h.
void operate(const operation_spec& what, vector_core& result, const operands& with);
// Carries out reduce_sum on `with.a`. Returns for each bit of an element the number of ones, of all elements.
[[nodiscard]] std::vector<std::uint64_t> reduce(const operation_spec& what, const operands& with);
// Copies elements of one width to those of another: the lowest bits, or extended by the sign or by zeros. Vertical
// ones.
void convert(vector_core& result, const vector_core& from);

// Throws bad_argument unless both are the same.
void check_count(std::size_t size, std::size_t values);

}  // namespace situ::pim::detail
