// One unit after the other, without a runtime: what the results have to be, and, halved, the bound of two threads.
#include "patterns.h"

namespace task_bench {
namespace {

void run_pattern(pattern& p) {
  for (std::size_t i = 0; i < p.units; ++i) work(p.steps);
}

struct at_once {
  tiled_matrix& m;
  void factor(std::size_t k) { factor_tile(m.at(k, k), m.tile); }
  void solve(std::size_t k, std::size_t r) { solve_tile(m.at(k, k), m.at(r, k), m.tile); }
  void update(std::size_t k, std::size_t r, std::size_t c) { update_tile(m.at(r, k), m.at(c, k), m.at(r, c), m.tile); }
};

void run_cholesky(tiled_matrix& m) {
  at_once visit{m};
  for_each_unit(m.tiles, visit);
}

}  // namespace
}  // namespace task_bench

int main(int argc, char** argv) {
  return task_bench::main_of_subject(argc, argv, task_bench::run_pattern, task_bench::run_cholesky, 1);
}
