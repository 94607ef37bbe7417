// The settings of a thread, handed to another: what is handed over, and what stays the receiver's.
#include "base/float_settings.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <thread>

#include "support/float_modes.h"

namespace situ::detail {
namespace {

using test::all_float_modes;
using test::compute_floats;
using test::computing_as;
using test::float_mode;
using test::float_results;

TEST(float_settings, modes_differ_and_usual_is_what_nobody_has_set) {
  EXPECT_EQ(float_settings::usual(), float_settings::of_this_thread());
  const std::vector<float_mode> modes = all_float_modes();
  std::vector<float_results> found;
  for (const float_mode& each : modes) {
    const computing_as mode{each};
    for (const float_results& other : found) EXPECT_FALSE(other == compute_floats()) << each;
    found.push_back(compute_floats());
    EXPECT_LT(float_settings::of_this_thread().code(), std::uint32_t{1} << float_settings::code_bits);
  }
  EXPECT_EQ(compute_floats(), found.back());
}

TEST(float_settings, another_thread_computes_with_them_for_a_scope) {
  for (const float_mode& each : all_float_modes()) {
    float_results inside, after, expected;
    const auto settings = [&] {
      const computing_as mode{each};
      expected = compute_floats();
      return float_settings::of_this_thread();
    }();
    std::thread{[&] {
      {
        const float_settings_scope as{settings};
        inside = compute_floats();
        std::fesetround(FE_TOWARDZERO);  // what is set inside ends with it
      }
      after = compute_floats();
    }}.join();
    EXPECT_EQ(inside, expected) << each;
    EXPECT_EQ(after, compute_floats()) << each;
  }
}

TEST(float_settings, flags_are_neither_handed_over_nor_cleared) {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_OVERFLOW);
  const float_settings settings = float_settings::of_this_thread();
  int found = -1;
  std::thread{[&] {
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_DIVBYZERO);
    settings.apply();
    found = std::fetestexcept(FE_ALL_EXCEPT);
  }}.join();
  EXPECT_EQ(found, FE_DIVBYZERO);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_OVERFLOW);
  std::feclearexcept(FE_ALL_EXCEPT);
}

// The next instruction of the x87 would trap for a flag of before.
TEST(float_settings, traps_that_are_handed_over_are_not_for_what_was_before) {
  float_settings with_traps = float_settings::usual();
  std::thread{[&] {
    feenableexcept(FE_DIVBYZERO | FE_OVERFLOW);
    with_traps = float_settings::of_this_thread();
  }}.join();
  std::thread{[&] {
    volatile long double zero = 0, one = 1, result = one / zero;  // raises x87's flag
    (void)result;
    const float_settings_scope as{with_traps};
    result = one + one;
    EXPECT_EQ(fegetexcept(), FE_DIVBYZERO | FE_OVERFLOW);
  }}.join();
  EXPECT_EQ(fegetexcept(), 0);
}

}  // namespace
}  // namespace situ::detail
