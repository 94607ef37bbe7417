// Routing tables: every node runs Dijkstra's algorithm with itself as the source, and asks each node that it settles
// for its links, since it knows only its own. All nodes at the same time; of equally short ways the one by the lowest
// neighbour is taken.
//
// E. W. Dijkstra, A note on two problems in connexion with graphs (1959). n - 1 questions for each of n nodes.
#include "engine.h"

#include <limits>
#include <queue>
#include <vector>

namespace imsuite {
namespace {

struct dijkstra_routing {
  static constexpr bool captures_links = true;
  struct message {};
  struct road {
    vertex to = no_vertex;
    std::int32_t weight = 0;
  };
  struct shown {  // what a node tells of itself
    situ::array<road> roads;
  };
  struct node {
    segment_owner<shown> open;
    row table;
  };
  static constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max() / 2;

  static node make(const problem& p, vertex v) {
    const std::vector<link>& links = p.net.links[static_cast<std::size_t>(v)];
    node n{make_in_segment<shown>(situ::array<road>(links.size())), {}};
    for (std::size_t i = 0; i < links.size(); ++i)
      n.open->roads[i] = {links[i].to, static_cast<std::int32_t>(links[i].weight)};
    return n;
  }
  static const shown* show(const node& n, std::int32_t) { return n.open.get(); }

  static void step(turn<dijkstra_routing>& t, node& n, std::int32_t) {
    const auto nodes = static_cast<std::size_t>(t.nodes());
    std::vector<std::int64_t> distance(nodes, infinity);
    std::vector<vertex> next(nodes, no_vertex);
    std::vector<bool> is_settled(nodes);
    std::priority_queue<std::pair<std::int64_t, vertex>, std::vector<std::pair<std::int64_t, vertex>>, std::greater<>>
        nearest;
    const auto relax = [&](vertex by, const situ::array<road>& roads) {
      for (const road& r : roads) {
        const auto to = static_cast<std::size_t>(r.to);
        const std::int64_t length = distance[static_cast<std::size_t>(by)] + r.weight;
        const vertex first = by == t.self() ? r.to : next[static_cast<std::size_t>(by)];
        if (r.to == t.self() || length > distance[to]) continue;
        next[to] = length < distance[to] ? first : std::min(first, next[to]);
        if (length < distance[to]) nearest.emplace(length, r.to);
        distance[to] = length;
      }
    };
    distance[static_cast<std::size_t>(t.self())] = 0;
    relax(t.self(), n.open->roads);
    while (!nearest.empty()) {
      const vertex v = nearest.top().second;
      nearest.pop();
      if (is_settled[static_cast<std::size_t>(v)]) continue;
      is_settled[static_cast<std::size_t>(v)] = true;
      relax(v, t.ask(v)->roads);
    }
    for (std::size_t to = 0; to < nodes; ++to) n.table.insert(n.table.end(), {distance[to], next[to]});
  }
  static void run(driver<dijkstra_routing>& d) { d.round(0); }
  static row result(const node& n) { return n.table; }
};

}  // namespace

answer run_dijkstra_routing(const problem& p, const hooks& around) { return play<dijkstra_routing>(p, around); }

}  // namespace imsuite
