// oneTBB's flow graph. It derives no edges from accesses: they are given, worked out beforehand by arithmetic.
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>

#include <deque>

#include "patterns.h"

namespace task_bench {
namespace {

using node = tbb::flow::continue_node<tbb::flow::continue_msg>;

// Its threads stay for the next graph.
const tbb::global_control two_threads{tbb::global_control::max_allowed_parallelism, threads};

class graph {
 public:
  template <class Body>
  node& add(Body body) {
    return nodes_.emplace_back(graph_, [body](const tbb::flow::continue_msg&) { body(); });
  }
  // No edge may come later, so what waits for nobody begins at the end.
  void begins_at_once(node& n) { first_.push_back(&n); }
  void run() {
    for (node* const each : first_) each->try_put({});
    graph_.wait_for_all();
  }
  node& operator[](std::size_t i) { return nodes_[i]; }

 private:
  tbb::flow::graph graph_;
  std::deque<node> nodes_;
  std::vector<node*> first_;
};

void run_units(const pattern& p, std::size_t begin, std::size_t end) {
  graph g;
  const int steps = p.steps;
  for (std::size_t i = begin; i < end; ++i) {
    node& n = g.add([steps] { work(steps); });
    bool waits = false;
    for (const std::ptrdiff_t before : p.before_unit(i).units)
      if (before >= 0) {
        tbb::flow::make_edge(g[static_cast<std::size_t>(before)], n);
        waits = true;
      }
    if (!waits) g.begins_at_once(n);
  }
  g.run();
}

void run_pattern(pattern& p) {
  run_in_parts(p, [&p](std::size_t begin, std::size_t end) { run_units(p, begin, end); });
}

struct adding {
  graph& g;
  tiled_matrix& m;
  std::vector<node*> last{std::vector<node*>(m.tiles * m.tiles)};  // that wrote the tile

  node*& last_of(std::size_t r, std::size_t c) { return last[r * m.tiles + c]; }
  void after(node& n, std::initializer_list<node*> before) {
    bool waits = false;
    for (node* const each : before)
      if (each != nullptr) {
        tbb::flow::make_edge(*each, n);
        waits = true;
      }
    if (!waits) g.begins_at_once(n);
  }
  void factor(std::size_t k) {
    node& n = g.add([a = m.at(k, k), size = m.tile] { factor_tile(a, size); });
    after(n, {last_of(k, k)});
    last_of(k, k) = &n;
  }
  void solve(std::size_t k, std::size_t r) {
    node& n = g.add([l = m.at(k, k), b = m.at(r, k), size = m.tile] { solve_tile(l, b, size); });
    after(n, {last_of(k, k), last_of(r, k)});
    last_of(r, k) = &n;
  }
  void update(std::size_t k, std::size_t r, std::size_t c) {
    node& n = g.add([a = m.at(r, k), b = m.at(c, k), c = m.at(r, c), size = m.tile] { update_tile(a, b, c, size); });
    after(n, {last_of(r, k), r == c ? nullptr : last_of(c, k), last_of(r, c)});
    last_of(r, c) = &n;
  }
};

void run_cholesky(tiled_matrix& m) {
  graph g;
  adding visit{g, m};
  for_each_unit(m.tiles, visit);
  g.run();
}

}  // namespace
}  // namespace task_bench

int main(int argc, char** argv) {
  return task_bench::main_of_subject(argc, argv, task_bench::run_pattern, task_bench::run_cholesky);
}
