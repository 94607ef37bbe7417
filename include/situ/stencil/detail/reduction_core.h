// Reductions over the points of loops. A result is the same bit for bit for every executor, number of threads and tile
// size: each line of a loop (the points that differ in dimension 0 only) has accumulators of its own, one a lane. A
// point's lane is its distance from the range's low end modulo reduction_lanes; the points of a lane are added in
// ascending order, tile after tile. Then the lines of each lane are combined in their order, and at last the lanes.
// With several lanes a vector holds the points of one step, and a sum does not wait for the one before.
//
// Loops that use the same reduction between two results accumulate into one value. Taking the result starts it anew.
#pragma once

#include <situ/stencil/box.h>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace situ::stencil {

class context;

// Fills two vectors of doubles of AVX2, or one of AVX-512.
inline constexpr int reduction_lanes = 8;

enum class reduction_kind : std::uint8_t { none, sum, min, max };

struct reduction_core {
  std::string name;
  context* owner = nullptr;
  reduction_kind kind = reduction_kind::none;  // of the loops since the last result
  std::size_t element_bytes = 0;
  int count = 1;
  bool is_fresh = true;          // no loop has used it since the last result
  std::vector<std::byte> value;  // count elements
  std::string used_by;           // name of the loop that set the kind
};

template <class T>
[[nodiscard]] constexpr T identity(reduction_kind kind) {
  if constexpr (requires { std::numeric_limits<T>::max(); }) {
    using limits = std::numeric_limits<T>;
    if (kind == reduction_kind::min) return limits::has_infinity ? limits::infinity() : limits::max();
    if (kind == reduction_kind::max) return limits::has_infinity ? -limits::infinity() : limits::lowest();
  }
  return T{};
}

template <class T>
[[nodiscard]] constexpr T combine(reduction_kind kind, const T& a, const T& b) {
  if constexpr (requires { a < b; }) {
    if (kind == reduction_kind::min) return b < a ? b : a;
    if (kind == reduction_kind::max) return a < b ? b : a;
  }
  return a + b;
}

}  // namespace situ::stencil
