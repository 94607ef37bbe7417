// OpenMP tasks with `depend`: gcc's runtime, or LLVM's where that is loaded in front of it.
#include "patterns.h"

namespace task_bench {
namespace {

void run_units(pattern& p, std::size_t begin, std::size_t end) {
  const int steps = p.steps;
#pragma omp parallel num_threads(threads)
#pragma omp single
  for (std::size_t i = begin; i < end; ++i) {
    [[maybe_unused]] const std::uint64_t* const read = &p.read(i);
    [[maybe_unused]] std::uint64_t* const written = &p.written(i);
    if (p.is_independent()) {
#pragma omp task depend(in : read[0]) depend(out : written[0]) firstprivate(steps)
      work(steps);
    } else {
#pragma omp task depend(in : read[0]) depend(inout : written[0]) firstprivate(steps)
      work(steps);
    }
  }
}

void run_pattern(pattern& p) {
  run_in_parts(p, [&p](std::size_t begin, std::size_t end) { run_units(p, begin, end); });
}

struct adding {
  tiled_matrix& m;
  void factor(std::size_t k) {
    double* const a = m.at(k, k);
    const std::size_t n = m.tile;
#pragma omp task depend(inout : a[0]) firstprivate(a, n)
    factor_tile(a, n);
  }
  void solve(std::size_t k, std::size_t r) {
    double *const l = m.at(k, k), *const b = m.at(r, k);
    const std::size_t n = m.tile;
#pragma omp task depend(in : l[0]) depend(inout : b[0]) firstprivate(l, b, n)
    solve_tile(l, b, n);
  }
  void update(std::size_t k, std::size_t r, std::size_t column) {
    double *const a = m.at(r, k), *const b = m.at(column, k), *const c = m.at(r, column);
    const std::size_t n = m.tile;
#pragma omp task depend(in : a[0], b[0]) depend(inout : c[0]) firstprivate(a, b, c, n)
    update_tile(a, b, c, n);
  }
};

void run_cholesky(tiled_matrix& m) {
  adding visit{m};
#pragma omp parallel num_threads(threads)
#pragma omp single
  for_each_unit(m.tiles, visit);
}

}  // namespace
}  // namespace task_bench

int main(int argc, char** argv) {
  return task_bench::main_of_subject(argc, argv, task_bench::run_pattern, task_bench::run_cholesky);
}
