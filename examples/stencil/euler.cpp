// Gas in a box: a blast in its middle, or Sod's shock tube. euler_solver.h says how.
#include "program.h"
#include "riemann.h"

#include <fmt/format.h>

#include <cmath>

namespace {

using namespace situ::stencil;
using namespace stencil_programs;

constexpr gas_state sod_left{1, 1}, sod_right{0.125, 0.1};
constexpr double sod_end = 0.2;  // before a wave reaches a wall

// What the program needs to know of a problem.
template <int D>
struct setting {
  std::array<int, D> cells;
  std::function<gas_state(const std::array<int, D>&)> start;
};

template <int D>
setting<D> blast(int n) {
  setting<D> s;
  s.cells.fill(n);
  s.start = [n](const std::array<int, D>& i) {
    double square = 0;  // of the distance from the middle, in half cells: exact, so that the start is symmetric
    for (const int at : i) square += std::pow(2 * at + 1 - n, 2);
    return gas_state{1, square < std::pow(0.3 * n, 2) ? 10.0 : 0.1};
  };
  return s;
}

template <int D>
setting<D> sod(int n, int direction) {
  setting<D> s;
  s.cells.fill(4);  // nothing happens across
  s.cells[static_cast<std::size_t>(direction)] = n;
  s.start = [n, direction](const std::array<int, D>& i) {
    return 2 * i[static_cast<std::size_t>(direction)] < n ? sod_left : sod_right;
  };
  return s;
}

// Along a line through the middle.
template <int D>
std::vector<double> line(const dataset<double, D>& u, int direction) {
  box b = u.inner();
  for (int d = 0; d < D; ++d) {
    if (d == direction) continue;
    b.low[d] = (b.low[d] + b.high[d]) / 2;
    b.high[d] = b.low[d] + 1;
  }
  return u.fetch(b);
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

double mean_sod_error(const std::vector<double>& density, double width, double time) {
  const shock_tube exact{sod_left, sod_right, euler_solver<2>::gamma};
  double sum = 0;
  for (std::size_t i = 0; i < density.size(); ++i)
    sum += std::abs(density[i] - exact.density(((static_cast<double>(i) + 0.5) * width - 0.5) / time));
  return sum * width;
}

template <int D>
outcome play(const request& asked) {
  const bool is_sod = asked.choices.at("problem") == "sod";
  const int direction = asked.choices.at("along")[0] - 'x';
  if (direction >= D) throw std::runtime_error{"--along z needs --dims 3"};
  const setting<D> s = is_sod ? sod<D>(asked.points, direction) : blast<D>(asked.points);
  const double width = 1.0 / asked.points;
  context run{asked.how};
  euler_solver<D> gas{run, s.cells, width, s.start};
  const gas_totals before = gas.totals();
  double time = 0;
  int steps = 0;
  while (is_sod ? time < sod_end : steps < asked.steps) {
    time += gas.step(is_sod ? sod_end - time : 1e30);
    ++steps;
  }
  const gas_totals after = gas.totals();
  const double energy0 = before.internal_energy + before.kinetic_energy,
               energy1 = after.internal_energy + after.kinetic_energy;

  outcome o;
  for (const int n : s.cells) o.grid += fmt::format("{}{}", o.grid.empty() ? "" : " x ", n);
  o.grid += fmt::format(" cells, {}, {} datasets", asked.choices.at("problem"), gas.datasets());
  o.figures = {{"time of the gas", time},
               {"steps taken", static_cast<double>(steps)},
               {"kinetic of the total energy", after.kinetic_energy / energy1}};
  o.checks.push_back({"mass, relative change", std::abs(after.mass / before.mass - 1), 1e-13 * (10 + steps)});
  // The remap loses kinetic energy at the shock, and never gains any to speak of.
  o.checks.push_back({"total energy, relative change", std::abs(energy1 / energy0 - 1),
                      is_sod ? 1.0 / asked.points : 4.0 / asked.points});
  if (is_sod) {
    o.checks.push_back({"mean error of the density, exact solution",
                        mean_sod_error(line(gas.density(), direction), width, time), 1.0 / asked.points});
  } else {
    for (int d = 0; d < D; ++d) {
      const auto there = line(gas.density(), d);
      o.checks.push_back({fmt::format("mirror symmetry in {}", "xyz"[d]),
                          largest_difference(there, {there.rbegin(), there.rend()}), 1e-10});
    }
    o.figures.push_back(
        {"x and y exchanged, largest difference", largest_difference(line(gas.density(), 0), line(gas.density(), 1))});
  }
  o.checksum = checksum_of(gas.energy(), checksum_of(gas.density()));
  for (const auto& v : gas.velocity()) o.checksum = checksum_of(v, o.checksum);
  o.field = picture_of(gas.density(), "density", width);
  add_statistics(o, run);
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(
      argc, argv,
      {.name = "euler",
       .what =
           "A gas in a box with a blast in its middle, or Sod's shock tube, by a staggered Lagrangian step and a remap",
       .points_help = "Cells a side; of the tube along it",
       .points = 200,
       .steps = 200,
       .examples = {"", "960 87 --executor plain --report", "--dims 3 64 50", "--problem sod 400 --along y",
                    "2000 20 --executor out_of_core --budget '256 MiB'", "400 300 --png blast.png"},
       .choices = {{"problem", "blast, or sod, which runs to time 0.2 whatever the steps", {"blast", "sod"}},
                   {"dims", "Dimensions", {"2", "3"}},
                   {"along", "Direction of the tube", {"x", "y", "z"}}}},
      [](const request& asked) { return asked.choices.at("dims") == "2" ? play<2>(asked) : play<3>(asked); });
}
