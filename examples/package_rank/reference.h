// The sequential reference: what one place with the whole graph computes. Written the other way round from the
// distributed program (ranks are pushed along dependencies, not pulled from dependents), so that a shared mistake is
// unlikely.
#pragma once

#include "graph.h"

#include <cstdint>
#include <span>
#include <vector>

namespace package_rank {

// PageRank: rank(v) = (1 - damping) / n + damping * (sum of rank(u) / out(u) over edges u -> v, plus an equal share of
// the ranks of vertices without edges). Starts at 1/n each, stops once the ranks change by less than `tolerance` in all
// (the sum of absolute changes), or after max_iterations.
struct rank_options {
  double damping = 0.85;
  double tolerance = 1e-12;
  std::uint32_t max_iterations = 1000;
};

struct rank_summary {
  std::uint32_t iterations = 0;
  double residual = 0;  // the change in the last iteration
  [[nodiscard]] bool converged(const rank_options& options) const noexcept { return residual < options.tolerance; }
};

struct rank_result : rank_summary {
  std::vector<double> ranks;  // sum to 1
};

[[nodiscard]] rank_result reference_ranks(const graph& dependencies, const rank_options& options);

// Marks of the vertices that a search may use.
enum mark : std::uint8_t {
  usable = 1,  // takes part: installed, or everything where nothing is known to be installed
  root = 2,    // somebody asked for it
};

// The shortest chain of dependencies root -> ... -> target through usable vertices, at least one edge long, from a root
// other than the target. Among the shortest the one whose root is smallest, then whose next vertex is, and so on; empty
// if there is none. pre: marks has one entry a vertex.
[[nodiscard]] std::vector<vertex> reference_chain(const graph& dependents, std::span<const std::uint8_t> marks,
                                                  vertex target);

}  // namespace package_rank
