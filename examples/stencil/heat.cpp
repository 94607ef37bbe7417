// The heat equation on the unit square, walls at 0, and its picture.
//
//     heat [points a side] [steps] [picture.png]
//
// The start is one eigenfunction of the discrete Laplacian, so each step scales it by a known factor: the program compares its field with
// that to the last digits. Try SITU_STENCIL_EXECUTOR=plain, tiled or out_of_core, and SITU_STENCIL_REPORT=1.
#include "png.h"

#include <situ/stencil/stencil.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numbers>

namespace {

using namespace situ::stencil;

// After `steps` steps the amplitude of sin(pi x) sin(pi y) on this grid.
double expected_amplitude(int n, int steps, double c) {
  const double s = std::sin(std::numbers::pi / (2.0 * (n + 1)));
  return std::pow(1 - 8 * c * s * s, steps);
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 500, steps = argc > 2 ? std::atoi(argv[2]) : 200;
  if (n < 1 || steps < 0) return std::fputs("usage: heat [points a side] [steps] [picture.png]\n", stderr), 2;
  const double c = 0.2, k = std::numbers::pi / (n + 1);

  context run;
  const block<2> plate{run, "plate"};
  const dataset<double, 2> u{plate, "u", {n, n}, 1}, v{plate, "v", {n, n}, 1};  // ghost points: the walls, 0 from the start
  const auto five = shape::star(2, 1);
  const auto inside = range(0, n, 0, n);

  par_loop("start", plate, inside, [k](auto x, const auto& i) { x(0, 0) = std::sin(k * (i[0] + 1)) * std::sin(k * (i[1] + 1)); }, write(u), index());
  for (int step = 0; step < steps; ++step) {
    const auto &from = step % 2 ? v : u, &to = step % 2 ? u : v;
    par_loop("step", plate, inside,
             [c](auto x, auto y) { y(0, 0) = x(0, 0) + c * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1) - 4 * x(0, 0)); }, read(from, five), write(to));
  }
  const auto& end = steps % 2 ? v : u;
  const reduction<double> worst{run, "worst"};
  par_loop("compare", plate, inside,
           [k, a = expected_amplitude(n, steps, c)](auto x, const auto& i, double& w) {
             w = std::max(w, std::abs(x(0, 0) - a * std::sin(k * (i[0] + 1)) * std::sin(k * (i[1] + 1))));
           },
           read(end), index(), max(worst));
  const double error = worst.value();
  std::printf("%d x %d points, %d steps: largest error %.2e\n", n, n, steps, error);
  if (argc > 3) write_png(argv[3], n, n, end.fetch());
  if (run.how().report) run.report(std::cout);
  return error < 1e-12 ? 0 : 1;
}
