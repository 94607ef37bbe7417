// Points and boxes of up to five dimensions. Values; as thread-safe as an array of int.
//
// Dimension 0 is the innermost: neighbours along it are adjacent in memory. Boxes are half open, [low, high) in each
// dimension. A box of fewer than five dimensions is [0, 1) in the others, so that the analysis need not ask how many
// there are. cost: a few instructions for each of the five dimensions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

namespace situ::stencil {

inline constexpr int max_dims = 5;  // of a block
// A point, or an offset between points: dimension 0 first, 0 in the dimensions that are not used.
using coordinates = std::array<int, max_dims>;

// The points at or above `low` and below `high` in every dimension.
struct box {
  coordinates low{};                // the lowest point
  coordinates high{1, 1, 1, 1, 1};  // one behind the highest point
  int dims = 0;  // as the caller declared them; 0: not declared. Functions that take a box compare them with their own

  // Returns the number of points in dimension d; 0 if high is below low. pre: 0 <= d < max_dims.
  [[nodiscard]] int extent(int d) const noexcept { return std::max(0, high[d] - low[d]); }
  // Returns whether the box has no points.
  [[nodiscard]] bool empty() const noexcept {
    for (int d = 0; d < max_dims; ++d) {
      if (high[d] <= low[d]) return true;
    }
    return false;
  }
  // Returns the number of points.
  [[nodiscard]] std::int64_t points() const noexcept {
    std::int64_t n = 1;
    for (int d = 0; d < max_dims; ++d) n *= extent(d);
    return n;
  }
  friend bool operator==(const box& a, const box& b) noexcept { return a.low == b.low && a.high == b.high; }
};

// Returns the points that lie in both boxes; may be empty.
[[nodiscard]] inline box intersection(const box& a, const box& b) noexcept {
  box r;
  for (int d = 0; d < max_dims; ++d) {
    r.low[d] = std::max(a.low[d], b.low[d]);
    r.high[d] = std::min(a.high[d], b.high[d]);
  }
  return r;
}

// Returns whether all of b lies in a.
[[nodiscard]] inline bool contains(const box& a, const box& b) noexcept {
  for (int d = 0; d < max_dims; ++d) {
    if (b.low[d] < a.low[d] || b.high[d] > a.high[d]) return false;
  }
  return true;
}

// A box of D dimensions at compile time; range() makes one.
template <int D>
struct range_box : box {};

// Returns the range of a loop, written as its bounds: range(0, nx, 0, ny).
template <class... Bounds>
  requires(sizeof...(Bounds) % 2 == 0 && sizeof...(Bounds) / 2 >= 1 && sizeof...(Bounds) / 2 <= max_dims)
[[nodiscard]] constexpr auto range(Bounds... bounds) noexcept {
  constexpr int dims = sizeof...(Bounds) / 2;
  const int all[] = {static_cast<int>(bounds)...};
  range_box<dims> r;
  for (std::size_t d = 0; d < dims; ++d) {
    r.low[d] = all[2 * d];
    r.high[d] = all[2 * d + 1];
  }
  r.dims = dims;
  return r;
}

// Fails to compile for a range of other dimensions. A plain box is checked at run time.
template <int D, class Box>
constexpr void require_dims() noexcept {
  if constexpr (requires(const Box& b) { []<int N>(const range_box<N>&) {}(b); }) {
    static_assert(std::is_same_v<Box, range_box<D>>,
                  "the range has other dimensions than what it is a range of; it takes two bounds for each dimension");
  }
}

}  // namespace situ::stencil
