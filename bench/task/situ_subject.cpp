// Situ's task_graph.
#include <situ/task/task_graph.h>

#include "patterns.h"

namespace task_bench {
namespace {

// Its threads stay, as those of the others do.
situ::task_graph& the_graph() {
  static situ::task_graph graph{{.threads = threads}};
  return graph;
}

void run_units(situ::task_graph& graph, pattern& p, std::size_t begin, std::size_t end) {
  const int steps = p.steps;
  for (std::size_t i = begin; i < end; ++i) {
    const auto written = p.is_independent() ? situ::writes(p.written(i)) : situ::updates(p.written(i));
    graph.add({situ::reads(p.read(i)), written}, [steps] { work(steps); });
  }
  graph.wait();
}

void run_pattern(pattern& p) {
  run_in_parts(p, [&p](std::size_t begin, std::size_t end) {
    if (!p.is_short()) return run_units(the_graph(), p, begin, end);
    situ::task_graph graph{{.threads = threads}};
    run_units(graph, p, begin, end);
  });
}

struct adding {
  situ::task_graph& graph;
  tiled_matrix& m;

  [[nodiscard]] situ::memory_region tile(std::size_t r, std::size_t c) {
    return situ::region(m.at(r, c), m.tile * m.tile);
  }
  void factor(std::size_t k) {
    graph.add({situ::updates(tile(k, k))}, [a = m.at(k, k), n = m.tile] { factor_tile(a, n); });
  }
  void solve(std::size_t k, std::size_t r) {
    graph.add({situ::reads(tile(k, k)), situ::updates(tile(r, k))},
              [l = m.at(k, k), b = m.at(r, k), n = m.tile] { solve_tile(l, b, n); });
  }
  void update(std::size_t k, std::size_t r, std::size_t c) {
    graph.add({situ::reads(tile(r, k)), situ::reads(tile(c, k)), situ::updates(tile(r, c))},
              [a = m.at(r, k), b = m.at(c, k), c = m.at(r, c), n = m.tile] { update_tile(a, b, c, n); });
  }
};

void run_cholesky(tiled_matrix& m) {
  situ::task_graph& graph = the_graph();
  adding visit{graph, m};
  for_each_unit(m.tiles, visit);
  graph.wait();
}

}  // namespace
}  // namespace task_bench

int main(int argc, char** argv) {
  return task_bench::main_of_subject(argc, argv, task_bench::run_pattern, task_bench::run_cholesky);
}
