// For programs of OPS's first API, whose kernels take bare pointers and compute offsets with macros by the number of the argument:
//     void smooth(const double* u, double* v) { v[OPS_ACC1(0, 0)] = 0.5 * (u[OPS_ACC0(-1, 0)] + u[OPS_ACC0(1, 0)]); }
// With several components, OPS_ACC_MD0(component, x, y). Kernels that take ACC<T>& work with this header as well.
#pragma once

#include "ops_seq_v2.h"

namespace situ::ops {

// Only datasets of one component are indexed this way: dimension 0 has distance 1.
template <std::size_t Argument, class... I>
[[gnu::always_inline]] inline std::ptrdiff_t raw_distance(std::ptrdiff_t x, I... o) noexcept {
  static_assert(sizeof...(I) < OPS_MAX_DIM);
  std::size_t d = 1;
  ((x += static_cast<std::ptrdiff_t>(o) * raw_stride[Argument][d++]), ...);
  return x;
}
template <std::size_t Argument, class... I>
[[gnu::always_inline]] inline std::ptrdiff_t raw_component_distance(std::ptrdiff_t c, I... o) noexcept {
  static_assert(sizeof...(I) <= OPS_MAX_DIM);
  std::ptrdiff_t n = c * raw_stride[Argument][OPS_MAX_DIM];
  std::size_t d = 0;
  ((n += static_cast<std::ptrdiff_t>(o) * raw_stride[Argument][d++]), ...);
  return n;
}

}  // namespace situ::ops

#define OPS_ACC0(...) ::situ::ops::raw_distance<0>(__VA_ARGS__)
#define OPS_ACC1(...) ::situ::ops::raw_distance<1>(__VA_ARGS__)
#define OPS_ACC2(...) ::situ::ops::raw_distance<2>(__VA_ARGS__)
#define OPS_ACC3(...) ::situ::ops::raw_distance<3>(__VA_ARGS__)
#define OPS_ACC4(...) ::situ::ops::raw_distance<4>(__VA_ARGS__)
#define OPS_ACC5(...) ::situ::ops::raw_distance<5>(__VA_ARGS__)
#define OPS_ACC6(...) ::situ::ops::raw_distance<6>(__VA_ARGS__)
#define OPS_ACC7(...) ::situ::ops::raw_distance<7>(__VA_ARGS__)
#define OPS_ACC8(...) ::situ::ops::raw_distance<8>(__VA_ARGS__)
#define OPS_ACC9(...) ::situ::ops::raw_distance<9>(__VA_ARGS__)
#define OPS_ACC10(...) ::situ::ops::raw_distance<10>(__VA_ARGS__)
#define OPS_ACC11(...) ::situ::ops::raw_distance<11>(__VA_ARGS__)
#define OPS_ACC12(...) ::situ::ops::raw_distance<12>(__VA_ARGS__)
#define OPS_ACC13(...) ::situ::ops::raw_distance<13>(__VA_ARGS__)
#define OPS_ACC14(...) ::situ::ops::raw_distance<14>(__VA_ARGS__)
#define OPS_ACC15(...) ::situ::ops::raw_distance<15>(__VA_ARGS__)
#define OPS_ACC16(...) ::situ::ops::raw_distance<16>(__VA_ARGS__)
#define OPS_ACC17(...) ::situ::ops::raw_distance<17>(__VA_ARGS__)
#define OPS_ACC_MD0(...) ::situ::ops::raw_component_distance<0>(__VA_ARGS__)
#define OPS_ACC_MD1(...) ::situ::ops::raw_component_distance<1>(__VA_ARGS__)
#define OPS_ACC_MD2(...) ::situ::ops::raw_component_distance<2>(__VA_ARGS__)
#define OPS_ACC_MD3(...) ::situ::ops::raw_component_distance<3>(__VA_ARGS__)
#define OPS_ACC_MD4(...) ::situ::ops::raw_component_distance<4>(__VA_ARGS__)
#define OPS_ACC_MD5(...) ::situ::ops::raw_component_distance<5>(__VA_ARGS__)
#define OPS_ACC_MD6(...) ::situ::ops::raw_component_distance<6>(__VA_ARGS__)
#define OPS_ACC_MD7(...) ::situ::ops::raw_component_distance<7>(__VA_ARGS__)
#define OPS_ACC_MD8(...) ::situ::ops::raw_component_distance<8>(__VA_ARGS__)
#define OPS_ACC_MD9(...) ::situ::ops::raw_component_distance<9>(__VA_ARGS__)
#define OPS_ACC_MD10(...) ::situ::ops::raw_component_distance<10>(__VA_ARGS__)
#define OPS_ACC_MD11(...) ::situ::ops::raw_component_distance<11>(__VA_ARGS__)
#define OPS_ACC_MD12(...) ::situ::ops::raw_component_distance<12>(__VA_ARGS__)
#define OPS_ACC_MD13(...) ::situ::ops::raw_component_distance<13>(__VA_ARGS__)
#define OPS_ACC_MD14(...) ::situ::ops::raw_component_distance<14>(__VA_ARGS__)
#define OPS_ACC_MD15(...) ::situ::ops::raw_component_distance<15>(__VA_ARGS__)
#define OPS_ACC_MD16(...) ::situ::ops::raw_component_distance<16>(__VA_ARGS__)
#define OPS_ACC_MD17(...) ::situ::ops::raw_component_distance<17>(__VA_ARGS__)
