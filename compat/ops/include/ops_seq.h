// For programs of OPS's first API, whose kernels take bare pointers and compute offsets with macros by the number of
// the argument:
//     void smooth(const double* u, double* v) { v[OPS_ACC1(0, 0)] = 0.5 * (u[OPS_ACC0(-1, 0)] + u[OPS_ACC0(1, 0)]); }
// With several components, OPS_ACC_MD0(component, x, y). Kernels that take ACC<T>& work with this header as well.
#pragma once

#include "ops_seq_v2.h"

namespace situ::ops {

// Only datasets of one component are indexed this way: dimension 0 has distance 1.
template <std::size_t Argument, class... Offset>
[[gnu::always_inline]] inline std::ptrdiff_t raw_distance(std::ptrdiff_t x, Offset... o) noexcept {
  static_assert(sizeof...(Offset) < OPS_MAX_DIM);
  std::size_t d = 1;
  ((x += static_cast<std::ptrdiff_t>(o) * raw_stride[Argument][d++]), ...);
  return x;
}
template <std::size_t Argument, class... Offset>
[[gnu::always_inline]] inline std::ptrdiff_t raw_component_distance(std::ptrdiff_t c, Offset... o) noexcept {
  static_assert(sizeof...(Offset) <= OPS_MAX_DIM);
  std::ptrdiff_t n = c * raw_stride[Argument][OPS_MAX_DIM];
  std::size_t d = 0;
  ((n += static_cast<std::ptrdiff_t>(o) * raw_stride[Argument][d++]), ...);
  return n;
}

}  // namespace situ::ops

#include "ops_acc_macros.h"
