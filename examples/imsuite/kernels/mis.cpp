// A maximal independent set by lot: in each phase every undecided node draws a ticket and shows it to its undecided
// neighbours; the lowest around joins; its neighbours are out. O(log n) phases with high probability.
//
// M. Luby, A simple parallel algorithm for the maximal independent set problem (1986), in the form of Y. Metivier et
// al., An optimal bit complexity randomized distributed MIS algorithm (2011). Tickets are functions of seed, node and
// phase.
#include "engine.h"

#include <set>

namespace imsuite {
namespace {

struct mis {
  static constexpr bool captures_links = true;
  enum stage : std::int32_t { show_ticket, join, leave };
  enum class kind : std::int32_t { ticket, joined, left };
  struct message {
    kind what = kind::ticket;
    std::uint64_t ticket = 0;
  };
  struct node {
    std::int32_t state = -1;  // undecided; 0 out; 1 member
    std::uint64_t ticket = 0;
    std::set<vertex> undecided;  // neighbours
  };
  using turn_type = turn<mis>;
  static node make(const problem& p, vertex v) {
    node n;
    for (const link& l : p.net.links[static_cast<std::size_t>(v)]) n.undecided.insert(l.to);
    return n;
  }

  // argument: the phase.
  static void step(turn_type& t, node& n, std::int32_t what) {
    for (const auto& c : t.received())
      if (c->message.what == kind::left) n.undecided.erase(c->from);
    if (n.state != -1) return;
    switch (what) {
      case show_ticket:
        n.ticket = draw(t.what().seed, static_cast<std::uint64_t>(t.self()), static_cast<std::uint64_t>(t.argument()));
        tell(t, n, {kind::ticket, n.ticket});
        break;
      case join:
        for (const auto& c : t.received())
          if (c->message.what == kind::ticket && std::pair{c->message.ticket, c->from} < std::pair{n.ticket, t.self()})
            return;
        n.state = 1;
        tell(t, n, {kind::joined, 0});
        break;
      case leave:
        for (const auto& c : t.received())
          if (c->message.what == kind::joined) n.state = 0;
        if (n.state == 0) tell(t, n, {kind::left, 0});
        if (n.state == -1) t.report(1);
        break;
    }
  }
  static void tell(turn_type& t, const node& n, const message& m) {
    for (const vertex v : n.undecided) t.send(v, m);
  }
  static void run(driver<mis>& d) {
    std::int32_t phase = 0;
    do {
      d.round(show_ticket, phase);
      d.round(join, phase);
    } while (d.round(leave, phase++).report != 0);
  }
  static row result(const node& n) { return {n.state}; }
};

}  // namespace

answer run_mis(const problem& p, const hooks& around) { return play<mis>(p, around); }

}  // namespace imsuite
