// Single loops: the triad, and loops over a cube of three dimensions.
#include "measure.h"
#include "neighbours27.h"

#include <situ/stencil/stencil.h>

#include <cmath>
#include <cstring>

namespace stencil_bench {

using namespace situ::stencil;

void measure_triad(const session& s, const char* case_name, int thread_count) {
  const int n = s.is_quick ? 1 << 18 : 1 << 24;
  raw_triad raw{static_cast<std::size_t>(n)};
  context c{options_for(executor::plain, thread_count)};
  const block<1> line{c, "line"};
  const dataset<double, 1> x{line, "x", {n}}, y{line, "y", {n}}, z{line, "z", {n}};
  const auto ours = [&] {
    par_loop(
        "triad", line, range(0, n), [](auto a, auto b, auto d) { a(0) = b(0) + 3.0 * d(0); }, write(x), read(y),
        read(z));
    c.execute();
  };
  par_loop(
      "start", line, range(0, n), [](auto b, auto d, const auto& i) { b(0) = i[0], d(0) = -i[0]; }, write(y), write(z),
      index());
  ours();
  require_equal(x.fetch(range(n - 1, n)).front() == -2.0 * (n - 1), case_name);
  raw.run(thread_count);
  sampler samples{s, case_name};
  samples.repeat([&] {
    const double by_hand = raw.run(thread_count) / n * 1e9;
    samples.print("raw", by_hand, by_hand);
    samples.print("plain", seconds_of(ours) / n * 1e9, by_hand);
  });
}

namespace {

constexpr double c0 = 0.3, c1 = 0.1, c2 = 0.02, c3 = 0.01;

struct raw_view {
  const double* at;
  std::ptrdiff_t row, plane;
  [[gnu::always_inline]] double operator()(int x, int y, int z) const { return at[x + y * row + z * plane]; }
};

template <class U>
[[gnu::always_inline]] inline double copied(const U& u) {
  return u(0, 0, 0);
}
template <class U>
[[gnu::always_inline]] inline double seven(const U& u) {
  return c0 * u(0, 0, 0) + c1 * (u(-1, 0, 0) + u(1, 0, 0) + u(0, -1, 0) + u(0, 1, 0) + u(0, 0, -1) + u(0, 0, 1));
}
template <class U>
[[gnu::always_inline]] inline double twenty_seven(const U& u) {
  const auto [faces, edges, corners] = stencil_programs::sum_neighbours27(u);
  return c0 * u(0, 0, 0) + c1 * faces + c2 * edges + c3 * corners;
}

// With the compiler told that lines do not overlap: without ivdep gcc 12 leaves the 27-point loop scalar.
template <class F>
void sweep_by_hand(const double* from, double* to, int n, F f) {
  const std::ptrdiff_t row = n + 2, plane = row * row;
  for (int z = 1; z <= n; ++z) {
    for (int y = 1; y <= n; ++y) {
      const double* __restrict const a = from + z * plane + y * row + 1;
      double* __restrict const b = to + z * plane + y * row + 1;
#pragma GCC ivdep
      for (int i = 0; i < n; ++i) b[i] = f(raw_view{a + i, row, plane});
    }
  }
}

template <class F>
void measure_kernel(const session& s, const char* case_name, const shape& where, F f) {
  const int n = s.is_quick ? 48 : 256;
  const auto side = static_cast<std::size_t>(n) + 2;
  const huge_array a{side * side * side, 1}, b{side * side * side, 1};
  for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = std::sin(static_cast<double>(i));
  context c{options_for(executor::plain, 1)};
  const block<3> cube{c, "cube"};
  const dataset<double, 3> u{cube, "u", {n, n, n}, 1}, v{cube, "v", {n, n, n}, 1};
  u.store(u.valid(), {a.data(), a.size()});
  const auto by_hand = [&] { sweep_by_hand(a.data(), b.data(), n, f); };
  const auto ours = [&] {
    par_loop(
        case_name, cube, range(0, n, 0, n, 0, n), [f](auto x, auto y) { y(0, 0, 0) = f(x); }, read(u, where), write(v));
    c.execute();
  };
  by_hand();
  ours();
  const auto line = v.fetch(range(0, n, n / 2, n / 2 + 1, n - 1, n));
  for (int i = 0; i < n; ++i) {
    const double expected = b.data()[(static_cast<std::size_t>(n) * side + static_cast<std::size_t>(n / 2 + 1)) * side +
                                     static_cast<std::size_t>(i) + 1];
    require_equal(std::abs(line[static_cast<std::size_t>(i)] - expected) <= 1e-14, case_name);
  }
  const double points = std::pow(n, 3) * 1e-9;
  sampler samples{s, case_name};
  samples.repeat([&] {
    const double raw = seconds_of(by_hand) / points;
    samples.print("raw", raw, raw);
    samples.print("plain", seconds_of(ours) / points, raw);
  });
}

}  // namespace

void measure_loop(const session& s, const char* case_name) {
  const std::string name = case_name;
  if (name == "copy")
    measure_kernel(s, case_name, shape::point(3),
                   [](const auto& u) __attribute__((always_inline)) { return copied(u); });
  if (name == "seven_point")
    measure_kernel(s, case_name, shape::star(3, 1),
                   [](const auto& u) __attribute__((always_inline)) { return seven(u); });
  if (name == "twenty_seven_point")
    measure_kernel(s, case_name, shape::cube(3, 1),
                   [](const auto& u) __attribute__((always_inline)) { return twenty_seven(u); });
}

}  // namespace stencil_bench
