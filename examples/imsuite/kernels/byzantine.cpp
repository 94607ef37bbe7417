// Agreement of generals, of whom some are traitors, by signed messages. Every general signs its proposal and sends it
// to its neighbours; who hears a value of a general for the first time signs it as well and passes it on. A value
// counts in round k with k different signatures, the general's own first. If exactly one value of a general came up,
// that is what it proposed; if two did, it is a traitor, and counts for nobody. When all is quiet, all loyal generals
// know the same values, and take what most of them say.
//
// L. Lamport, R. Shostak, M. Pease, The Byzantine Generals Problem (1982): SM(m), section 4, for each general at once,
// and theorem 4 of section 5: any network will do in which the loyal generals are connected. Why they agree: the first
// loyal general to hear a value hears it by round t, for all its signatures are traitors'; from there it takes a round
// for each link on the way to any other, who finds one signature more in each. Rounds by: D. Dolev, H. Strong,
// Authenticated algorithms for Byzantine agreement (1983).
//
// A signature is a number drawn from a secret of the signer's; that everybody can draw it stands for the public key.
// Traitors use no secret but their own. They propose different values to different neighbours, keep silent, pass on
// what they heard to some only, and change what they pass on.
#include "engine.h"

#include <vector>

namespace imsuite {
namespace {

struct byzantine {
  static constexpr bool captures_links = true;
  enum stage : std::int32_t { tell };
  struct signature {
    vertex by = no_vertex;
    std::uint64_t mark = 0;
  };
  struct message {
    vertex origin = no_vertex;
    std::int32_t value = 0;
    situ::vector<signature> signatures;
  };
  struct node {
    bool is_traitor = false;
    std::int32_t proposal = 0;
    std::vector<std::uint8_t> times_heard;  // of each general the values 0 and 1
  };
  using turn_type = turn<byzantine>;
  static node make(const problem& p, vertex v) {
    return {p.is_traitor[static_cast<std::size_t>(v)] != 0, p.proposals[static_cast<std::size_t>(v)],
            std::vector<std::uint8_t>(2 * static_cast<std::size_t>(p.size()), 0)};
  }

  // What `by` puts under a message after the signatures there are before `count`.
  static std::uint64_t mark_of(const turn_type& t, const message& m, vertex by, std::size_t count) {
    const std::uint64_t secret = draw(t.what().seed, 77, static_cast<std::uint64_t>(by));
    const std::uint64_t before = count == 0 ? static_cast<std::uint64_t>(m.origin) : m.signatures[count - 1].mark;
    return draw(secret, before, static_cast<std::uint64_t>(m.value));
  }
  static message sign(const turn_type& t, message m) {
    m.signatures.push_back({t.self(), mark_of(t, m, t.self(), m.signatures.size())});
    return m;
  }
  [[nodiscard]] static bool is_signed_by(const message& m, vertex v) {
    return std::any_of(m.signatures.begin(), m.signatures.end(), [v](const signature& s) { return s.by == v; });
  }
  // Whether it is what it should be in this round: as many signatures, all different, none forged, the origin's first
  // and the sender's last.
  [[nodiscard]] static bool is_valid(const turn_type& t, const message& m, vertex sender) {
    const std::size_t count = m.signatures.size();
    if (count == 0 || count != static_cast<std::size_t>(t.beat()) || (m.value != 0 && m.value != 1)) return false;
    if (m.origin < 0 || m.origin >= t.nodes() || m.signatures[0].by != m.origin || m.signatures.back().by != sender)
      return false;
    for (std::size_t i = 0; i < count; ++i) {
      const signature& s = m.signatures[i];
      if (s.by < 0 || s.by >= t.nodes() || s.mark != mark_of(t, m, s.by, i)) return false;
      for (std::size_t j = 0; j < i; ++j)
        if (m.signatures[j].by == s.by) return false;
    }
    return true;
  }

  static void step(turn_type& t, node& n, std::int32_t) {
    if (t.beat() == 0) return propose(t, n);
    for (const auto& c : t.received()) {
      const message& m = c->message;
      if (!is_valid(t, m, c->from) || is_signed_by(m, t.self())) continue;
      std::uint8_t& times = n.times_heard[2 * static_cast<std::size_t>(m.origin) + static_cast<std::size_t>(m.value)];
      if (times == (n.is_traitor ? 2 : 1)) continue;  // traitors tell things twice
      ++times;
      pass_on(t, n, m);
    }
  }
  static void propose(turn_type& t, node& n) {
    const message own{t.self(), n.proposal, {}};
    if (!n.is_traitor) {
      n.times_heard[2 * static_cast<std::size_t>(t.self()) + static_cast<std::size_t>(n.proposal)] = 1;
      return t.send_to_all(sign(t, own));
    }
    for (const link& l : t.links())
      if (const std::uint64_t lie = whim(t, l.to, 0); lie != 3)
        t.send(l.to, sign(t, {t.self(), static_cast<std::int32_t>(lie), {}}));  // 2 is no value; 3: silence
  }
  static void pass_on(turn_type& t, const node& n, const message& m) {
    for (const link& l : t.links()) {
      if (is_signed_by(m, l.to)) continue;
      const std::uint64_t lie =
          n.is_traitor
              ? whim(t, l.to, 2 * static_cast<std::uint64_t>(m.origin) + static_cast<std::uint64_t>(m.value) + 1)
              : 0;
      if (lie == 3) continue;
      message next = m;
      if (lie == 2) next.value = 1 - next.value;  // the other signatures tell
      t.send(l.to, sign(t, std::move(next)));
    }
  }
  // A traitor's, from 0 to 3.
  static std::uint64_t whim(const turn_type& t, vertex whom, std::uint64_t what) {
    return draw(draw(t.what().seed, static_cast<std::uint64_t>(t.self()), static_cast<std::uint64_t>(whom)), what,
                static_cast<std::uint64_t>(t.beat())) %
           4;
  }

  static void run(driver<byzantine>& d) { (void)d.settle(tell); }
  static row result(const node& n) {
    std::size_t votes[2]{};
    for (std::size_t i = 0; i < n.times_heard.size(); i += 2)
      if ((n.times_heard[i] != 0) != (n.times_heard[i + 1] != 0)) ++votes[n.times_heard[i + 1] != 0 ? 1 : 0];
    return {votes[1] > votes[0] ? 1 : 0};
  }
};

}  // namespace

answer run_byzantine(const problem& p, const hooks& around) { return play<byzantine>(p, around); }

}  // namespace imsuite
