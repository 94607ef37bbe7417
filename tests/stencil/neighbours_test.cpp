// Kernels that choose a neighbour and then read it, which become choices among values (detail/load.h).
#include <situ/stencil/stencil.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace {

using namespace situ::stencil;

constexpr int width = 61, height = 17, reach = 4;

options run_by(executor e) {
  options o;
  o.run_by = e;
  o.threads = 2;
  o.tile = {16, 4};
  return o;
}

// What a value tells of where it was read. Of 8 bits, so that each element type can hold it.
template <class T>
T mark(int x, int y, int component) {
  return static_cast<T>((x * 7 + y * 31 + component * 13) & 0x7f);
}
int chosen_at(int x, int y) { return (x * 5 + y * 3) % (2 * reach + 1) - reach; }

template <class T>
void choose_among_all(executor e) {
  context c{run_by(e)};
  const block<2> grid{c, "grid"};
  const dataset<T, 2> u{grid, "u", {width, height}, reach, 2};
  const dataset<int, 2> by{grid, "by", {width, height}};
  const dataset<T, 2> along_x{grid, "along_x", {width, height}}, along_y{grid, "along_y", {width, height}};
  const dataset<T, 2> beside{grid, "beside", {width, height}};
  par_loop(
      "mark", grid, range(-reach, width + reach, -reach, height + reach),
      [](auto to, const std::array<int, 2>& at) {
        to(0, 0) = mark<T>(at[0], at[1], 0);
        to.at(1, 0, 0) = mark<T>(at[0], at[1], 1);
      },
      write(u), index());
  par_loop(
      "choose", grid, range(0, width, 0, height),
      [](auto to, const std::array<int, 2>& at) { to(0, 0) = chosen_at(at[0], at[1]); }, write(by), index());
  par_loop(
      "read", grid, range(0, width, 0, height),
      [](auto x, auto y, auto both, auto from, auto offset) {
        const int n = offset(0, 0);
        x(0, 0) = from(n, 0);
        y(0, 0) = from.at(1, 1, n);
        // A few only, as upwinding has them: the compiler knows which.
        const int near = n > 1 ? -2 : n < -1 ? 1 : 0;
        both(0, 0) = n == 0 ? from(near, -1) : static_cast<T>(from(near, 0) ^ from.component(1)(0, near));
      },
      write(along_x), write(along_y), write(beside), read(u, shape::cube(2, reach)), read(by));
  const auto x = along_x.fetch(), y = along_y.fetch(), b = beside.fetch();
  for (int j = 0, p = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i, ++p) {
      const int n = chosen_at(i, j), near = n > 1 ? -2 : n < -1 ? 1 : 0;
      const auto at = static_cast<std::size_t>(p);
      ASSERT_EQ(x[at], mark<T>(i + n, j, 0)) << i << " " << j << " by " << n;
      ASSERT_EQ(y[at], mark<T>(i + 1, j + n, 1)) << i << " " << j << " by " << n;
      ASSERT_EQ(b[at],
                n == 0 ? mark<T>(i, j - 1, 0) : static_cast<T>(mark<T>(i + near, j, 0) ^ mark<T>(i, j + near, 1)))
          << i << " " << j << " by " << n;
    }
  }
}
TEST(neighbours, that_a_kernel_chooses_are_read) {
  for (const executor e : {executor::plain, executor::tiled, executor::out_of_core}) {
    SCOPED_TRACE(static_cast<int>(e));
    choose_among_all<std::int64_t>(e);
    choose_among_all<int>(e);
    choose_among_all<std::int8_t>(e);
  }
}

// A structure is read where it lies; the choice needs no copy.
TEST(neighbours, of_a_structure_have_an_address) {
  struct pair {
    double a, b;
  };
  context c{run_by(executor::plain)};
  const block<1> line{c, "line"};
  const dataset<pair, 1> u{line, "u", {8}, 1};
  const dataset<double, 1> v{line, "v", {8}};
  par_loop(
      "fill", line, range(-1, 9),
      [](auto to, const std::array<int, 1>& at) { to(0) = pair{1.0 * at[0], 100.0 + at[0]}; }, write(u), index());
  par_loop(
      "sum", line, range(0, 8),
      [](auto to, auto from, const std::array<int, 1>& at) {
        const pair& there = from(at[0] % 2 == 0 ? 1 : -1);
        to(0) = there.a + there.b;
      },
      write(v), read(u, shape::cube(1, 1)), index());
  const auto got = v.fetch();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], 100.0 + 2 * (i + (i % 2 == 0 ? 1 : -1)));
}

// No point of the loop is a point of u, and none of its rows is near: what the stencil does not declare is not read.
TEST(neighbours, far_away_are_read_and_nothing_between) {
  constexpr int far = 5'000'000;
  context c{run_by(executor::plain)};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> u{grid, "u", {1024, 4}};
  dataset_layout away;
  away.inner = range(0, 1024, -far, -far + 3);
  const dataset<double, 2> v{grid, "v", away};
  const dataset<int, 2> by{grid, "by", away};
  par_loop(
      "fill", grid, range(0, 1024, 0, 4),
      [](auto to, const std::array<int, 2>& at) { to(0, 0) = at[0] + 1024.0 * at[1]; }, write(u), index());
  par_loop(
      "choose", grid, away.inner,
      [](auto to, const std::array<int, 2>& at) { to(0, 0) = at[0] % 3 == 0 ? far : far + 1; }, write(by), index());
  par_loop(
      "read", grid, away.inner, [](auto to, auto from, auto offset) { to(0, 0) = from(0, offset(0, 0)); }, write(v),
      read(u, shape{"far", 2, {{0, far}, {0, far + 1}}}), read(by));
  const auto got = v.fetch();
  for (int j = 0, p = 0; j < 3; ++j)
    for (int i = 0; i < 1024; ++i, ++p)
      ASSERT_EQ(got[static_cast<std::size_t>(p)], i + 1024.0 * (i % 3 == 0 ? j : j + 1)) << i << " " << j;
}

}  // namespace
