// Loops compute with the floating-point settings that their thread had when it queued them: the same bits on one thread
// and on several, with every executor, whatever the settings were when the context was made.
#include "stencil/memory_store.h"

#include <situ/stencil/stencil.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "support/float_modes.h"

namespace {

using namespace situ::stencil;
using situ::test::all_float_modes;
using situ::test::compute_floats;
using situ::test::computing_as;
using situ::test::float_mode;
using situ::test::float_results;

constexpr int side = 256;

options how_to(executor by, int threads) {
  options o;
  o.run_by = by;
  o.threads = threads;
  o.bind_threads = false;
  o.small_points = 8;  // all threads take part
  if (by == executor::tiled) o.tile = {64, 16};
  if (by == executor::out_of_core) {
    o.store = std::make_shared<situ::stencil::testing::memory_store>();
    o.fast_bytes = std::uint64_t{3} << 18;  // of 1 MiB
    o.resident_bytes = 0;
  }
  return o;
}

// Values that pass through numbers below the normal ones while the mode is on, and their sums.
std::vector<double> play(const options& how, const float_mode& mode) {
  context c{how};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> u{grid, "u", {side, side}}, v{grid, "v", {side, side}};
  const reduction<double> total{c, "total"}, total_of_usual{c, "total of usual"};
  const auto all = range(0, side, 0, side);
  par_loop(
      "fill", grid, all,
      [](auto x, const std::array<int, 2>& at) { x(0, 0) = (1 + at[0] + side * at[1]) * 2.2250738585072014e-308; },
      write(u), index());
  {
    const computing_as scope{mode};
    par_loop("down", grid, all, [](auto x, auto y) { y(0, 0) = x(0, 0) * 1e-4; }, read(u), write(v));
    par_loop("up", grid, all, [](auto x, auto y) { y(0, 0) = x(0, 0) * 1e4 / 3; }, read(v), write(u));
    par_loop("sum", grid, all, [](auto x, double& s) { s += x(0, 0) * 1e300 / 7; }, read(u), sum(total));
  }
  // Queued as usual, and run with those above.
  par_loop("more", grid, all, [](auto x, auto y) { y(0, 0) = x(0, 0) * 1e-4 / 3; }, read(u), write(v));
  par_loop("sum again", grid, all, [](auto x, double& s) { s += x(0, 0) * 1e300; }, read(v), sum(total_of_usual));
  std::vector<double> found = v.fetch();
  found.push_back(total.value());
  found.push_back(total_of_usual.value());
  return found;
}

TEST(stencil_float_settings, every_executor_gives_the_bits_of_one_thread) {
  const std::vector<double> usual = play(how_to(executor::plain, 1), {});
  for (const float_mode& mode : all_float_modes()) {
    const std::vector<double> expected = play(how_to(executor::plain, 1), mode);
    EXPECT_EQ(expected == usual, !mode.flushes && mode.rounding == FE_TONEAREST) << mode;
    for (const executor by : {executor::plain, executor::tiled, executor::out_of_core})
      for (const int threads : {1, 2, 4})
        EXPECT_TRUE(play(how_to(by, threads), mode) == expected) << mode << ", " << name(by) << ", " << threads;
  }
}

TEST(stencil_float_settings, the_threads_of_a_context_are_given_those_of_who_calls_them) {
  context c{how_to(executor::plain, 4)};
  for (const float_mode& mode : all_float_modes()) {
    const computing_as scope{mode};
    const float_results expected = compute_floats();
    std::atomic<int> equal{0};
    c.on_all_threads([&](int) { equal += compute_floats() == expected ? 1 : 0; });
    EXPECT_EQ(equal.load(), 4) << mode;
  }
}

}  // namespace
