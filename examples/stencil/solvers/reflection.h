// Symmetry planes: ghost points as the mirror image of the points inside, two layers deep, and what else kernels in any
// dimension need.
//
// Values that lie between planes of symmetry (cells: the plane is half a step before the first) and values that lie on
// them (nodes: the first lies on the plane) are mirrored differently:
//
//     cells   ghost -1 = +-value 0, ghost -2 = +-value 1      nodes   ghost -1 = +-value 1, ghost -2 = +-value 2
//
// A reflection reads near the plane only, so chains with it are cut into tiles; a periodic copy from the far border
// would not let them.
#pragma once

#include <situ/stencil/stencil.h>

#include <array>
#include <tuple>
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
  [&]<int... E>(std::integer_sequence<int, E...>) {
    (f(std::integral_constant<int, E>{}), ...);
  }(std::make_integer_sequence<int, D>{});
}

enum class lies { between, on };  // the planes of symmetry

template <int D>
class reflection {
 public:
  // Mirrors all fields at both planes of direction E: the first index inside is 0, the last is `last`. `across` says
  // which points in the other directions; signs[i] is 1 for an even and -1 for an odd field.
  template <int E, class... Fields>
  void mirror(const situ::stencil::block<D>& on, situ::stencil::box across, lies where, int last,
              const std::array<double, sizeof...(Fields)>& signs, const Fields&... fields) const {
    for (const int side : {1, -1}) {
      const int gap = where == lies::between ? 1 : 2;
      across.low[E] = side > 0 ? -1 : last + 1;
      across.high[E] = across.low[E] + 1;
      const auto& to = shapes_[E][side > 0 ? 0 : 1];
      // An argument for each layer: what is written without being read need not be fetched from afar.
      std::apply(
          [&](const auto&... arguments) {
            situ::stencil::par_loop(
                "mirror", on, across, [side, gap, signs](auto... u) { reflect<E>(side, gap, signs.data(), u...); },
                arguments...);
          },
          std::tuple_cat(std::tuple{situ::stencil::read(fields, to.inside[gap - 1]), situ::stencil::write(fields),
                                    situ::stencil::write(fields, to.second_ghost)}...));
    }
  }

 private:
  struct shapes {
    situ::stencil::shape inside[2];     // by gap
    situ::stencil::shape second_ghost;  // seen from the first
  };

  template <int E, class U, class V, class W, class... More>
  [[gnu::always_inline]] static void reflect(int side, int gap, const double* sign, U inside, V first, W second,
                                             More... more) {
    along<E>(first, 0) = *sign * along<E>(inside, side * gap);
    along<E>(second, -side) = *sign * along<E>(inside, side * (gap + 1));
    if constexpr (sizeof...(More) > 0) reflect<E>(side, gap, sign + 1, more...);
  }
  static situ::stencil::coordinates step(int e, int n) {
    situ::stencil::coordinates c{};
    c[static_cast<std::size_t>(e)] = n;
    return c;
  }
  static shapes make_shapes(int e, int side) {
    const auto inside = [&](int gap) {
      return situ::stencil::shape{"mirrored", D, {step(e, side * gap), step(e, side * (gap + 1))}};
    };
    return {{inside(1), inside(2)}, {"second ghost", D, {step(e, -side)}}};
  }
  template <std::size_t... E>
  static std::array<std::array<shapes, 2>, D> make_all(std::index_sequence<E...>) {
    return {std::array{make_shapes(static_cast<int>(E), 1), make_shapes(static_cast<int>(E), -1)}...};
  }
  std::array<std::array<shapes, 2>, D> shapes_ = make_all(std::make_index_sequence<D>{});  // of direction and side
};

}  // namespace stencil_programs
