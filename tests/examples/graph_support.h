// Random graphs, and plain quadratic answers to hold the real ones against.
#pragma once

#include "graph.h"

#include <algorithm>
#include <random>
#include <vector>

namespace package_rank::test {

// Some graphs sparse, some dense, some with hubs, some with many vertices without edges.
inline graph random_graph(std::mt19937& random, vertex vertices) {
  graph g;
  const vertex most = 1 + random() % 8;
  const bool hubs = random() % 2 == 0;
  for (vertex v = 0; v < vertices; ++v) {
    std::vector<vertex> row(random() % (most + 1));
    for (vertex& target : row)
      target = hubs && random() % 2 == 0 ? random() % (1 + vertices / 16) : random() % vertices;
    g.append_row(row);
  }
  return g;
}

inline graph make_graph(std::vector<std::vector<vertex>> rows) {
  graph g;
  for (auto& row : rows) g.append_row(row);
  return g;
}

inline bool has_edge(const graph& g, vertex from, vertex to) {
  const auto row = g.row(from);
  return std::find(row.begin(), row.end(), to) != row.end();
}

}  // namespace package_rank::test
