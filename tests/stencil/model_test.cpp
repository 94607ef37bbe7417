// The model: what kernels see, when loops run, what is refused. Literal expectations, on one and several threads.
#include <situ/base/error.h>
#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace situ::stencil;

struct model : testing::TestWithParam<int> {
  options how() const {
    options o;
    o.run_by = executor::tiled;
    o.tile = {3, 2, 2};
    o.small_points = 0;
    o.threads = GetParam();
    return o;
  }
};

TEST_P(model, a_loop_runs_when_its_result_is_needed) {
  context c{how()};
  const block<2> grid{c, "grid"};
  const dataset<int, 2> u{grid, "u", {4, 3}};
  par_loop(
      "number", grid, range(0, 4, 0, 3), [](auto v, const std::array<int, 2>& at) { v(0, 0) = at[0] + 10 * at[1]; },
      write(u), index());
  EXPECT_TRUE(c.is_queued());
  EXPECT_EQ(u.fetch(), (std::vector<int>{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}));
  EXPECT_FALSE(c.is_queued());
}

TEST_P(model, stencils_reach_neighbours_and_ghosts) {
  context c{how()};
  const block<2> grid{c, "grid"};
  const dataset<int, 2> u{grid, "u", {3, 3}, 1}, v{grid, "v", {3, 3}};
  const auto five = shape::star(2, 1);
  par_loop("one", grid, range(-1, 4, -1, 4), [](auto x) { x(0, 0) = 1; }, write(u));
  par_loop(
      "sum", grid, range(0, 3, 0, 3),
      [](auto x, auto y) { y(0, 0) = x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1) - x(0, 0); }, read(u, five), write(v));
  par_loop("clear", grid, range(0, 3, 1, 2), [](auto x) { x(0, 0) = 0; }, write(u));
  par_loop("add", grid, range(0, 3, 0, 3), [](auto x, auto y) { y(0, 0) += x(0, 0); }, read(u), increment(v));
  EXPECT_EQ(v.fetch(), (std::vector<int>{4, 4, 4, 3, 3, 3, 4, 4, 4}));
}

TEST_P(model, reductions_take_several_values_and_start_anew) {
  context c{how()};
  const block<1> line{c, "line"};
  const dataset<double, 1> u{line, "u", {10}};
  const reduction<double> total{c, "total"}, least{c, "least"}, most{c, "most"};
  const reduction<long, 3> counts{c, "counts"};
  par_loop("fill", line, range(0, 10), [](auto x, const std::array<int, 1>& i) { x(0) = i[0] - 3; }, write(u), index());
  for (int repeat = 0; repeat < 2; ++repeat) {
    par_loop(
        "reduce", line, range(0, 10),
        [](auto x, double& s, double& lo, double& hi, std::span<long, 3> n) {
          s += x(0);
          lo = std::min(lo, x(0));
          hi = std::max(hi, x(0));
          ++n[x(0) < 0 ? 0 : x(0) == 0 ? 1 : 2];
        },
        read(u), sum(total), min(least), max(most), sum(counts));
    EXPECT_EQ(total.value(), 15);
    EXPECT_EQ(least.value(), -3);
    EXPECT_EQ(most.value(), 6);
    EXPECT_EQ(counts.value(), (std::array<long, 3>{3, 1, 6}));
  }
  EXPECT_EQ(total.value(), 0) << "no loop since the last result";
}

TEST_P(model, several_loops_share_a_reduction) {
  context c{how()};
  const block<2> grid{c, "grid"};
  const reduction<int> points{c, "points"};
  par_loop("a", grid, range(0, 5, 0, 4), [](int& n) { ++n; }, sum(points));
  par_loop("b", grid, range(0, 3, 7, 9), [](int& n) { ++n; }, sum(points));
  EXPECT_EQ(points.value(), 26);
}

TEST_P(model, a_column_serves_a_plane_and_a_plane_sums_into_a_column) {
  context c{how()};
  const block<2> grid{c, "grid"};
  dataset_layout column;
  column.inner = range(0, 1, 0, 4);
  const dataset<double, 2> y{grid, "y", column}, sums{grid, "sums", column}, u{grid, "u", {600, 4}},
      row{grid, "row", {600, 1}};
  const shape along_y{"along_y", 2, {{0, 0}}, {0, 1}};
  const shape along_x{"along_x", 2, {{0, 0}}, {1, 0}};
  const shape y_pair{"y_pair", 2, {{0, 0}, {0, 1}}, {0, 1}};
  par_loop(
      "y", grid, range(0, 1, 0, 4), [](auto v, const std::array<int, 2>& i) { v(0, 0) = i[1]; }, write(y), index());
  par_loop(
      "x", grid, range(0, 600, 0, 1), [](auto v, const std::array<int, 2>& i) { v(0, 0) = i[0]; }, write(row), index());
  par_loop(
      "u", grid, range(0, 600, 0, 3), [](auto v, auto a, auto b) { v(0, 0) = 1000 * (b(0, 0) + b(0, 1)) + a(0, 0); },
      write(u), read(row, along_x), read(y, y_pair));
  par_loop(
      "sum", grid, range(0, 600, 0, 3), [](auto v, auto s) { s(0, 0) += v(0, 0); }, read(u), increment(sums, along_y));
  const auto got = u.fetch();
  EXPECT_EQ(got[0], 1000);
  EXPECT_EQ(got[599], 1599);
  EXPECT_EQ(got[600 + 300], 3300);
  EXPECT_EQ(got[1200 + 7], 5007);
  const double x_sum = 600 * 599 / 2;
  EXPECT_EQ(sums.fetch(), (std::vector<double>{600e3 + x_sum, 1800e3 + x_sum, 3000e3 + x_sum, 0}));
}

TEST_P(model, grids_of_different_spacing_restrict_and_prolong) {
  context c{how()};
  const block<1> line{c, "line"};
  const dataset<int, 1> fine{line, "fine", {8}}, coarse{line, "coarse", {4}}, back{line, "back", {8}};
  const shape pairs{"pairs", 1, {{0}, {1}}, {2}};
  const shape halves{"halves", 1, {{0}}, {1, 1, 1, 1, 1}, {2, 1, 1, 1, 1}};
  par_loop(
      "fill", line, range(0, 8), [](auto x, const std::array<int, 1>& i) { x(0) = i[0] * i[0]; }, write(fine), index());
  par_loop("restrict", line, range(0, 4), [](auto x, auto y) { y(0) = x(0) + x(1); }, read(fine, pairs), write(coarse));
  par_loop("prolong", line, range(0, 8), [](auto x, auto y) { y(0) = x(0); }, read(coarse, halves), write(back));
  EXPECT_EQ(coarse.fetch(), (std::vector<int>{1, 13, 41, 85}));
  EXPECT_EQ(back.fetch(), (std::vector<int>{1, 1, 13, 13, 41, 41, 85, 85}));
}

TEST_P(model, components_and_structs) {
  struct pair {
    short a;
    char b;
    bool operator==(const pair&) const = default;
  };
  context c{how()};
  const block<3> cube{c, "cube"};
  const dataset<float, 3> u{cube, "u", {2, 2, 2}, 1, 3};
  const dataset<pair, 3> p{cube, "p", {2, 1, 1}};
  par_loop(
      "fill", cube, range(0, 2, 0, 2, 0, 2),
      [](auto v, const std::array<int, 3>& i) {
        for (int n = 0; n < 3; ++n) v.at(n, 0, 0, 0) = static_cast<float>(100 * n + i[0] + 2 * i[1] + 4 * i[2]);
      },
      write(u), index());
  par_loop(
      "pairs", cube, range(0, 2, 0, 1, 0, 1),
      [](auto v, auto q) { q(0, 0, 0) = {static_cast<short>(v.component(2)(0, 0, 0)), 'x'}; }, read(u), write(p));
  const auto all = u.fetch();
  ASSERT_EQ(all.size(), 24u);
  EXPECT_EQ(all[7], 7);
  EXPECT_EQ(all[8], 100);
  EXPECT_EQ(all[23], 207);
  EXPECT_EQ(p.fetch(), (std::vector<pair>{{200, 'x'}, {201, 'x'}}));
  u.store(range(0, 2, 0, 1, 0, 1), std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(u.fetch(range(0, 2, 0, 1, 0, 1)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_P(model, globals_are_taken_when_the_loop_is_queued) {
  context c{how()};
  const block<1> line{c, "line"};
  const dataset<int, 1> u{line, "u", {2}};
  int value = 5;
  par_loop(
      "set", line, range(0, 2), [](auto x, const int& v, const std::array<int, 2>& w) { x(0) = v + w[1]; }, write(u),
      global(value), global(std::array{1, 2}));
  value = 6;
  EXPECT_EQ(u.fetch(), (std::vector<int>{7, 7}));
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::bad_argument);
    return std::string{e.message()};
  }
  return "nothing thrown";
}

TEST_P(model, what_leaves_a_dataset_is_refused_by_name) {
  context c{how()};
  const block<2> grid{c, "grid"};
  const dataset<int, 2> u{grid, "temperature", {4, 4}, 1};
  const auto text =
      message_of([&] { par_loop("smooth", grid, range(0, 4, 0, 5), [](auto) {}, read(u, shape::star(2, 1))); });
  EXPECT_EQ(text,
            "kernel 'smooth', argument 1: range [0, 5) with stencil 'star2d1' touches [-1, 6) of dataset 'temperature' "
            "in dimension 1, which has "
            "[-1, 5) with its ghost points");
  EXPECT_FALSE(c.is_queued());
}

TEST_P(model, mixed_reductions_and_foreign_datasets_are_refused) {
  context c{how()}, other{how()};
  const block<1> line{c, "line"}, far{other, "far"};
  const dataset<int, 1> u{far, "u", {2}};
  const reduction<int> r{c, "r"};
  par_loop("a", line, range(0, 2), [](int& n) { ++n; }, sum(r));
  EXPECT_THAT(message_of([&] { par_loop("b", line, range(0, 2), [](int& n) { ++n; }, max(r)); }),
              testing::HasSubstr("kernel 'a'"));
  EXPECT_THAT(message_of([&] { par_loop("c", line, range(0, 2), [](auto) {}, read(u)); }),
              testing::HasSubstr("another context"));
}

// What the compiler does not see, since a box was made before: nothing runs, and nothing is left in the queue.
TEST_P(model, other_dimensions_and_sizes_are_refused) {
  context c{how()}, other{how()};
  const block<2> grid{c, "grid"};
  const block<3> cube{c, "cube"};
  const dataset<int, 2> u{grid, "u", {4, 4}, 1};
  const dataset<int, 3> w{cube, "w", {4, 4, 4}, 1};
  const box line = range(0, 4), plane = range(0, 4, 0, 4), all = range(0, 4, 0, 4, 0, 4);
  box unnamed = all;
  unnamed.dims = 0;
  const auto nothing = [](auto) {};
  EXPECT_EQ(message_of([&] { par_loop("clear", cube, plane, nothing, write(w)); }),
            "kernel 'clear' runs over a block of 3 dimensions, but its range has 2");
  EXPECT_EQ(message_of([&] { par_loop("clear", grid, all, nothing, write(u)); }),
            "kernel 'clear' runs over a block of 2 dimensions, but its range has 3");
  EXPECT_EQ(message_of([&] { par_loop("clear", grid, unnamed, nothing, write(u)); }),
            "kernel 'clear' runs over a block of 2 dimensions, but its range has 3");
  EXPECT_EQ(message_of([&] { par_loop("clear", cube, u.inner(), nothing, write(w)); }),
            "kernel 'clear' runs over a block of 3 dimensions, but its range has 2");
  EXPECT_EQ(message_of([&] { par_loop("look", cube, all, nothing, read(w, shape::star(2, 1))); }),
            "kernel 'look' runs over a block of 3 dimensions, but stencil 'star2d1' of dataset 'w' has 2");
  EXPECT_EQ(message_of([&] { (void)u.fetch(line); }), "a range of 1 dimensions is not one of dataset 'u', which has 2");
  EXPECT_EQ(message_of([&] { w.store(plane, std::vector<int>(16)); }),
            "a range of 2 dimensions is not one of dataset 'w', which has 3");
  EXPECT_EQ(message_of([&] { u.store(plane, std::vector<int>(15)); }),
            "15 values are stored in dataset 'u' where 16 are needed: 16 points of 1 components");
  EXPECT_FALSE(c.is_queued());
  par_loop("set", grid, plane, [](auto x) { x(0, 0) = 1; }, write(u));
  EXPECT_EQ(u.fetch(), std::vector<int>(16, 1));
}

TEST_P(model, untyped_calls_are_held_against_what_was_declared) {
  context c{how()}, other{how()};
  const block<1> line{c, "line"};
  const dataset<double, 1> u{line, "u", {4}};
  const reduction<float> r{c, "r"};
  double buffer[4] = {};
  EXPECT_EQ(message_of([&] { c.use(r.core(), reduction_kind::sum, "wide", buffer, sizeof(double)); }),
            "kernel 'wide' reduces 8 bytes into 'r', which was declared with 4");
  EXPECT_EQ(message_of([&] { other.fetch(*u.core(), u.inner(), component_order::separate, buffer); }),
            "dataset 'u' is of another context");
  EXPECT_EQ(message_of([&] { other.store(*u.core(), u.inner(), component_order::separate, buffer); }),
            "dataset 'u' is of another context");
  EXPECT_EQ(message_of([&] { other.remove_dataset(u.core()); }), "dataset 'u' is of another context");
  EXPECT_EQ(r.value(), 0);
}

TEST_P(model, datasets_and_stencils_that_contradict_themselves_are_refused) {
  context c{how()};
  const block<2> grid{c, "grid"};
  const auto make = [&](const auto& change) {
    dataset_layout l;
    l.inner = range(0, 4, 0, 4);
    change(l);
    return message_of([&] { const dataset<int, 2> u{grid, "u", l}; });
  };
  EXPECT_EQ(make([](auto& l) { l.inner = range(0, 4); }), "dataset 'u' has 2 dimensions, but its layout a box of 1");
  EXPECT_EQ(make([](auto& l) { l.inner.dims = 0, l.inner.high[2] = 3; }),
            "dataset 'u' has 2 dimensions, but its layout points in dimension 2");
  EXPECT_EQ(make([](auto& l) { l.inner.high[1] = 0, l.below[1] = l.above[1] = 1; }),
            "dataset 'u' has no points in dimension 1: [0, 0)");
  EXPECT_EQ(make([](auto& l) { l.above[1] = -1; }), "dataset 'u' has 0 ghost points below and -1 above in dimension 1");
  EXPECT_EQ(make([](auto& l) { l.above[2] = 1; }),
            "dataset 'u' has 2 dimensions, but its layout points in dimension 2");
  EXPECT_EQ(make([](auto& l) { l.components = 0; }), "dataset 'u' has 0 components");
  EXPECT_THAT(message_of([&] { const shape s{"deep", 2, {{0, 0}, {0, 0, 1}}}; }),
              testing::HasSubstr("'deep' has 2 dimensions, but an offset"));
  EXPECT_THAT(message_of([&] { const shape s{"fine", 1, {{0}}, {2, 2}}; }),
              testing::HasSubstr("'fine' has 1 dimensions, but an offset, a multiplier"));
}

TEST_P(model, a_loop_that_is_refused_leaves_its_reductions_alone) {
  context c{how()}, other{how()};
  const block<1> line{c, "line"};
  const dataset<int, 1> u{line, "u", {4}};
  const reduction<int> r{c, "r"}, foreign{other, "foreign"};
  const auto least = [](auto, int&) {};
  EXPECT_THAT(message_of([&] { par_loop("far", line, range(0, 9), least, read(u), min(r)); }),
              testing::HasSubstr("touches [0, 9)"));
  EXPECT_EQ(r.value(), 0) << "no loop has used it";
  EXPECT_THAT(message_of([&] { par_loop("far", line, range(0, 4), least, read(u), min(foreign)); }),
              testing::HasSubstr("'foreign' of another context"));
  EXPECT_EQ(foreign.value(), 0);
  par_loop("count", line, range(0, 4), [](int& n) { ++n; }, sum(r));
  EXPECT_EQ(r.value(), 4);
}

// Steps of seven loops, the first and the fourth of which are not alike, but others are.
std::vector<int> steps_of_seven(context& c, int steps) {
  const block<1> line{c, "line"};
  const dataset<int, 1> u{line, "u", {40}, 1}, v{line, "v", {40}, 1};
  const shape left{"left", 1, {{-1}}};
  par_loop("start", line, range(0, 40), [](auto x) { x(0) = 0; }, write(u));
  for (int step = 0; step < steps; ++step) {
    for (int n = 0; n < 3; ++n) {
      par_loop("up", line, range(0, 40), [](auto x, auto y) { y(0) += x(-1) + 1; }, read(u, left), read_write(v));
      par_loop("down", line, range(n / 2, 40), [](auto x, auto y) { y(0) = x(0) % 1000; }, read(v), write(u));
    }
    par_loop("edge", line, range(-1, 0), [](auto x) { x(0) += 1; }, read_write(u));
  }
  return u.fetch();
}

// A chain that gets too long ends with a time step, so the same chains come again, though the limit is no multiple of a
// step.
TEST_P(model, long_chains_are_cut_between_time_steps) {
  auto o = how();
  o.max_chain_loops = 50;
  context c{o};
  const auto got = steps_of_seven(c, 200);
  const auto& s = c.statistics();
  EXPECT_EQ(s.loops, 1401u);
  EXPECT_GE(s.chains, 1401u / 50);
  EXPECT_LE(s.plans_made, 3u) << "the first chain, those in the middle, the rest";
  o.max_chain_loops = 100000;
  context whole{o};
  EXPECT_EQ(got, steps_of_seven(whole, 200));
  EXPECT_EQ(whole.statistics().chains, 1u);
}

TEST_P(model, nan_is_found) {
  auto o = how();
  o.find_nan = true;
  context c{o};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> u{grid, "u", {4, 4}};
  par_loop(
      "root", grid, range(0, 4, 0, 4),
      [](auto x, const std::array<int, 2>& i) { x(0, 0) = std::sqrt(5.0 - i[0] - i[1]); }, write(u), index());
  EXPECT_THAT(message_of([&] { c.execute(); }),
              testing::AllOf(testing::HasSubstr("'u'"), testing::HasSubstr("(3, 3,"), testing::HasSubstr("'root'")));
}

INSTANTIATE_TEST_SUITE_P(threads, model, testing::Values(1, 2, 3));

}  // namespace
