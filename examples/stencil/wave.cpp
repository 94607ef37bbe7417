// The wave equation on the unit square, walls at 0, by the leapfrog scheme.
//
// A standing wave of 3 by 2 half waves. The scheme keeps its form and lets it swing with a frequency w that is known to
// the last digit,
//
//     sin^2(w dt / 2) = r^2 (sin^2(kx h / 2) + sin^2(ky h / 2)),     r = c dt / h
//
// which comes to the frequency of the equation, c sqrt(kx^2 + ky^2), with the square of h. Both are checked.
#include "program.h"

#include <situ/stencil/stencil.h>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace {

using namespace situ::stencil;
using namespace stencil_programs;

constexpr double r = 0.6;  // below 1 / sqrt(2): stable
constexpr int waves_x = 3, waves_y = 2;

double square(double x) { return x * x; }

outcome play(const request& asked) {
  const int n = asked.points, steps = asked.steps;
  const double h = 1.0 / (n + 1), dt = r * h, pi = std::numbers::pi;  // c = 1
  const double kx = waves_x * pi, ky = waves_y * pi;
  const double w = 2 / dt * std::asin(r * std::sqrt(square(std::sin(kx * h / 2)) + square(std::sin(ky * h / 2))));
  context run{asked.how};
  const block<2> skin{run, "skin"};
  // Each step overwrites the field before the last with the next one.
  const dataset<double, 2> u{skin, "u", {n, n}, 1}, v{skin, "v", {n, n}, 1};
  const auto five = shape::star(2, 1);
  const auto inside = range(0, n, 0, n);

  const auto form = [=](const auto& i) { return std::sin(kx * h * (i[0] + 1)) * std::sin(ky * h * (i[1] + 1)); };
  par_loop(
      "start", skin, inside,
      [form, before = std::cos(w * dt)](auto x, auto y, const auto& i) {
        x(0, 0) = form(i);
        y(0, 0) = before * form(i);
      },
      write(u), write(v), index());
  for (int step = 0; step < steps; ++step) {
    const auto &now = step % 2 ? v : u, &other = step % 2 ? u : v;
    par_loop(
        "step", skin, inside,
        [](auto x, auto y) {
          y(0, 0) = 2 * x(0, 0) - y(0, 0) + r * r * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1) - 4 * x(0, 0));
        },
        read(now, five), read_write(other));
  }
  const auto& end = steps % 2 ? v : u;
  const reduction<double, 2> worst{run, "worst"};
  par_loop(
      "compare", skin, inside,
      [=](auto x, const auto& i, std::span<double, 2> m) {
        m[0] = std::max(m[0], std::abs(x(0, 0) - std::cos(w * dt * steps) * form(i)));
        m[1] = std::max(m[1], std::abs(x(0, 0) - std::cos(std::sqrt(kx * kx + ky * ky) * dt * steps) * form(i)));
      },
      read(end), index(), max(worst));
  const auto found = worst.value();
  outcome o{.grid = fmt::format("{} x {} points", n, n)};
  o.figures.push_back({"time of the wave", dt * steps});
  o.figures.push_back({"periods", w * dt * steps / (2 * pi)});
  // Rounding grows with the steps, as in any scheme of second order in time at most with their square.
  o.checks.push_back(
      {"largest error against the discrete solution", found[0], 1e-15 * (10 + steps) * std::sqrt(10.0 + steps)});
  // The frequency is off by w k^2 h^2 (1 - r^2) / 24 at most.
  const double k = std::sqrt(kx * kx + ky * ky);
  o.checks.push_back({"largest error against the equation", found[1], k * k * k * h * h / 24 * dt * steps + 1e-9});
  add_result(o, run, end, "displacement", h);
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {.name = "wave",
                      .what = "A standing wave on a square skin, as one chain of loops",
                      .points_help = "Points a side",
                      .points = 500,
                      .steps = 400,
                      .examples = {"", "2000 100 --executor plain --report",
                                   "4000 60 --executor out_of_core --budget '128 MiB'", "500 300 --png wave.png"}},
                     play);
}
