#include "kernels.h"

#include <cstdlib>

namespace imsuite {

answer run(const problem& p, const hooks& around) {
  switch (p.which) {
    case kernel::bfs_bellman_ford: return run_bfs_bellman_ford(p, around);
    case kernel::bfs_dijkstra: return run_bfs_dijkstra(p, around);
    case kernel::byzantine: return run_byzantine(p, around);
    case kernel::dijkstra_routing: return run_dijkstra_routing(p, around);
    case kernel::dominating_set: return run_dominating_set(p, around);
    case kernel::kcommittee: return run_kcommittee(p, around);
    case kernel::leader_elect_lcr: return run_leader_elect_lcr(p, around);
    case kernel::leader_elect_hs: return run_leader_elect_hs(p, around);
    case kernel::leader_elect_dp: return run_leader_elect_dp(p, around);
    case kernel::mis: return run_mis(p, around);
    case kernel::mst: return run_mst(p, around);
    case kernel::vertex_coloring: return run_vertex_coloring(p, around);
  }
  std::abort();
}

}  // namespace imsuite
