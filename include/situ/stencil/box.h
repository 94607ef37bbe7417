// Points and boxes of up to five dimensions. Values; as thread-safe as an array of int.
//
// Dimension 0 is the innermost: its neighbours lie side by side in memory. Boxes are half open, [low, high) in each dimension.
// What has fewer than five dimensions is [0, 1) in those it lacks, so that the analysis need not ask how many there are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace situ::stencil {

inline constexpr int max_dims = 5;
using coordinates = std::array<int, max_dims>;

struct box {
  coordinates low{};
  coordinates high{1, 1, 1, 1, 1};

  [[nodiscard]] int extent(int d) const noexcept { return std::max(0, high[d] - low[d]); }
  [[nodiscard]] bool empty() const noexcept {
    for (int d = 0; d < max_dims; ++d) {
      if (high[d] <= low[d]) return true;
    }
    return false;
  }
  [[nodiscard]] std::int64_t points() const noexcept {
    std::int64_t n = 1;
    for (int d = 0; d < max_dims; ++d) n *= extent(d);
    return n;
  }
  friend bool operator==(const box&, const box&) = default;
};

[[nodiscard]] inline box intersection(const box& a, const box& b) noexcept {
  box r;
  for (int d = 0; d < max_dims; ++d) {
    r.low[d] = std::max(a.low[d], b.low[d]);
    r.high[d] = std::min(a.high[d], b.high[d]);
  }
  return r;
}

// Whether all of b lies in a.
[[nodiscard]] inline bool contains(const box& a, const box& b) noexcept {
  for (int d = 0; d < max_dims; ++d) {
    if (b.low[d] < a.low[d] || b.high[d] > a.high[d]) return false;
  }
  return true;
}

// The range of a loop, written as its bounds: range(0, nx, 0, ny).
template <class... Bounds>
  requires(sizeof...(Bounds) % 2 == 0 && sizeof...(Bounds) / 2 >= 1 && sizeof...(Bounds) / 2 <= max_dims)
[[nodiscard]] constexpr box range(Bounds... bounds) noexcept {
  const int all[] = {static_cast<int>(bounds)...};
  box r;
  for (std::size_t d = 0; d < sizeof...(Bounds) / 2; ++d) {
    r.low[d] = all[2 * d];
    r.high[d] = all[2 * d + 1];
  }
  return r;
}

}  // namespace situ::stencil
