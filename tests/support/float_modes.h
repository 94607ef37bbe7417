// Floating-point settings as programs set them, and what code computes with them: for tests of whose settings code has.
#pragma once

#include <xmmintrin.h>

#include <bit>
#include <cfenv>
#include <cstdint>
#include <ostream>
#include <vector>

namespace situ::test {

struct float_mode {
  bool flushes = false;  // results and operands below the normal numbers to zero
  int rounding = FE_TONEAREST;
};
inline std::ostream& operator<<(std::ostream& to, const float_mode& mode) {
  return to << (mode.flushes ? "flush to zero" : "denormals") << ", rounding " << mode.rounding;
}
[[nodiscard]] inline std::vector<float_mode> all_float_modes() {
  return {{true, FE_TONEAREST}, {false, FE_UPWARD}, {false, FE_DOWNWARD}, {true, FE_UPWARD}, {false, FE_TONEAREST}};
}

// The calling thread computes so, in SSE's registers and the x87's, until the end of the scope.
class computing_as {
 public:
  explicit computing_as(const float_mode& mode) {
    std::fesetround(mode.rounding);
    _mm_setcsr((_mm_getcsr() & ~0x8040U) | (mode.flushes ? 0x8040U : 0));
  }
  ~computing_as() {
    std::fesetround(rounding_);
    _mm_setcsr((_mm_getcsr() & ~0x8040U) | flushes_);
  }
  computing_as(const computing_as&) = delete;
  computing_as& operator=(const computing_as&) = delete;

 private:
  const int rounding_ = std::fegetround();
  const unsigned flushes_ = _mm_getcsr() & 0x8040U;
};

// What the settings make of numbers that the compiler does not know, as bits: a number below the normal ones equals 0
// where it is taken for zero.
struct float_results {
  std::uint64_t below_normal = 1;  // 0 where it is flushed
  std::uint64_t third = 0;         // by SSE
  std::uint64_t long_rest = 0;     // of a third by the x87
  friend bool operator==(const float_results&, const float_results&) = default;
};
inline std::ostream& operator<<(std::ostream& to, const float_results& found) {
  return to << std::hex << found.below_normal << ' ' << found.third << ' ' << found.long_rest << std::dec;
}
[[nodiscard]] [[gnu::noinline]] inline float_results compute_floats() {
  volatile double least_normal = 2.2250738585072014e-308, one = 1, three = 3;
  volatile long double long_one = 1, long_three = 3, long_third = long_one / long_three;
  const double below = least_normal / three, third = one / three;
  const double rest = static_cast<double>(long_third - 0x1.5555555555555p-2L);
  return {std::bit_cast<std::uint64_t>(below), std::bit_cast<std::uint64_t>(third), std::bit_cast<std::uint64_t>(rest)};
}

}  // namespace situ::test
