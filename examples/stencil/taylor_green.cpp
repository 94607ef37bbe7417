// The Taylor-Green vortex. taylor_green_solver.h says how it is computed; here is what it is compared with.
//
//   3d   the vortex breaks up. Its vorticity is known for short times, as a series in t (Taylor and Green 1937,
//        equation 48), with R the Reynolds number:
//          W / W0 = 1 - 6 t / R + (5/48 + 18/R^2) t^2 - (5/3 + 36/R^2) t^3 / R + ...
//        and what the motion loses is what viscosity takes, viscosity * W.
//   2d   the vortex keeps its form and decays: kinetic energy ~ exp(-4 t / R). On three grids, each with half the
//        spacing of the one before, the differences between their energies tell the order of the scheme.
#include "program.h"
#include "taylor_green_solver.h"

#include <fmt/format.h>

#include <cmath>

namespace {

using namespace situ::stencil;
using namespace stencil_programs;

double series(double t, double r) {
  return 1 - 6 * t / r + (5.0 / 48 + 18 / (r * r)) * t * t - (5.0 / 3 + 36 / (r * r)) * t * t * t / r;
}

std::uint64_t checksum(const taylor_green_solver& s) {
  std::uint64_t sum = checksum_of(s.state()[0]);
  for (std::size_t i = 1; i < s.state().size(); ++i) sum = checksum_of(s.state()[i], sum);
  return sum;
}

outcome play_3d(const request& asked) {
  const int n = asked.points, a_chain = static_cast<int>(asked.numbers.at("chain"));
  const double mach = asked.numbers.at("mach"), reynolds = asked.numbers.at("reynolds");
  context run{asked.how};
  taylor_green_solver flow{run, {n, n, n}, vortex::three_dimensional, mach, reynolds};
  const double dt = flow.longest_step();
  const flow_totals start = flow.totals();
  flow_totals now = start;
  double time = 0, lost = 0;  // by viscosity
  for (int s = 0; s < asked.steps; s += a_chain) {
    const int steps = std::min(a_chain, asked.steps - s);
    for (int i = 0; i < steps; ++i) flow.step(dt);
    const flow_totals next = flow.totals();  // executes the steps, as one chain
    lost += 0.5 * (now.enstrophy + next.enstrophy) * steps * dt / reynolds;
    time += steps * dt;
    now = next;
  }
  outcome o{.grid = fmt::format("{} x {} x {} points of the octant, {} datasets", n, n, n, flow.datasets())};
  const double energy_lost = start.kinetic_energy - now.kinetic_energy;
  o.figures = {{"time of the flow", time},
               {"kinetic energy, of the start", now.kinetic_energy / start.kinetic_energy},
               {"enstrophy, of the start", now.enstrophy / start.enstrophy},
               {"the same by the series of Taylor and Green", series(time, reynolds)}};
  o.checks.push_back({"mass, relative change", std::abs(now.mass / start.mass - 1), 1e-14 * (100 + asked.steps)});
  o.checks.push_back(
      {"total energy, change by kinetic energy", std::abs(now.energy - start.energy) / start.kinetic_energy, 1e-4});
  // Of a compressible flow some kinetic energy, in the order of mach^2, swings to pressure and back.
  o.checks.push_back({"kinetic energy less viscous loss, of the start",
                      std::abs(energy_lost - lost) / start.kinetic_energy, 0.1 * mach * mach});
  if (time <= 1) {
    const double spacing = 3.14159 / n;
    o.checks.push_back({"enstrophy less the series", std::abs(now.enstrophy / start.enstrophy - series(time, reynolds)),
                        0.02 * time * time * time * time + 0.1 * mach * mach + spacing * spacing * spacing * spacing});
  }
  o.checksum = checksum(flow);
  o.field = picture_of(flow.state()[1], "momentum along x, middle plane", 3.14159 / n);
  add_statistics(o, run);
  return o;
}

outcome play_2d(const request& asked) {
  const int a_chain = static_cast<int>(asked.numbers.at("chain"));
  const double mach = asked.numbers.at("mach"), reynolds = asked.numbers.at("reynolds");
  outcome o{.grid = fmt::format("{0} x {0} x 4 points and twice and four times as many, {1} datasets", asked.points,
                                taylor_green_solver::datasets())};
  std::array<double, 3> energies{};
  double time = 0, mass = 0;
  for (std::size_t grid = 0; grid < 3; ++grid) {
    const int n = asked.points << grid;
    context run{asked.how};
    taylor_green_solver flow{run, {n, n, 4}, vortex::two_dimensional, mach, reynolds};
    const flow_totals start = flow.totals();
    // One length of step for all, that of the finest: so the differences are those of space.
    const double dt = flow.longest_step() * n / (4 * asked.points);
    for (int s = 1; s <= asked.steps; ++s) {
      flow.step(dt);
      if (s % a_chain == 0) run.execute();
    }
    const flow_totals end = flow.totals();
    energies[grid] = end.kinetic_energy / start.kinetic_energy;
    mass = std::max(mass, std::abs(end.mass / start.mass - 1));
    time = dt * asked.steps;
    if (grid < 2) continue;
    o.checksum = checksum(flow);
    o.field = picture_of(flow.state()[1], "momentum along x, middle plane", 3.14159 / n);
    add_statistics(o, run);
  }
  const double order = std::log2(std::abs((energies[0] - energies[1]) / (energies[1] - energies[2])));
  const double expected = std::exp(-4 * time / reynolds);
  o.figures = {{"time of the flow", time},
               {"kinetic energy, of the start", energies[2]},
               {"the same of the incompressible flow", expected},
               {"order", order}};
  o.checks.push_back({"mass, relative change", mass, 1e-14 * (100 + asked.steps)});
  o.checks.push_back({"order of the differences, less 4", std::abs(order - 4), 0.3});
  o.checks.push_back(
      {"kinetic energy less that of the incompressible flow", std::abs(energies[2] - expected), 0.1 * mach * mach});
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(
      argc, argv,
      {.name = "taylor_green",
       .what = "The Taylor-Green vortex: compressible Navier-Stokes equations with 4th-order central differences",
       .points_help = "Points a side of the octant; of the coarsest grid of the 2d vortex",
       .points = 32,
       .steps = 60,
       .examples = {"", "64 300 --reynolds 400 --png vortex.png", "--flow 2d 16 100",
                    "256 9 --executor out_of_core --budget '1300 MiB' --report", "128 12 --executor plain --threads 1"},
       .choices = {{"flow", "3d, which breaks up, or 2d, which decays in its form", {"3d", "2d"}}},
       .numbers = {{"mach", "Velocity of the start, by that of sound", 0.1},
                   {"reynolds", "Velocity of the start by wave number and kinematic viscosity", 100},
                   {"chain", "Steps a chain", 3}}},
      [](const request& asked) { return asked.choices.at("flow") == "3d" ? play_3d(asked) : play_2d(asked); });
}
