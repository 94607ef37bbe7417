// Breadth-first search layer by layer: in phase p the root sends a pulse down the tree so far; the nodes of layer p
// explore their links; whoever is found for the first time accepts its parent, others reject; and what was found is
// echoed up to the root, which starts phase p + 1 while anything was.
//
// E. W. Dijkstra's shortest paths (1959), distributed as in D. Peleg, Distributed Computing: A Locality-Sensitive
// Approach (2000), section 5.2. Phases as many as there are layers; two messages for each link, and two for each node
// of the tree and phase.
#include "engine.h"

#include <vector>

namespace imsuite {
namespace {

struct bfs_dijkstra {
  static constexpr bool captures_links = true;
  enum class kind : std::int32_t { pulse, explore, accept, reject, echo };
  struct message {
    kind what = kind::pulse;
    std::int32_t value = 0;  // pulse: the phase; explore: the receiver's distance; echo: whether anything was found
  };
  struct node {
    std::int32_t distance = -1;
    vertex parent = no_vertex;
    std::vector<vertex> children;
    std::int64_t pending = 0;  // replies and echoes to come
    bool has_found = false;
  };
  using turn_type = turn<bfs_dijkstra>;
  static node make(const problem& p, vertex v) { return v == p.root ? node{.distance = 0} : node{}; }

  static void step(turn_type& t, node& n, std::int32_t) {
    const bool was_waiting = n.pending != 0;
    bool has_begun = false;
    if (t.beat() == 0 && t.self() == t.what().root) {
      begin(t, n, t.argument());
      has_begun = true;
    }
    for (const auto& c : t.received()) {
      switch (c->message.what) {
        case kind::pulse:
          begin(t, n, c->message.value);
          has_begun = true;
          break;
        case kind::explore: explore(t, n, c->from, c->message.value); break;
        case kind::accept: n.children.push_back(c->from); [[fallthrough]];
        case kind::reject:
          n.has_found |= c->message.what == kind::accept;
          --n.pending;
          break;
        case kind::echo:
          n.has_found |= c->message.value != 0;
          --n.pending;
          break;
      }
    }
    if ((was_waiting || has_begun) && n.pending == 0) end(t, n);
  }
  // A node's part in a phase: one of that layer explores, those above pass the pulse on.
  static void begin(turn_type& t, node& n, std::int32_t phase) {
    n.has_found = false;
    if (n.distance == phase) {
      for (const link& l : t.links()) {
        if (l.to == n.parent) continue;
        t.send(l.to, {kind::explore, phase + 1});
        ++n.pending;
      }
    } else {
      for (const vertex child : n.children) t.send(child, {kind::pulse, phase});
      n.pending = static_cast<std::int64_t>(n.children.size());
    }
  }
  static void explore(turn_type& t, node& n, vertex from, std::int32_t distance) {
    const bool is_first = n.distance == -1;
    if (is_first) {
      n.distance = distance;
      n.parent = from;
    }
    t.send(from, {is_first ? kind::accept : kind::reject, 0});
  }
  static void end(turn_type& t, node& n) {
    if (n.parent == no_vertex) {
      t.report(n.has_found ? 1 : 0);
    } else {
      t.send(n.parent, {kind::echo, n.has_found ? 1 : 0});
    }
  }
  static void run(driver<bfs_dijkstra>& d) {
    for (std::int32_t phase = 0; d.settle(0, phase).report != 0; ++phase) {}
  }
  static row result(const node& n) { return {n.distance, n.parent}; }
};

}  // namespace

answer run_bfs_dijkstra(const problem& p, const hooks& around) { return play<bfs_dijkstra>(p, around); }

}  // namespace imsuite
