// The twelve kernels, each in a file of its own, which says whose algorithm it is.
#pragma once

#include "network.h"

#include <functional>

namespace imsuite {

// Called at every place as the region of interest begins and ends.
struct hooks {
  std::function<void()> enter = [] {};
  std::function<void()> leave = [] {};
};

// Collective; inside a situ::runtime. The answer is complete at place 0, and every place names the same problem.
[[nodiscard]] answer run(const problem& p, const hooks& around);

[[nodiscard]] answer run_bfs_bellman_ford(const problem& p, const hooks& around);
[[nodiscard]] answer run_bfs_dijkstra(const problem& p, const hooks& around);
[[nodiscard]] answer run_byzantine(const problem& p, const hooks& around);
[[nodiscard]] answer run_dijkstra_routing(const problem& p, const hooks& around);
[[nodiscard]] answer run_dominating_set(const problem& p, const hooks& around);
[[nodiscard]] answer run_kcommittee(const problem& p, const hooks& around);
[[nodiscard]] answer run_leader_elect_lcr(const problem& p, const hooks& around);
[[nodiscard]] answer run_leader_elect_hs(const problem& p, const hooks& around);
[[nodiscard]] answer run_leader_elect_dp(const problem& p, const hooks& around);
[[nodiscard]] answer run_mis(const problem& p, const hooks& around);
[[nodiscard]] answer run_mst(const problem& p, const hooks& around);
[[nodiscard]] answer run_vertex_coloring(const problem& p, const hooks& around);

}  // namespace imsuite
