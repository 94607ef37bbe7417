// The leader of a ring in which messages go both ways: in phase i a candidate sends its identity 2^i links out in both
// directions. A higher node on the way swallows it; else it turns and comes back. With both back the candidate goes on
// to the next phase; whose identity comes around to it has beaten all, and tells them. O(n log n) messages.
//
// D. Hirschberg, J. Sinclair, Decentralized extrema-finding in circular configurations of processors (1980); in rounds
// as in N. Lynch, Distributed Algorithms (1996), section 3.4.
#include "engine.h"

namespace imsuite {
namespace {

struct leader_elect_hs {
  static constexpr bool captures_links = false;
  enum class kind : std::int32_t { out, back, elected };
  struct message {
    kind what = kind::out;
    vertex identity = 0;
    std::int32_t hops = 0;       // left to go outwards
    std::int32_t direction = 1;  // of travel, 1 or -1
  };
  struct node {
    vertex identity = 0;
    vertex leader = 0;
    bool is_leader = false;
    std::int32_t phase = 0;
    std::int32_t returned = 0;  // of this phase's two
  };
  using turn_type = turn<leader_elect_hs>;
  static node make(const problem& p, vertex v) { return {.identity = p.identities[static_cast<std::size_t>(v)]}; }

  static void pass(turn_type& t, const message& m) { t.send((t.self() + m.direction + t.nodes()) % t.nodes(), m); }
  static void begin_phase(turn_type& t, const node& n) {
    for (const std::int32_t direction : {1, -1}) pass(t, {kind::out, n.identity, 1 << n.phase, direction});
  }
  static void step(turn_type& t, node& n, std::int32_t) {
    if (t.beat() == 0) begin_phase(t, n);
    for (const auto& c : t.received()) {
      switch (c->message.what) {
        case kind::out: take_out(t, n, c->message); break;
        case kind::back: take_back(t, n, c->message); break;
        case kind::elected:
          n.leader = c->message.identity;
          if (!n.is_leader) pass(t, c->message);
          break;
      }
    }
  }
  static void take_out(turn_type& t, node& n, message m) {
    if (m.identity < n.identity) return;
    if (m.identity == n.identity) {
      if (n.is_leader) return;  // the other direction's has come around, too
      n.is_leader = true;
      pass(t, {kind::elected, n.identity, 0, 1});
    } else if (m.hops > 1) {
      --m.hops;
      pass(t, m);
    } else {
      pass(t, {kind::back, m.identity, 0, -m.direction});
    }
  }
  static void take_back(turn_type& t, node& n, const message& m) {
    if (m.identity != n.identity) return pass(t, m);
    if (++n.returned < 2) return;
    n.returned = 0;
    ++n.phase;
    begin_phase(t, n);
  }
  static void run(driver<leader_elect_hs>& d) { d.settle(0); }
  static row result(const node& n) { return {n.leader, n.is_leader ? 1 : 0}; }
};

}  // namespace

answer run_leader_elect_hs(const problem& p, const hooks& around) { return play<leader_elect_hs>(p, around); }

}  // namespace imsuite
