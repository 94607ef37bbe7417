// Computes how many units of a fixed size hold a number of bytes: a shift if the size is a power of two, as nearly all
// sizes are.
#pragma once

#include <bit>
#include <cstdint>

namespace situ::model {

class rounded_up_division {
 public:
  // unit: size of a unit in bytes; if it is 0, ceil() returns 0.
  explicit rounded_up_division(std::uint32_t unit) noexcept
      : unit_{unit}, shift_{std::has_single_bit(unit) ? std::countr_zero(unit) : no_shift} {}

  // pre: bytes + unit < 2^32.
  [[nodiscard]] std::uint32_t ceil(std::uint32_t bytes) const noexcept {
    if (shift_ != no_shift) [[likely]]
      return (bytes + unit_ - 1) >> shift_;
    return unit_ == 0 ? 0 : (bytes + unit_ - 1) / unit_;
  }

 private:
  static constexpr int no_shift = -1;
  std::uint32_t unit_;
  int shift_;
};

}  // namespace situ::model
