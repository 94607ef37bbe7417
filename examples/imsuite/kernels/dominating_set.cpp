// A dominating set by the distributed greedy choice: a node's span is how many nodes it would newly cover, of itself
// and its neighbours. Whoever has the largest span of all within two links (of equals the highest node) joins, and
// covers them; until all are covered. It finds the very set that the sequential greedy algorithm finds, which is within
// ln(degree) of the smallest.
//
// Distributed greedy: B. Liang, Z. Haas, Virtual backbone generation and maintenance in ad hoc networks (2000); F.
// Kuhn, R. Wattenhofer, Constant-time distributed dominating set approximation (2003), introduction. Neighbours are
// asked; a node shows one object for each stage, so that nobody reads what is being changed.
#include "engine.h"

#include <array>

namespace imsuite {
namespace {

struct dominating_set {
  static constexpr bool captures_links = true;
  enum stage : std::int32_t { measure, compare, join, cover };
  struct message {};
  // How much somebody would cover, and who; as shown for a stage, of the node itself or of the best that it knows of.
  struct shown {
    std::int32_t is_covered = 0;
    std::int32_t span = 0;
    vertex who = no_vertex;
    friend bool operator<(const shown& a, const shown& b) noexcept {
      return std::pair{a.span, a.who} < std::pair{b.span, b.who};
    }
  };
  struct node {
    std::array<segment_owner<shown>, 3> open;  // by the stage that reads it: measure, compare, join
    bool is_member = false;
  };
  using turn_type = turn<dominating_set>;
  static node make(const problem&, vertex v) {
    node n;
    for (auto& each : n.open) each = make_in_segment<shown>(0, 0, v);
    return n;
  }
  static const shown* show(const node& n, std::int32_t stage) { return n.open[static_cast<std::size_t>(stage)].get(); }

  static void step(turn_type& t, node& n, std::int32_t what) {
    switch (what) {
      case measure: {
        std::int32_t span = 1 - n.open[measure]->is_covered;
        for (const link& l : t.links()) span += 1 - t.ask(l.to, measure)->is_covered;
        n.open[compare]->span = span;
        break;
      }
      case compare: *n.open[join] = best_around(t, n, compare); break;
      case join:
        if (n.open[compare]->span == 0 || best_around(t, n, join).who != t.self()) return;
        n.is_member = true;
        t.send(t.self(), {});
        t.send_to_all({});
        break;
      case cover:
        if (!t.received().empty()) n.open[measure]->is_covered = 1;
        t.report(1 - n.open[measure]->is_covered);
        break;
    }
  }
  static shown best_around(turn_type& t, const node& n, stage s) {
    shown best = *n.open[s];
    for (const link& l : t.links()) best = std::max(best, *t.ask(l.to, s));
    return best;
  }
  static void run(driver<dominating_set>& d) {
    do {
      for (const stage s : {measure, compare, join}) d.round(s);
    } while (d.round(cover).report != 0);
  }
  static row result(const node& n) { return {n.is_member ? 1 : 0}; }
};

}  // namespace

answer run_dominating_set(const problem& p, const hooks& around) { return play<dominating_set>(p, around); }

}  // namespace imsuite
