// The 26 neighbours of a point of a cube.
#pragma once

namespace stencil_programs {

// Sums over the neighbours, by how far they are.
struct neighbours27 {
  double faces = 0;    // 6, at distance 1
  double edges = 0;    // 12, at the square root of 2
  double corners = 0;  // 8, at the square root of 3
};

// u(i, j, k) is the value at that offset.
template <class U>
[[gnu::always_inline]] inline neighbours27 sum_neighbours27(const U& u) {
  neighbours27 sums;
  for (int k = -1; k <= 1; ++k) {
    for (int j = -1; j <= 1; ++j) {
      for (int i = -1; i <= 1; ++i) {
        const int far = i * i + j * j + k * k;
        if (far == 1) sums.faces += u(i, j, k);
        if (far == 2) sums.edges += u(i, j, k);
        if (far == 3) sums.corners += u(i, j, k);
      }
    }
  }
  return sums;
}

}  // namespace stencil_programs
