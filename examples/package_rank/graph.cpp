#include "graph.h"

#include <algorithm>
#include <numeric>

namespace package_rank {

void graph::append_row(std::vector<vertex>& row) {
  std::erase(row, vertex_count());
  std::sort(row.begin(), row.end());
  row.erase(std::unique(row.begin(), row.end()), row.end());
  targets.insert(targets.end(), row.begin(), row.end());
  offsets.push_back(targets.size());
}

graph transpose(const graph& g) {
  graph result;
  result.offsets.assign(g.vertex_count() + std::size_t{1}, 0);
  for (const vertex target : g.targets) ++result.offsets[target + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.targets.resize(g.edge_count());
  std::vector<std::uint64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  for (vertex v = 0; v < g.vertex_count(); ++v)  // in ascending order, so that the rows are sorted
    for (const vertex target : g.row(v)) result.targets[next[target]++] = v;
  return result;
}

std::vector<vertex> partition(const graph& g, std::uint32_t parts) {
  const auto weight_before = [&](vertex v) { return g.offsets[v] + vertex_weight * v; };
  const std::uint64_t total = weight_before(g.vertex_count());
  std::vector<vertex> boundaries{0};
  vertex v = 0;
  for (std::uint32_t part = 1; part < parts; ++part) {
    while (weight_before(v) * parts < total * part) ++v;
    boundaries.push_back(v);
  }
  boundaries.push_back(g.vertex_count());
  return boundaries;
}

}  // namespace package_rank
