// The Euler equations with a blast in a corner, one step a chain: what several cases time.
#pragma once

#include "measure.h"

#include "euler_solver.h"

#include <array>
#include <numeric>

namespace stencil_bench {

template <int D>
struct blast {
  situ::stencil::context run;
  stencil_programs::euler_solver<D> gas;
  double bytes = 0;  // to and from the file, of the last step

  blast(const situ::stencil::options& how, int n)
      : run{how}, gas{run, cube_of(n), 1.0 / n, [n](const std::array<int, D>& i) {
                        const bool is_corner = std::accumulate(i.begin(), i.end(), 0) < n / 2;
                        return stencil_programs::gas_state{1, is_corner ? 10.0 : 0.1};
                      }} {}

  // Nanoseconds: executes the step before, and queues the next.
  double step() {
    const auto before = run.statistics();
    const double ns = seconds_of([&] { gas.step(1); }) * 1e9;
    const auto& after = run.statistics();
    bytes = static_cast<double>(after.bytes_read - before.bytes_read + after.bytes_written - before.bytes_written);
    return ns;
  }

  static std::array<int, D> cube_of(int n) {
    std::array<int, D> cells;
    cells.fill(n);
    return cells;
  }
};

}  // namespace stencil_bench
