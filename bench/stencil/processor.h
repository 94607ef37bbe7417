// What one processor does at most: operations on doubles in vector registers, and bytes that come from or go to its
// second-level cache. Measured, since a data sheet knows neither the clock nor who else uses the machine.
#pragma once

#include <cstddef>

namespace stencil_bench {

// Nanoseconds, each at the best rate that many independent operations reach.
struct processor_limits {
  double divide;      // a division
  double root;        // a square root
  double arithmetic;  // an addition, a multiplication, or both fused
  double select;      // a comparison, and a choice by it
  double read;        // a byte out of the second-level cache
  double write;       // a byte overwritten there
};

// Takes some 20 ms. Throws std::runtime_error if the size of the second-level cache is unknown.
[[nodiscard]] processor_limits measure_processor();
// Bytes of the second-level cache.
[[nodiscard]] std::size_t second_level_bytes();

}  // namespace stencil_bench
