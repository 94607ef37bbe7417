// Breadth-first search by relaxation, asynchronous: a node that learns of a shorter way tells its neighbours at once.
// There are no rounds; the `finish` around the root's turn ends when the last word has been said.
//
// R. Bellman, On a routing problem (1958); L. R. Ford, Network flow theory (1956); as a distributed algorithm for
// breadth-first trees in D. Peleg, Distributed Computing: A Locality-Sensitive Approach (2000), section 5.2.
// Up to one message for each link and each shorter way; of equal parents the lowest is kept, so the order of arrival
// does not matter.
#include "engine.h"

#include <limits>

namespace imsuite {
namespace {

struct bfs_bellman_ford {
  static constexpr bool captures_links = true;
  struct message {
    std::int32_t distance = 0;  // of the receiver, by way of the sender
  };
  struct node {
    std::int32_t distance = std::numeric_limits<std::int32_t>::max();
    vertex parent = no_vertex;
  };
  static node make(const problem&, vertex) { return {}; }

  static void step(turn<bfs_bellman_ford>& t, node& n, std::int32_t) {
    n.distance = 0;
    t.send_to_all({1});
  }
  static void receive(turn<bfs_bellman_ford>& t, node& n, const closure<message>& c) {
    const std::int32_t distance = c.message.distance;
    if (distance == n.distance && c.from < n.parent) n.parent = c.from;
    if (distance >= n.distance) return;
    n.distance = distance;
    n.parent = c.from;
    t.send_to_all({distance + 1}, c.from);
  }
  static void run(driver<bfs_bellman_ford>& d) { d.start(d.what().root, 0); }
  static row result(const node& n) { return {n.distance, n.parent}; }
};

}  // namespace

answer run_bfs_bellman_ford(const problem& p, const hooks& around) { return play<bfs_bellman_ford>(p, around); }

}  // namespace imsuite
