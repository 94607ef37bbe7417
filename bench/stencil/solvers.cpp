// Whole solvers, those of examples/stencil: the Taylor-Green vortex with three steps a chain, the Euler equations with
// one; and what planning their chains costs.
#include "blast.h"

#include "taylor_green_solver.h"

#include <algorithm>
#include <cmath>

namespace stencil_bench {

using namespace situ::stencil;
using stencil_programs::taylor_green_solver;

namespace {

constexpr int steps_a_chain = 3;

struct vortex_flow {
  context run;
  taylor_green_solver flow;
  // The flow repeats itself every n cells: a box higher than n holds it more than once.
  vortex_flow(const options& how, int n, int height)
      : run{how}, flow{run, {n, n, height}, stencil_programs::vortex::three_dimensional, 0.1, 100} {
    run.execute();
  }
  // Nanoseconds for one step.
  double chain() {
    return seconds_of([&] {
             for (int i = 0; i < steps_a_chain; ++i) flow.step(flow.longest_step());
             run.execute();
           }) /
           steps_a_chain * 1e9;
  }
};

std::vector<double> middle_of(const blast<2>& blast) {
  const int n = blast.gas.density().inner().high[0];
  return blast.gas.density().fetch(range(0, n, n / 4, n / 4 + 1));
}

}  // namespace

void measure_taylor_green(const session& s) {
  // Three steps reach over some 50 layers, which must fit into a third of the height.
  const int n = s.is_quick ? 32 : 160, height = s.is_quick ? 256 : 320;
  vortex_flow plain{options_for(executor::plain), n, height}, tiled{options_for(executor::tiled), n, height};
  vortex_flow far{far_options(s, taylor_green_solver::datasets() * std::pow(n, 2) * height * sizeof(double) / 3), n,
                  height};
  for (auto* const each : {&plain, &tiled, &far}) each->chain();
  const auto row = range(0, n, n / 2, n / 2 + 1, n / 2, n / 2 + 1);
  const auto expected = plain.flow.state()[1].fetch(row);
  require_equal(tiled.flow.state()[1].fetch(row) == expected && far.flow.state()[1].fetch(row) == expected,
                "taylor_green");
  for (int i = 1; i < tries / 2; ++i) tiled.chain(), far.chain();  // four seconds each
  sampler samples{s, "taylor_green"};
  samples.repeat([&] {
    const auto before = far.run.statistics();
    const double plain_ns = plain.chain(), tiled_ns = tiled.chain(), far_ns = far.chain();
    const auto& after = far.run.statistics();
    samples.print("plain", plain_ns, plain_ns);
    samples.print("tiled", tiled_ns, plain_ns);
    samples.print(
        "out_of_core", far_ns, std::min(plain_ns, tiled_ns),
        static_cast<double>(after.bytes_read - before.bytes_read + after.bytes_written - before.bytes_written) /
            steps_a_chain);
  });
}

void measure_euler(const session& s) {
  const int n = s.is_quick ? 380 : 3840;
  blast<2> plain{options_for(executor::plain), n}, tiled{options_for(executor::tiled), n};
  blast<2> far{far_options(s, plain.gas.datasets() * std::pow(n, 2) * sizeof(double) / 3), n};
  for (auto* const each : {&plain, &tiled, &far}) each->step(), each->step();
  const auto expected = middle_of(plain);
  require_equal(middle_of(far) == expected && middle_of(tiled) == expected, "euler");
  // The comparison has executed what was queued: a step for each, so that all samples begin with one in the queue.
  plain.step();
  for (int i = 0; i < tries; ++i) tiled.step(), far.step();
  const double must_move = plain.gas.bytes_that_must_move();
  sampler samples{s, "euler"};
  samples.repeat([&] {
    const double file_ns = move_through_file(s.directory, static_cast<std::size_t>(must_move / 2)) * 1e9;
    const double plain_ns = plain.step(), tiled_ns = tiled.step(), far_ns = far.step();
    samples.print("file", file_ns, file_ns, must_move);
    samples.print("plain", plain_ns, plain_ns);
    samples.print("tiled", tiled_ns, plain_ns);
    samples.print("out_of_core", far_ns, std::max(file_ns, std::min(plain_ns, tiled_ns)), far.bytes);
  });
}

// A chain of 198 loops.
void measure_planning(const session& s, bool is_new) {
  sampler samples{s, is_new ? "plan_new" : "plan_cached"};
  samples.repeat([&] {
    const int n = s.is_quick ? 32 : 160;
    vortex_flow tiled{options_for(executor::tiled), n, n};
    const double before = tiled.run.statistics().plan_seconds;
    tiled.chain();
    const double fresh = tiled.run.statistics().plan_seconds - before;
    double step_ns = 0, again = 0;
    for (int i = 0; i < tries / 2; ++i) step_ns = tiled.chain();
    const double between = tiled.run.statistics().plan_seconds;
    step_ns = std::min(step_ns, tiled.chain());
    again = tiled.run.statistics().plan_seconds - between;
    samples.print("tiled", (is_new ? fresh : again) * 1e9, step_ns);
  });
}

}  // namespace stencil_bench
