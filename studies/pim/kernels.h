// The kernels of the study `pim`: programs on vectors in memory that computes, beside the same loops on the host. Each
// checks its result against the host's.
#pragma once

#include <situ/pim/counts.h>
#include <situ/pim/memory.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace situ::studies::pim {

struct kernel_result {
  std::string name;
  std::string words;            // what it computes, of how many elements
  bool is_right = false;        // element for element
  situ::pim::memory_cost cost;  // modelled
  double host_ns = 0;           // the same loop on this host, one thread: measured, the median of some
  double simulated_ns = 0;      // what this host took to carry out the commands: measured, once
};

struct kernel {
  std::string_view name;
  kernel_result (*run)(situ::pim::memory& in, std::size_t elements);
};

// axpy (Leidel et al., 3.2), dot product, histogram, bitmap index, matrix-vector product of int8.
[[nodiscard]] const std::vector<kernel>& all_kernels();

}  // namespace situ::studies::pim
