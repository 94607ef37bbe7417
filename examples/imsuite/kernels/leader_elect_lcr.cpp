// The leader of a ring in which messages go one way: every node sends its identity on; who receives a higher one passes
// it on, a lower one is swallowed; whose own identity comes back has beaten all, and tells them.
//
// G. Le Lann, Distributed systems: towards a formal approach (1977); E. Chang, R. Roberts, An improved algorithm for
// decentralized extrema-finding in circular configurations of processes (1979); in rounds as in N. Lynch, Distributed
// Algorithms (1996), section 3.3.
#include "engine.h"

namespace imsuite {
namespace {

struct leader_elect_lcr {
  static constexpr bool captures_links = false;
  struct message {
    vertex identity = 0;
    bool is_elected = false;
  };
  struct node {
    vertex identity = 0;
    vertex leader = 0;
    bool is_leader = false;
  };
  static node make(const problem& p, vertex v) { return {.identity = p.identities[static_cast<std::size_t>(v)]}; }

  static void step(turn<leader_elect_lcr>& t, node& n, std::int32_t) {
    const vertex right = (t.self() + 1) % t.nodes();
    if (t.beat() == 0) t.send(right, {n.identity, false});
    for (const auto& c : t.received()) {
      const message& m = c->message;
      if (m.is_elected) {
        n.leader = m.identity;
        if (!n.is_leader) t.send(right, m);
      } else if (m.identity > n.identity) {
        t.send(right, m);
      } else if (m.identity == n.identity) {
        n.is_leader = true;
        t.send(right, {n.identity, true});
      }
    }
  }
  static void run(driver<leader_elect_lcr>& d) { d.settle(0); }
  static row result(const node& n) { return {n.leader, n.is_leader ? 1 : 0}; }
};

}  // namespace

answer run_leader_elect_lcr(const problem& p, const hooks& around) { return play<leader_elect_lcr>(p, around); }

}  // namespace imsuite
