#include "reference.h"

#include <algorithm>
#include <cmath>

namespace package_rank {

rank_result reference_ranks(const graph& dependencies, const rank_options& options) {
  const vertex n = dependencies.vertex_count();
  rank_result result;
  if (n == 0) return result;
  result.ranks.assign(n, 1.0 / n);
  std::vector<double> next(n);
  while (result.iterations < options.max_iterations) {
    std::fill(next.begin(), next.end(), 0.0);
    double dangling = 0;
    for (vertex v = 0; v < n; ++v) {
      const auto row = dependencies.row(v);
      if (row.empty()) dangling += result.ranks[v];
      for (const vertex target : row) next[target] += result.ranks[v] / static_cast<double>(row.size());
    }
    const double base = (1 - options.damping) / n + options.damping * dangling / n;
    result.residual = 0;
    for (vertex v = 0; v < n; ++v) {
      next[v] = base + options.damping * next[v];
      result.residual += std::abs(next[v] - result.ranks[v]);
    }
    result.ranks.swap(next);
    ++result.iterations;
    if (result.converged(options)) break;
  }
  return result;
}

std::vector<vertex> reference_chain(const graph& dependents, std::span<const std::uint8_t> marks, vertex target) {
  if ((marks[target] & usable) == 0) return {};
  std::vector<vertex> towards_target(dependents.vertex_count(), no_vertex);
  std::vector<bool> reached(dependents.vertex_count());
  reached[target] = true;
  std::vector<vertex> level{target};
  while (!level.empty()) {
    std::vector<vertex> next;
    std::sort(level.begin(), level.end());  // so that the smallest neighbour is the first to reach a vertex
    for (const vertex v : level) {
      for (const vertex u : dependents.row(v)) {
        if (reached[u] || (marks[u] & usable) == 0) continue;
        reached[u] = true;
        towards_target[u] = v;
        next.push_back(u);
      }
    }
    vertex first_root = no_vertex;
    for (const vertex u : next)
      if ((marks[u] & root) != 0) first_root = std::min(first_root, u);
    if (first_root != no_vertex) {
      std::vector<vertex> chain{first_root};
      while (chain.back() != target) chain.push_back(towards_target[chain.back()]);
      return chain;
    }
    level.swap(next);
  }
  return {};
}

}  // namespace package_rank
