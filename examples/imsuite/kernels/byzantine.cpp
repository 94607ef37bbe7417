// Agreement of generals, of whom fewer than a third are traitors, by kings: in each of t + 1 phases all tell all their value; who hears one value
// from n - t proposes it; a proposal of more than t is adopted; and whoever did not hear its value proposed by n - t takes that of
// the phase's king. One king is loyal; after its phase all loyal generals agree, and never part again.
//
// The question: L. Lamport, R. Shostak, M. Pease, The Byzantine Generals Problem (1982). The answer: P. Berman, J. Garay, K. Perry, Towards
// optimal distributed consensus (1989), with three rounds a phase for n > 3t; the original's oral messages grow exponentially with t.
// Everybody can talk to everybody (its assumption A1), so the network is complete. Traitors say anything, and to each something else.
#include "engine.h"

#include <array>

namespace imsuite {
namespace {

struct byzantine {
  static constexpr bool captures_links = true;
  enum stage : std::int32_t { vote, propose, crown, decide };
  struct message {
    std::int32_t value = 0;  // anything but 0 and 1 is void
  };
  struct node {
    std::int32_t value = 0;
    bool is_traitor = false;
    std::int32_t proposal = -1;
    bool is_sure = true;
  };
  using turn_type = turn<byzantine>;
  static node make(const problem& p, vertex v) { return {p.proposals[static_cast<std::size_t>(v)], p.is_traitor[static_cast<std::size_t>(v)] != 0, -1, true}; }
  static std::int32_t most_traitors(std::int32_t generals) noexcept { return (generals - 1) / 3; }

  // argument: the phase.
  static void step(turn_type& t, node& n, std::int32_t what) {
    const std::int32_t quorum = t.nodes() - most_traitors(t.nodes());
    if (n.is_traitor) return lie(t, n, what);
    switch (what) {
      case vote:
        heed_king(t, n, t.argument() - 1);
        t.send_to_all({n.value});
        break;
      case propose: {
        const std::array<std::int32_t, 2> votes = count(t, n.value);
        n.proposal = votes[0] >= quorum ? 0 : votes[1] >= quorum ? 1 : -1;
        if (n.proposal != -1) t.send_to_all({n.proposal});
        break;
      }
      case crown: {
        const std::array<std::int32_t, 2> proposals = count(t, n.proposal);
        for (std::int32_t value : {0, 1})
          if (proposals[static_cast<std::size_t>(value)] > most_traitors(t.nodes())) n.value = value;
        n.is_sure = proposals[static_cast<std::size_t>(n.value)] >= quorum;
        if (t.self() == t.argument()) t.send_to_all({n.value});
        break;
      }
      case decide: heed_king(t, n, t.argument() - 1); break;
    }
  }
  // How often each value was said, by the node itself (`own`) and by others, of whom each is heard once.
  static std::array<std::int32_t, 2> count(const turn_type& t, std::int32_t own) {
    std::array<std::int32_t, 2> said{own == 0, own == 1};
    vertex last = no_vertex;
    for (const auto& c : t.received()) {
      const std::int32_t value = c->message.value;
      if (c->from != last && (value == 0 || value == 1)) ++said[static_cast<std::size_t>(value)];
      last = c->from;
    }
    return said;
  }
  static void heed_king(const turn_type& t, node& n, vertex king) {
    if (n.is_sure || king < 0 || t.self() == king) return;
    n.value = 0;  // should the king be silent, or say what is void
    for (const auto& c : t.received())
      if (c->from == king && c->message.value == 1) n.value = 1;
  }
  static void lie(turn_type& t, const node&, std::int32_t what) {
    if (what == decide || (what == crown && t.self() != t.argument())) return;
    const auto when = static_cast<std::uint64_t>(4 * t.argument() + what);
    for (const link& l : t.links()) {
      const auto whom = static_cast<std::uint64_t>(t.self()) << 32 | static_cast<std::uint32_t>(l.to);
      const std::uint64_t lie = draw(t.what().seed, whom, when) % 4;
      if (lie != 3) t.send(l.to, {static_cast<std::int32_t>(lie)});  // 2 is void; 3: silence
    }
  }
  static void run(driver<byzantine>& d) {
    const std::int32_t phases = most_traitors(d.what().nodes) + 1;
    for (std::int32_t phase = 0; phase < phases; ++phase)
      for (const stage s : {vote, propose, crown}) d.round(s, phase);
    d.round(decide, phases);
  }
  static row result(const node& n) { return {n.value}; }
};

}  // namespace

answer run_byzantine(const problem& p, const hooks& around) { return play<byzantine>(p, around); }

}  // namespace imsuite
