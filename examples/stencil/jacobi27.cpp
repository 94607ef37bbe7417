// Poisson's equation in the unit cube, walls at 0, by Jacobi's iteration with all 27 points: the compact Laplacian
//
//     L u = (14 faces + 3 edges + corners - 128 u) / (30 h^2)      each a sum: of 6, 12 and 8 neighbours
//
// The right side is one eigenfunction of L, so that the iteration from zero is known: after s sweeps the error is
// rate^s of the solution, with
//
//     rate = (28 (cx + cy + cz) + 12 (cx cy + cx cz + cy cz) + 8 cx cy cz) / 128,     cx = cos(kx h), ...
//
// which the program checks at every point, as it does the rate at which the residual shrinks.
#include "neighbours27.h"
#include "program.h"

#include <situ/stencil/stencil.h>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace {

using namespace situ::stencil;
using namespace stencil_programs;

template <class U>
[[gnu::always_inline]] inline double neighbours(const U& u) {
  const auto [faces, edges, corners] = sum_neighbours27(u);
  return 14 * faces + 3 * edges + corners;
}

outcome play(const request& asked) {
  const int n = asked.points, sweeps = asked.steps;
  const double h = 1.0 / (n + 1), pi = std::numbers::pi;
  const double kx = pi, ky = 2 * pi, kz = pi;
  const double cx = std::cos(kx * h), cy = std::cos(ky * h), cz = std::cos(kz * h);
  const double rate = (28 * (cx + cy + cz) + 12 * (cx * cy + cx * cz + cy * cz) + 8 * cx * cy * cz) / 128;
  context run{asked.how};
  const block<3> cube{run, "cube"};
  const dataset<double, 3> u{cube, "u", {n, n, n}, 1}, v{cube, "v", {n, n, n}, 1}, f{cube, "f", {n, n, n}};
  const auto all27 = shape::cube(3, 1);
  const auto inside = range(0, n, 0, n, 0, n);

  const auto form = [=](const auto& i) {
    return std::sin(kx * h * (i[0] + 1)) * std::sin(ky * h * (i[1] + 1)) * std::sin(kz * h * (i[2] + 1));
  };
  // 30 h^2 / 128 of the right side; the solution is `form` itself: L form = 128 (rate - 1) / (30 h^2) form
  par_loop(
      "start", cube, inside, [=](auto x, auto b, const auto& i) { x(0, 0, 0) = 0, b(0, 0, 0) = (rate - 1) * form(i); },
      write(u), write(f), index());
  for (int s = 0; s < sweeps; ++s) {
    par_loop(
        "sweep", cube, inside, [](auto x, auto b, auto y) { y(0, 0, 0) = neighbours(x) * (1.0 / 128) - b(0, 0, 0); },
        read(s % 2 ? v : u, all27), read(f), write(s % 2 ? u : v));
  }
  const auto& end = sweeps % 2 ? v : u;
  const reduction<double> worst{run, "worst"}, residual{run, "residual"}, start{run, "start"};
  par_loop(
      "compare", cube, inside,
      [=, left = std::pow(rate, sweeps)](auto x, const auto& i, double& w) {
        w = std::max(w, std::abs(x(0, 0, 0) - (1 - left) * form(i)));
      },
      read(end), index(), max(worst));
  par_loop(
      "residual", cube, inside,
      [](auto x, auto b, double& r, double& r0) {
        const double d = neighbours(x) * (1.0 / 128) - x(0, 0, 0) - b(0, 0, 0);
        r += d * d;
        r0 += b(0, 0, 0) * b(0, 0, 0);
      },
      read(end, all27), read(f), sum(residual), sum(start));
  outcome o{.grid = fmt::format("{} x {} x {} points", n, n, n)};
  const double shrunk = std::sqrt(residual.value() / start.value()), measured = std::pow(shrunk, 1.0 / sweeps);
  o.figures.push_back({"residual, of the first", shrunk});
  o.figures.push_back({"rate of convergence, expected", rate});
  o.figures.push_back({"rate of convergence, measured", measured});
  o.checks.push_back({"largest error against the known iterate", worst.value(), 1e-13});
  o.checks.push_back({"rate, measured less expected", std::abs(measured - rate), 1e-10});
  add_result(o, run, end, "potential, middle plane", 1.0 / (n + 1));
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(
      argc, argv,
      {.name = "jacobi27",
       .what = "Jacobi's iteration for Poisson's equation with a stencil of 27 points, as one chain of loops",
       .points_help = "Points a side",
       .points = 96,
       .steps = 60,
       .examples = {"", "256 20 --executor plain --report", "400 30 --executor out_of_core --budget '512 MiB'",
                    "96 200 --png jacobi27.png"}},
      play);
}
