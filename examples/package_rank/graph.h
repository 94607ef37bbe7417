// A directed graph as compressed rows: what the parser builds, the partition divides and the reference walks. A value.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace package_rank {

using vertex = std::uint32_t;
inline constexpr vertex no_vertex = ~vertex{0};

struct graph {
  std::vector<std::uint64_t> offsets{0};  // row v is targets[offsets[v] .. offsets[v + 1])
  std::vector<vertex> targets;            // ascending within a row, without repetitions

  [[nodiscard]] vertex vertex_count() const noexcept { return static_cast<vertex>(offsets.size() - 1); }
  [[nodiscard]] std::uint64_t edge_count() const noexcept { return targets.size(); }
  [[nodiscard]] std::span<const vertex> row(vertex v) const noexcept {
    return std::span{targets}.subspan(offsets[v], offsets[v + 1] - offsets[v]);
  }
  // The next row, which becomes sorted, and free of repetitions and of edges from the vertex to itself.
  void append_row(std::vector<vertex>& row);
};

// Every edge turned round. cost: O(vertices + edges).
[[nodiscard]] graph transpose(const graph& g);

// Divides the vertices into `parts` contiguous ranges of about equal weight: vertex v counts `vertex_weight` and one
// for each edge of its row. Range p is [result[p], result[p + 1]); no range outweighs an equal share by more than one
// vertex. A range may be empty. pre: parts > 0.
// a vertex's own arithmetic costs about as much as gathering four edges
inline constexpr std::uint64_t vertex_weight = 4;
[[nodiscard]] std::vector<vertex> partition(const graph& g, std::uint32_t parts);

}  // namespace package_rank
