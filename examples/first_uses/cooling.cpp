// cooling: heat spreads over a plate whose data are several times larger than the memory that they may take. They are
// stored in a file, and the loops run in tiles, of which a part is in memory. Plain loops over two arrays check the
// result.
//
//   cooling [points a side, 1200] [steps, 20] [MiB of memory, 4]
#include <situ/stencil/stencil.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using namespace situ::stencil;

constexpr double rate = 0.2;

// Dimension 0 is the fastest. The middle third of the plate is warm.
std::vector<double> start_of(int n) {
  std::vector<double> plate(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  for (int j = n / 3; j < 2 * n / 3; ++j)
    for (int i = n / 3; i < 2 * n / 3; ++i) plate[static_cast<std::size_t>(j * n + i)] = 1;
  return plate;
}

// Beyond the edges it is 0.
std::vector<double> plain_loops(int n, int steps) {
  std::vector<double> from = start_of(n), to = from;
  const auto value = [&](int i, int j) {
    return i < 0 || j < 0 || i >= n || j >= n ? 0.0 : from[static_cast<std::size_t>(j * n + i)];
  };
  for (int step = 0; step < steps; ++step) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        to[static_cast<std::size_t>(j * n + i)] =
            value(i, j) +
            rate * (value(i + 1, j) + value(i - 1, j) + value(i, j + 1) + value(i, j - 1) - 4 * value(i, j));
    std::swap(from, to);
  }
  return from;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1200, steps = argc > 2 ? std::atoi(argv[2]) : 20;
  const std::uint64_t budget_mib = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 4;

  options how;
  how.run_by = executor::out_of_core;
  how.fast_bytes = budget_mib << 20;
  context run{how};
  const block<2> plate{run, "plate"};
  const dataset<double, 2> u{plate, "u", {n, n}, 1}, v{plate, "v", {n, n}, 1};  // ghost points: 0, beyond the edges
  const auto five = shape::star(2, 1);
  const auto all = range(0, n, 0, n);
  u.store(all, start_of(n));
  for (int step = 0; step < steps; ++step)
    par_loop(
        "cool", plate, all,
        [](auto x, auto y) { y(0, 0) = x(0, 0) + rate * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1) - 4 * x(0, 0)); },
        read(step % 2 ? v : u, five), write(step % 2 ? u : v));
  const std::vector<double> found = (steps % 2 ? v : u).fetch(all), expected = plain_loops(n, steps);

  double difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) difference = std::max(difference, std::abs(found[i] - expected[i]));
  const bool is_right = found.size() == expected.size() && difference < 1e-12;
  std::printf("%d x %d points, %d steps, %zu MiB of data in %llu MiB of memory, %s: %s\n", n, n, steps,
              2 * found.size() * sizeof(double) >> 20, static_cast<unsigned long long>(budget_mib),
              run.statistics().last_tiles > 1 ? "in tiles" : "at once",
              is_right ? "as plain loops find" : "not as plain loops find");
  return is_right ? 0 : 1;
}
