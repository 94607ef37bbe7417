// The heat equation on the unit square, walls at 0.
//
// The start is an eigenfunction of the discrete Laplacian, so each step scales it by a known factor: the program
// compares its field with that to the last digits.
#include "program.h"

#include <situ/stencil/stencil.h>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace {

using namespace situ::stencil;
using namespace stencil_programs;

// After `steps` steps the amplitude of sin(pi x) sin(pi y) on this grid.
double expected_amplitude(int n, int steps, double c) {
  const double s = std::sin(std::numbers::pi / (2.0 * (n + 1)));
  return std::pow(1 - 8 * c * s * s, steps);
}

outcome play(const request& asked) {
  const int n = asked.points, steps = asked.steps;
  const double c = 0.2, k = std::numbers::pi / (n + 1);
  context run{asked.how};
  const block<2> plate{run, "plate"};
  const dataset<double, 2> u{plate, "u", {n, n}, 1},
      v{plate, "v", {n, n}, 1};  // ghost points: the walls, 0 from the start
  const auto five = shape::star(2, 1);
  const auto inside = range(0, n, 0, n);

  par_loop(
      "start", plate, inside,
      [k](auto x, const auto& i) { x(0, 0) = std::sin(k * (i[0] + 1)) * std::sin(k * (i[1] + 1)); }, write(u), index());
  for (int step = 0; step < steps; ++step) {
    const auto &from = step % 2 ? v : u, &to = step % 2 ? u : v;
    par_loop(
        "step", plate, inside,
        [c](auto x, auto y) { y(0, 0) = x(0, 0) + c * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1) - 4 * x(0, 0)); },
        read(from, five), write(to));
  }
  const auto& end = steps % 2 ? v : u;
  const reduction<double> worst{run, "worst"};
  par_loop(
      "compare", plate, inside,
      [k, a = expected_amplitude(n, steps, c)](auto x, const auto& i, double& w) {
        w = std::max(w, std::abs(x(0, 0) - a * std::sin(k * (i[0] + 1)) * std::sin(k * (i[1] + 1))));
      },
      read(end), index(), max(worst));
  outcome o{.grid = fmt::format("{} x {} points", n, n)};
  o.checks.push_back({"largest error against the discrete solution", worst.value(), 1e-12});
  o.figures.push_back({"amplitude left", expected_amplitude(n, steps, c)});
  add_result(o, run, end, "temperature", 1.0 / (n + 1));
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {.name = "heat",
                      .what = "The heat equation on a square plate, as one chain of loops",
                      .points_help = "Points a side",
                      .points = 500,
                      .steps = 200,
                      .examples = {"", "2000 100 --executor plain --report",
                                   "4000 60 --executor out_of_core --budget '128 MiB'", "500 200 --png heat.png"}},
                     play);
}
