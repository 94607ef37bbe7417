// Symmetry planes: ghost points as the mirror image of the points inside, two layers deep, and what else kernels in any dimension need.
//
// Values that lie between planes of symmetry (cells: the plane is half a step before the first) and values that lie on them (nodes: the first
// lies on the plane) are mirrored differently:
//
//     cells   ghost -1 = +-value 0, ghost -2 = +-value 1      nodes   ghost -1 = +-value 1, ghost -2 = +-value 2
//
// A reflection reads near the plane only, so chains with it are cut into tiles; a periodic copy from the far border would not let them.
#pragma once

#include <situ/stencil/stencil.h>

#include <array>
#include <utility>

namespace stencil_programs {

// u at offset k in direction E.
template <int E, class U>
[[gnu::always_inline]] inline decltype(auto) along(const U& u, int k) {
  if constexpr (U::dims == 2) {
    return u(E == 0 ? k : 0, E == 1 ? k : 0);
  } else {
    return u(E == 0 ? k : 0, E == 1 ? k : 0, E == 2 ? k : 0);
  }
}

// f(std::integral_constant<int, 0>), ... for each dimension.
template <int D, class F>
void for_each_direction(F f) {
  [&]<int... E>(std::integer_sequence<int, E...>) { (f(std::integral_constant<int, E>{}), ...); }(std::make_integer_sequence<int, D>{});
}

enum class lies { between, on };  // the planes of symmetry

template <int D>
class reflection {
 public:
  // Mirrors all fields at both planes of direction E: the first index inside is 0, the last is `last`. `across` says which points in the other
  // directions; signs[i] is 1 for an even and -1 for an odd field.
  template <int E, class... Fields>
  void mirror(const situ::stencil::block<D>& on, situ::stencil::box across, lies where, int last, const std::array<double, sizeof...(Fields)>& signs,
              const Fields&... fields) const {
    for (const int side : {1, -1}) {
      const int gap = where == lies::between ? 1 : 2;
      across.low[E] = side > 0 ? -1 : last + 1;
      across.high[E] = across.low[E] + 1;
      const auto& touched = shapes_[E][side > 0 ? 0 : 1][gap - 1];
      situ::stencil::par_loop("mirror", on, across,
                              [side, gap, signs](const auto&... u) {
                                int n = 0;
                                ((reflect<E>(u, side, gap, signs[n]), ++n), ...);
                              },
                              situ::stencil::read_write(fields, touched)...);
    }
  }

 private:
  template <int E, class U>
  [[gnu::always_inline]] static void reflect(const U& u, int side, int gap, double sign) {
    along<E>(u, 0) = sign * along<E>(u, side * gap);
    along<E>(u, -side) = sign * along<E>(u, side * (gap + 1));
  }
  static situ::stencil::shape make_shape(int e, int side, int gap) {
    std::array<situ::stencil::coordinates, 4> points{};
    const int offsets[] = {0, -side, side * gap, side * (gap + 1)};
    for (std::size_t i = 0; i < 4; ++i) points[i][static_cast<std::size_t>(e)] = offsets[i];
    return {"mirror", D, points};
  }
  using pair = std::array<situ::stencil::shape, 2>;
  static std::array<pair, 2> make_shapes(int e) {
    return {pair{make_shape(e, 1, 1), make_shape(e, 1, 2)}, pair{make_shape(e, -1, 1), make_shape(e, -1, 2)}};
  }
  template <std::size_t... E>
  static std::array<std::array<pair, 2>, D> make_all(std::index_sequence<E...>) {
    return {make_shapes(static_cast<int>(E))...};
  }
  std::array<std::array<pair, 2>, D> shapes_ = make_all(std::make_index_sequence<D>{});  // of direction, side, gap
};

}  // namespace stencil_programs
