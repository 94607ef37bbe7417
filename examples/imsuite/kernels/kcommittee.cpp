// Committees of at most k nodes: a node that has the lowest identity of all within k - 1 links leads. In each of k
// turns every node learns the lowest free identity within k - 1 links, and each leader invites the one that it learnt
// of: first itself. Who is invited joins the leader with the lowest identity. Whoever is left over after k turns is
// alone.
//
// The problem, and the scheme of polling and invitations, as IMSuite states them: S. Gupta, V. K. Nandivada, IMSuite: A
// benchmark suite for simulating distributed algorithms (2015). 2 k (k - 1) rounds; invitations of one round travel
// together.
#include "engine.h"

#include <limits>
#include <set>
#include <vector>

namespace imsuite {
namespace {

struct kcommittee {
  static constexpr bool captures_links = false;
  enum stage : std::int32_t { poll, invite, join };
  struct candidate {
    std::int32_t identity = std::numeric_limits<std::int32_t>::max();
    vertex who = no_vertex;
    friend auto operator<=>(const candidate&, const candidate&) = default;
  };
  struct invitation {
    candidate leader;
    vertex to = no_vertex;
    friend auto operator<=>(const invitation&, const invitation&) = default;
  };
  struct message {
    candidate lowest;                      // polling
    situ::vector<invitation> invitations;  // inviting
  };
  struct node {
    candidate self;
    vertex committee = no_vertex;
    bool is_leader = false;
    candidate lowest;
    std::set<invitation> known;
    candidate inviter;
  };
  using turn_type = turn<kcommittee>;
  static node make(const problem& p, vertex v) { return {.self = {p.identities[static_cast<std::size_t>(v)], v}}; }

  // argument: the turn.
  static void step(turn_type& t, node& n, std::int32_t what) {
    switch (what) {
      case poll: return step_poll(t, n);
      case invite: return step_invite(t, n);
      case join:
        if (n.inviter.who != no_vertex) n.committee = n.inviter.who;
        n.known.clear();
        n.inviter = {};
        break;
    }
  }
  static bool is_last(const turn_type& t) noexcept { return t.beat() == t.what().committee_size - 1; }
  static void step_poll(turn_type& t, node& n) {
    if (t.beat() == 0) n.lowest = n.committee == no_vertex ? n.self : candidate{};
    for (const auto& c : t.received()) n.lowest = std::min(n.lowest, c->message.lowest);
    if (!is_last(t)) {
      t.send_to_all({n.lowest, {}});
    } else if (t.argument() == 0) {
      n.is_leader = n.lowest == n.self;
    }
  }
  static void step_invite(turn_type& t, node& n) {
    message fresh;
    const auto take = [&](const invitation& i) {
      if (!n.known.insert(i).second) return;
      if (i.to == t.self()) {
        n.inviter = std::min(n.inviter, i.leader);
      } else {
        fresh.invitations.push_back(i);
      }
    };
    if (t.beat() == 0 && n.is_leader && n.lowest.who != no_vertex) take({n.self, n.lowest.who});
    for (const auto& c : t.received())
      for (const invitation& i : c->message.invitations) take(i);
    if (!is_last(t) && !fresh.invitations.empty()) t.send_to_all(fresh);
  }
  static void run(driver<kcommittee>& d) {
    const std::int32_t k = d.what().committee_size;
    for (std::int32_t turn = 0; turn < k; ++turn) {
      for (const stage s : {poll, invite})
        for (std::int32_t beat = 0; beat < k; ++beat) d.round(s, turn, beat);
      d.round(join, turn);
    }
  }
  static row result(const node& n) { return {n.committee == no_vertex ? n.self.who : n.committee}; }
};

}  // namespace

answer run_kcommittee(const problem& p, const hooks& around) { return play<kcommittee>(p, around); }

}  // namespace imsuite
