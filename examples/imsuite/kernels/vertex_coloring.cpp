// Three colours for a rooted tree: every node starts with its number as its colour and gets its parent's, compares the
// two in binary, and takes (position of the lowest bit in which they differ, its own bit there) as its next colour;
// log* n rounds leave six. Then, for each of the three to go: all take their parent's colour, so that siblings are
// alike, and the nodes of that colour take one that is free.
//
// R. Cole, U. Vishkin, Deterministic coin tossing with applications to optimal parallel list ranking (1986); from six
// to three as in A. Goldberg, S. Plotkin, G. Shannon, Parallel symmetry-breaking in sparse graphs (1987).
#include "engine.h"

#include <bit>

namespace imsuite {
namespace {

struct vertex_coloring {
  static constexpr bool captures_links = true;
  enum stage : std::int32_t { tell, reduce, shift, recolour };
  struct message {
    std::int32_t colour = 0;
  };
  struct node {
    std::int32_t colour = 0;
    std::int32_t colour_of_children = -1;  // after a shift: what was the node's own
    vertex parent = no_vertex;
  };
  using turn_type = turn<vertex_coloring>;
  static node make(const problem& p, vertex v) { return {v, -1, p.net.parents[static_cast<std::size_t>(v)]}; }

  static void tell_children(turn_type& t, const node& n) { t.send_to_all({n.colour}, n.parent); }
  static std::int32_t colour_of_parent(const turn_type& t) { return t.received().front()->message.colour; }
  // The lowest of three colours that is neither.
  static std::int32_t other_than(std::int32_t a, std::int32_t b) noexcept {
    std::int32_t colour = 0;
    while (colour == a || colour == b) ++colour;
    return colour;
  }

  static void step(turn_type& t, node& n, std::int32_t what) {
    const bool is_root = n.parent == no_vertex;
    switch (what) {
      case tell: break;
      case reduce: {
        const std::int32_t parent = is_root ? n.colour ^ 1 : colour_of_parent(t);
        const std::int32_t position = std::countr_zero(static_cast<std::uint32_t>(n.colour ^ parent));
        n.colour = 2 * position + (n.colour >> position & 1);
        break;
      }
      case shift:
        n.colour_of_children = n.colour;
        n.colour = is_root ? other_than(n.colour, -1) : colour_of_parent(t);
        break;
      case recolour:
        if (n.colour == t.argument()) n.colour = other_than(is_root ? -1 : colour_of_parent(t), n.colour_of_children);
        break;
    }
    tell_children(t, n);
  }
  static void run(driver<vertex_coloring>& d) {
    d.round(tell);
    for (std::int32_t colours = d.what().nodes; colours > 6;) {
      d.round(reduce);
      colours = 2 * static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(colours - 1)));
    }
    for (const std::int32_t gone : {5, 4, 3}) {
      d.round(shift);
      d.round(recolour, gone);
    }
  }
  static row result(const node& n) { return {n.colour}; }
};

}  // namespace

answer run_vertex_coloring(const problem& p, const hooks& around) { return play<vertex_coloring>(p, around); }

}  // namespace imsuite
