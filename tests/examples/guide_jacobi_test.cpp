// guide_jacobi: the same heat as a plain loop has, on every layout.
#include "command.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using package_rank::test::situ_run;

double heat_of_a_plain_loop(std::size_t steps, std::size_t width) {
  const std::size_t pitch = width + 2;
  std::vector<double> now(pitch * pitch), next;
  for (std::size_t j = 0; j < pitch; ++j) now[j] = 1;
  next = now;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 1; i <= width; ++i) {
      for (std::size_t j = 1; j <= width; ++j) {
        const double* const at = &now[i * pitch + j];
        next[i * pitch + j] = 0.25 * (at[-static_cast<std::ptrdiff_t>(pitch)] + at[pitch] + at[-1] + at[1]);
      }
    }
    now.swap(next);
  }
  double heat = 0;
  for (std::size_t i = 1; i <= width; ++i)
    for (std::size_t j = 1; j <= width; ++j) heat += now[i * pitch + j];
  return heat;
}

TEST(guide_jacobi, has_the_heat_of_a_plain_loop) {
  const double expected = heat_of_a_plain_loop(200, 30);
  for (const unsigned places : {1U, 2U, 3U, 4U}) {
    for (const bool in_process : {false, true}) {
      const auto result = situ_run(places, in_process, "jacobi", {"200", "30"});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_NEAR(std::stod(result.out), expected, 1e-6) << places << (in_process ? " threads" : " processes");
    }
  }
}

}  // namespace
