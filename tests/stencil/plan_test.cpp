// Plans against figures worked out by hand; the first is the example of docs/design/stencil.md.
#include "stencil/plan.h"

#include <situ/stencil/stencil.h>

#include <gtest/gtest.h>

namespace {

using namespace situ::stencil;

struct plans : testing::Test {
  context c{{.threads = 1}};
  block<1> line{c, "line"};
  dataset<double, 1> a{line, "a", {12}, 2}, b{line, "b", {12}, 2}, coarse{line, "coarse", {6}, 2};
  shape three{"three", 1, {{-1}, {0}, {1}}};
  std::vector<std::unique_ptr<loop>> loops;

  void add(const box& over, const dataset<double, 1>& from, const shape& where, const dataset<double, 1>& to) {
    const auto kernel = [](auto, auto) {};
    using parameter = detail::dataset_parameter<double, 1>;
    loops.push_back(std::make_unique<detail::kernel_loop<std::remove_const_t<decltype(kernel)>, parameter, parameter>>(
        "loop" + std::to_string(loops.size()), 1, over, kernel, parameter{from.core(), where, access_mode::read},
        parameter{to.core(), shape::point(1), access_mode::write}));
  }
};

TEST_F(plans, each_sweep_runs_one_layer_ahead_of_the_next) {
  add(range(0, 12), a, three, b);
  add(range(0, 12), b, three, a);
  add(range(0, 12), a, three, b);
  const auto p = make_plan(loops, {4});
  EXPECT_EQ(p.tiles[0], 3);
  EXPECT_EQ(p.ends[0], (std::vector<int>{6, 5, 4, 10, 9, 8, 12, 12, 12}));
  const auto f = footprints(loops, p, 1);
  ASSERT_EQ(f.size(), 2u);
  EXPECT_EQ(f[0].touched, range(3, 11));  // a
  EXPECT_EQ(f[1].touched, range(4, 10));  // b
}

TEST_F(plans, boundary_loops_ask_for_no_more_than_they_touch) {
  add(range(0, 12), a, three, b);
  add(range(11, 12), b, three, a);  // at the far end: nothing before the last tile
  add(range(0, 1), b, three, a);    // at the near end: done in the first
  const auto p = make_plan(loops, {4});
  EXPECT_EQ(p.ends[0], (std::vector<int>{4, 11, 1, 8, 11, 1, 12, 12, 1}));
}

TEST_F(plans, coarse_grids_count_their_own_coordinates) {
  add(range(0, 12), a, three, b);
  add(range(0, 6), b, shape{"pair", 1, {{0}, {1}}, {2}}, coarse);
  add(range(0, 12), coarse, shape{"half", 1, {{0}}, {1, 1, 1, 1, 1}, {2, 1, 1, 1, 1}}, a);
  const auto p = make_plan(loops, {4});
  // The last loop's indices below 4 read coarse points below 2, which come from b below 4; and overwrite a, which the
  // first loop reads one beyond.
  EXPECT_EQ((std::vector<int>{p.ends[0].begin(), p.ends[0].begin() + 3}), (std::vector<int>{8, 4, 4}));
}

TEST_F(plans, a_single_loop_and_a_chain_that_fits_are_not_cut) {
  add(range(0, 12), a, three, b);
  EXPECT_EQ(choose_tile(loops, 1), coordinates{});
  add(range(0, 12), b, three, a);
  EXPECT_EQ(choose_tile(loops, 1 << 20), coordinates{});
}

}  // namespace
