#include "network.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <utility>

namespace imsuite {
namespace {

constexpr std::uint64_t splitmix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class generator {
 public:
  explicit generator(std::uint64_t seed) noexcept : seed_{seed} {}
  std::uint64_t below(std::uint64_t limit) noexcept { return draw(seed_, count_++) % limit; }
  vertex vertex_below(vertex limit) noexcept { return static_cast<vertex>(below(static_cast<std::uint64_t>(limit))); }
  std::vector<vertex> permutation(vertex n) {
    std::vector<vertex> p(static_cast<std::size_t>(n));
    std::iota(p.begin(), p.end(), 0);
    for (vertex i = n - 1; i > 0; --i)
      std::swap(p[static_cast<std::size_t>(i)], p[static_cast<std::size_t>(vertex_below(i + 1))]);
    return p;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

using pairs = std::set<std::pair<vertex, vertex>>;  // smaller end first
void add(pairs& to, vertex a, vertex b) {
  if (a != b) to.insert(std::minmax(a, b));
}

// Parents by vertex; vertex 0 is the root.
std::vector<vertex> random_tree(vertex n, generator& random) {
  std::vector<vertex> names = random.permutation(n);
  std::swap(names[0], *std::find(names.begin(), names.end(), 0));  // the root keeps its name
  std::vector<vertex> parents(static_cast<std::size_t>(n), no_vertex);
  for (vertex v = 1; v < n; ++v)
    parents[static_cast<std::size_t>(names[static_cast<std::size_t>(v)])] =
        names[static_cast<std::size_t>(random.vertex_below(v))];
  return parents;
}

pairs links_of(const std::vector<vertex>& parents) {
  pairs links;
  for (std::size_t v = 0; v < parents.size(); ++v)
    if (parents[v] != no_vertex) add(links, static_cast<vertex>(v), parents[v]);
  return links;
}

pairs sparse(vertex n, generator& random) {
  pairs links = links_of(random_tree(n, random));
  const auto count = static_cast<std::uint64_t>(n);
  const std::uint64_t wanted =
      std::min(count * static_cast<std::uint64_t>(std::bit_width(count - 1)), count * (count - 1) / 2);
  while (links.size() < wanted) add(links, random.vertex_below(n), random.vertex_below(n));
  return links;
}

pairs dense(vertex n, generator& random) {
  pairs links = links_of(random_tree(n, random));
  for (vertex a = 0; a < n; ++a)
    for (vertex b = a + 1; b < n; ++b)
      if (random.below(2) == 0) add(links, a, b);
  return links;
}

}  // namespace

std::uint64_t draw(std::uint64_t seed, std::uint64_t a, std::uint64_t b) noexcept {
  return splitmix(splitmix(splitmix(seed) ^ a) ^ b);
}

std::string_view name_of(form s) noexcept {
  switch (s) {
    case form::ring: return "ring";
    case form::tree: return "tree";
    case form::spmax: return "spmax";
    case form::rn: return "rn";
    case form::complete: return "complete";
  }
  return "?";
}

std::size_t network::link_count() const noexcept {
  std::size_t ends = 0;
  for (const auto& of_vertex : links) ends += of_vertex.size();
  return ends / 2;
}

const link* network::find(vertex a, vertex b) const noexcept {
  if (a < 0 || a >= size()) return nullptr;
  const auto& of_a = links[static_cast<std::size_t>(a)];
  const auto at = std::lower_bound(of_a.begin(), of_a.end(), b, [](const link& l, vertex to) { return l.to < to; });
  return at != of_a.end() && at->to == b ? &*at : nullptr;
}

network make_network(form s, vertex nodes, weights w, std::uint64_t seed) {
  generator random{draw(seed, 1)};
  network net;
  net.links.resize(static_cast<std::size_t>(nodes));
  pairs links;
  switch (s) {
    case form::ring:
      for (vertex v = 0; v < nodes; ++v) add(links, v, (v + 1) % nodes);
      break;
    case form::tree:
      net.parents = random_tree(nodes, random);
      links = links_of(net.parents);
      break;
    case form::spmax: links = sparse(nodes, random); break;
    case form::rn: links = dense(nodes, random); break;
    case form::complete:
      for (vertex a = 0; a < nodes; ++a)
        for (vertex b = a + 1; b < nodes; ++b) add(links, a, b);
      break;
  }
  for (const auto& [a, b] : links) {
    const std::int64_t weight = w == weights::equal
                                    ? 1
                                    : 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(nodes) *
                                                                                 static_cast<std::uint64_t>(nodes)));
    net.links[static_cast<std::size_t>(a)].push_back({b, weight});
    net.links[static_cast<std::size_t>(b)].push_back({a, weight});
  }
  for (auto& of_vertex : net.links)
    std::sort(of_vertex.begin(), of_vertex.end(), [](const link& x, const link& y) { return x.to < y.to; });
  return net;
}

const std::vector<kernel_facts>& all_kernels() {
  static const std::vector<form> general{form::spmax, form::rn, form::ring, form::tree, form::complete};
  static const std::vector<form> ring{form::ring}, tree{form::tree};
  static const std::vector<kernel_facts> table{
      {kernel::bfs_bellman_ford, "bfsBellmanFord", "BF", "breadth-first search by relaxation", form::spmax, 64,
       weights::equal, general},
      {kernel::bfs_dijkstra, "bfsDijkstra", "DST", "breadth-first search, layer by layer", form::rn, 64, weights::equal,
       general},
      {kernel::byzantine, "byzantine", "BY", "agreement of generals with traitors", form::spmax, 16, weights::equal,
       general},
      {kernel::dijkstra_routing, "dijkstraRouting", "DR", "shortest routes from every node", form::spmax, 32,
       weights::equal, general},
      {kernel::dominating_set, "dominatingSet", "DS", "small set with a member beside every node", form::spmax, 32,
       weights::equal, general},
      {kernel::kcommittee, "kcommittee", "KC", "committees of at most k nodes", form::rn, 64, weights::equal, general},
      {kernel::leader_elect_lcr, "leader_elect_lcr", "LCR", "leader of a ring, one direction", form::ring, 64,
       weights::equal, ring},
      {kernel::leader_elect_hs, "leader_elect_hs", "HS", "leader of a ring, both directions", form::ring, 64,
       weights::equal, ring},
      {kernel::leader_elect_dp, "leader_elect_dp", "DP", "leader of any network", form::spmax, 32, weights::equal,
       general},
      {kernel::mis, "mis", "MIS", "maximal independent set", form::spmax, 64, weights::equal, general},
      {kernel::mst, "mst", "MST", "minimum spanning tree", form::spmax, 32, weights::random, general},
      {kernel::vertex_coloring, "vertexColoring", "VC", "three colours for a tree", form::tree, 64, weights::equal,
       tree},
  };
  return table;
}

const kernel_facts& facts_of(kernel k) { return all_kernels()[static_cast<std::size_t>(k)]; }

namespace {
bool loyal_are_connected(const problem& p) {
  std::vector<std::uint8_t> is_reached = p.is_traitor;
  const auto first = std::find(is_reached.begin(), is_reached.end(), 0);
  std::vector<vertex> waiting;
  const auto reach = [&](vertex v) {
    if (std::exchange(is_reached[static_cast<std::size_t>(v)], 1) == 0) waiting.push_back(v);
  };
  reach(static_cast<vertex>(first - is_reached.begin()));
  while (!waiting.empty()) {
    const vertex v = waiting.back();
    waiting.pop_back();
    for (const link& l : p.net.links[static_cast<std::size_t>(v)]) reach(l.to);
  }
  return std::find(is_reached.begin(), is_reached.end(), 0) == is_reached.end();
}
}  // namespace

problem make_problem(kernel k, form input, vertex nodes, std::uint64_t seed) {
  const kernel_facts& facts = facts_of(k);
  if (nodes < 1) situ::throw_error(situ::errc::bad_argument, "a network has at least one node");
  if (std::find(facts.inputs.begin(), facts.inputs.end(), input) == facts.inputs.end()) {
    std::string known;
    for (const form s : facts.inputs) known += (known.empty() ? "" : ", ") + std::string{name_of(s)};
    situ::throw_error(situ::errc::bad_argument,
                      fmt::format("{} is not made for the input {}; it takes {}", facts.name, name_of(input), known));
  }
  problem p;
  p.which = k;
  p.input = input;
  p.seed = seed;
  p.net = make_network(input, nodes, facts.weighted, seed);
  generator random{draw(seed, 2)};
  p.identities = random.permutation(nodes);
  for (vertex& identity : p.identities) identity = 10 * identity + 7;  // no identity is a vertex by chance
  p.is_traitor.assign(static_cast<std::size_t>(nodes), 0);
  vertex most_traitors = k == kernel::byzantine ? (nodes - 1) / 3 : 0;
  for (const vertex v : random.permutation(nodes)) {
    if (most_traitors == 0) break;
    p.is_traitor[static_cast<std::size_t>(v)] = 1;
    if (loyal_are_connected(p)) {
      --most_traitors;
    } else {
      p.is_traitor[static_cast<std::size_t>(v)] = 0;
    }
  }
  for (vertex v = 0; v < nodes; ++v) p.proposals.push_back(static_cast<std::int32_t>(random.below(2)));
  return p;
}

}  // namespace imsuite
