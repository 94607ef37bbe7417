// The leader of any network, in a time linear in its diameter, which nobody knows: in every round each node tells its
// neighbours the highest identity that it knows of, and the last round, as far as it knows, in which that identity
// reached a node that had not known it. A node that still knows none higher than its own waits: while its identity
// spreads, news of round d is with it by round 2d. So when 2(d + 1) rounds have passed without later news, its identity
// has nowhere left to go.
//
//   Could a node w stop while a higher one, m, is on its way? Let m be the nearest higher, D links away. All nodes less
//   than D/2 from w on the way to m are reached by w before any higher, and say so in time; so w waits beyond round D,
//   in which it hears of m.
//
// After D. Peleg, Time-optimal leader election in general networks (1990).
#include "engine.h"

namespace imsuite {
namespace {

struct leader_elect_dp {
  static constexpr bool captures_links = true;
  struct message {
    vertex identity = 0;
    std::int32_t latest = 0;  // round in which it reached a node for the first time
    bool is_elected = false;
  };
  struct node {
    vertex identity = 0;
    vertex highest = 0;
    std::int32_t latest = 0;
    bool is_done = false;
  };
  using turn_type = turn<leader_elect_dp>;
  static node make(const problem& p, vertex v) {
    const vertex identity = p.identities[static_cast<std::size_t>(v)];
    return {identity, identity, 0, false};
  }

  static void step(turn_type& t, node& n, std::int32_t) {
    if (n.is_done) return;
    for (const auto& c : t.received()) {
      const message& m = c->message;
      if (m.is_elected) n.is_done = true;
      if (m.identity > n.highest) {
        n.highest = m.identity;
        n.latest = t.beat();
      }
      if (m.identity == n.highest) n.latest = std::max(n.latest, m.latest);
    }
    if (n.highest == n.identity && t.beat() > 2 * (n.latest + 1)) n.is_done = true;
    t.send_to_all({n.highest, n.latest, n.is_done});
    if (!n.is_done) t.stay_awake();
  }
  static void run(driver<leader_elect_dp>& d) { d.settle(0); }
  static row result(const node& n) { return {n.highest, n.highest == n.identity ? 1 : 0}; }
};

}  // namespace

answer run_leader_elect_dp(const problem& p, const hooks& around) { return play<leader_elect_dp>(p, around); }

}  // namespace imsuite
