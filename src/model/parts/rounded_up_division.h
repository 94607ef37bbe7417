// How many units of a fixed size hold so many bytes: a shift where the size is a power of two, as nearly all are.
#pragma once

#include <bit>
#include <cstdint>

namespace situ::model {

class rounded_up_division {
 public:
  // 0: nothing is held by any number of units, and ceil() is 0.
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
