// The minimum spanning tree by growing fragments: every node asks its neighbours for their fragments, and knows its
// lightest link that leaves its own; each fragment's tree carries the lightest of all to its root, which has it
// connected. One link of the fragments that merge was chosen from both ends: its higher end becomes the root, and tells
// all. About log2 n phases.
//
// O. Boruvka (1926); R. Gallager, P. Humblet, P. Spira, A distributed algorithm for minimum-weight spanning trees
// (1983), with phases in step. Links are ordered by weight, then by their ends, so there is one minimum, and choices
// never close a cycle.
#include "engine.h"

#include <limits>
#include <set>
#include <tuple>

namespace imsuite {
namespace {

struct mst {
  static constexpr bool captures_links = true;
  enum stage : std::int32_t { find, collect, merge };
  enum class kind : std::int32_t { lightest, chosen, connect, fragment };
  struct edge {
    std::int64_t weight = std::numeric_limits<std::int64_t>::max();  // none
    vertex low = no_vertex, high = no_vertex;
    vertex inner = no_vertex;  // which of the two is in the fragment that found it
    [[nodiscard]] bool is_none() const noexcept { return low == no_vertex; }
    [[nodiscard]] vertex outer() const noexcept { return inner == low ? high : low; }
    friend bool operator<(const edge& a, const edge& b) noexcept {
      return std::tuple{a.weight, a.low, a.high} < std::tuple{b.weight, b.low, b.high};
    }
  };
  struct message {
    kind what = kind::lightest;
    edge which;
    vertex fragment = no_vertex;
  };
  struct shown {
    vertex fragment = no_vertex;  // the root's node
    vertex self = no_vertex;
  };
  struct node {
    segment_owner<shown> open;
    vertex parent = no_vertex;
    std::set<vertex> tree;   // neighbours in the fragment's tree
    std::set<vertex> fresh;  // those connected in this phase
    std::int64_t pending = 0;
    edge lightest;
    vertex connected_to = no_vertex;  // in this phase, by this node
  };
  using turn_type = turn<mst>;
  static node make(const problem&, vertex v) { return {.open = make_in_segment<shown>(v, v)}; }
  static const shown* show(const node& n, std::int32_t) { return n.open.get(); }

  static void step(turn_type& t, node& n, std::int32_t what) {
    switch (what) {
      case find: return step_find(t, n);
      case collect: return step_collect(t, n);
      case merge: return step_merge(t, n);
    }
  }
  static void step_find(turn_type& t, node& n) {
    n.lightest = {};
    n.connected_to = no_vertex;
    for (const link& l : t.links())
      if (t.ask(l.to)->fragment != n.open->fragment)
        n.lightest = std::min(n.lightest, edge{l.weight, std::min(t.self(), l.to), std::max(t.self(), l.to), t.self()});
    n.pending = static_cast<std::int64_t>(n.tree.size()) - (n.parent == no_vertex ? 0 : 1);
  }
  static void step_collect(turn_type& t, node& n) {
    bool is_complete = t.beat() == 0 && n.pending == 0;
    for (const auto& c : t.received()) {
      const message& m = c->message;
      switch (m.what) {
        case kind::lightest:
          n.lightest = std::min(n.lightest, m.which);
          is_complete = --n.pending == 0;
          break;
        case kind::chosen: choose(t, n, m.which); break;
        case kind::connect: n.fresh.insert(c->from); break;
        case kind::fragment: break;
      }
    }
    if (!is_complete) return;
    if (n.parent != no_vertex) {
      t.send(n.parent, {kind::lightest, n.lightest, no_vertex});
    } else if (!n.lightest.is_none()) {
      t.report(1);
      choose(t, n, n.lightest);
    }
  }
  // The root's choice goes down the tree to the node whose link it is.
  static void choose(turn_type& t, node& n, const edge& e) {
    for (const vertex v : n.tree)
      if (v != n.parent) t.send(v, {kind::chosen, e, no_vertex});
    if (e.inner != t.self()) return;
    n.connected_to = e.outer();
    t.send(e.outer(), {kind::connect, e, no_vertex});
  }
  static void step_merge(turn_type& t, node& n) {
    if (t.beat() == 0) {
      const bool is_core = n.fresh.contains(n.connected_to);  // chosen from both ends
      n.tree.merge(n.fresh);
      n.fresh.clear();
      if (n.connected_to != no_vertex) n.tree.insert(n.connected_to);
      if (is_core && t.self() > n.connected_to) join(t, n, t.self(), no_vertex);
    }
    for (const auto& c : t.received())
      if (c->message.what == kind::fragment) join(t, n, c->message.fragment, c->from);
  }
  static void join(turn_type& t, node& n, vertex fragment, vertex parent) {
    n.open->fragment = fragment;
    n.parent = parent;
    for (const vertex v : n.tree)
      if (v != parent) t.send(v, {kind::fragment, {}, fragment});
  }
  static void run(driver<mst>& d) {
    while (true) {
      d.round(find);
      if (d.settle(collect).report == 0) return;
      d.settle(merge);
    }
  }
  static row result(const node& n) { return row(n.tree.begin(), n.tree.end()); }
};

}  // namespace

answer run_mst(const problem& p, const hooks& around) { return play<mst>(p, around); }

}  // namespace imsuite
