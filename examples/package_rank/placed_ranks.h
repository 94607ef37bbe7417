// PageRank over the partitioned graph. Each place pulls ranks along its own rows of dependents; what these name at
// other places it keeps as ghosts, which their owners renew by one put a neighbour and iteration. Collective.
//
//   own values of a place            ghosts: values that lie at other places, by place, ascending
//   | first ... end | from place 0 | from place 2 | ... |
//                     ^ place 0 puts here, packed, what this place needs of it
#pragma once

#include "placed_graph.h"
#include "reference.h"
#include "traffic.h"

#include <situ/situ.h>

#include <cstdint>
#include <span>
#include <vector>

namespace package_rank {

// One double for each own vertex and each ghost.
class ghost_values {
 public:
  ghost_values(const placed_graph& graph, traffic& traffic);  // collective
  ~ghost_values();                                            // collective
  ghost_values(const ghost_values&) = delete;
  ghost_values& operator=(const ghost_values&) = delete;

  // To be written before renew(): the values of its own vertices.
  [[nodiscard]] std::span<double> own() noexcept { return {values_.local(), own_count_}; }
  // Collective: brings every ghost up to date.
  void renew();
  // Sum of the values along the row of dependents of one of its vertices.
  [[nodiscard]] double sum_of_row(vertex local) const noexcept;
  [[nodiscard]] std::size_t ghost_count() const noexcept { return ghost_count_; }

 private:
  // What one other place needs of this one, and where it wants it.
  struct neighbour {
    situ::place where;
    situ::ptr<double> destination;
    std::vector<std::uint32_t> indices;  // of its own values
  };

  traffic& traffic_;
  std::size_t own_count_ = 0;
  std::size_t ghost_count_ = 0;
  situ::ptr<double> values_;
  const std::uint64_t* row_offsets_ = nullptr;
  std::vector<std::uint32_t> row_indices_;  // the rows of dependents as indices into the values
  std::vector<neighbour> neighbours_;
  std::vector<double> packed_;
};

// Ranks as reference_ranks defines them; those of its own vertices go to `ranks`, which lies in this place's segment.
rank_summary placed_ranks(const placed_graph& graph, ghost_values& values, const rank_options& options,
                          situ::ptr<double> ranks);

struct ranked {
  double rank = 0;
  vertex v = no_vertex;
  // The higher rank first; of equals the smaller vertex.
  friend bool operator<(const ranked& a, const ranked& b) noexcept {
    return a.rank != b.rank ? a.rank > b.rank : a.v < b.v;
  }
};

// The `count` best of all vertices whose marks satisfy (marks & mask) == wanted, at place 0; empty elsewhere.
// Collective.
[[nodiscard]] std::vector<ranked> best_ranks(const placed_graph& graph, situ::ptr<double> ranks, std::size_t count,
                                             std::uint8_t mask, std::uint8_t wanted);

}  // namespace package_rank
