#include "reference.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace imsuite {
namespace {

constexpr std::size_t at(std::int64_t v) noexcept { return static_cast<std::size_t>(v); }
constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max() / 4;

answer rows(const problem& p, const row& value) { return answer(at(p.size()), value); }

// A queue, as in every textbook.
std::vector<std::int64_t> hops_from(const network& net, vertex from) {
  std::vector<std::int64_t> hops(net.links.size(), infinity);
  std::queue<vertex> next;
  hops[at(from)] = 0;
  next.push(from);
  while (!next.empty()) {
    const vertex v = next.front();
    next.pop();
    for (const link& l : net.links[at(v)]) {
      if (hops[at(l.to)] != infinity) continue;
      hops[at(l.to)] = hops[at(v)] + 1;
      next.push(l.to);
    }
  }
  return hops;
}

answer search(const problem& p) {
  const std::vector<std::int64_t> hops = hops_from(p.net, p.root);
  answer a = rows(p, {0, no_vertex});
  for (vertex v = 0; v < p.size(); ++v) {
    a[at(v)][0] = hops[at(v)];
    for (const link& l : p.net.links[at(v)])
      if (a[at(v)][1] == no_vertex && hops[at(l.to)] + 1 == hops[at(v)]) a[at(v)][1] = l.to;
  }
  return a;
}

// What most loyal generals propose; the traitors are known here.
answer agreement(const problem& p) {
  std::int64_t loyal = 0, ones = 0;
  for (vertex v = 0; v < p.size(); ++v) {
    if (p.is_traitor[at(v)] != 0) continue;
    ++loyal;
    ones += p.proposals[at(v)];
  }
  return rows(p, {2 * ones > loyal ? 1 : 0});
}

// Floyd and Warshall's algorithm: all pairs at once.
answer routes(const problem& p) {
  std::vector<row> distance(at(p.size()), row(at(p.size()), infinity));
  for (vertex v = 0; v < p.size(); ++v) {
    distance[at(v)][at(v)] = 0;
    for (const link& l : p.net.links[at(v)]) distance[at(v)][at(l.to)] = l.weight;
  }
  for (vertex by = 0; by < p.size(); ++by)
    for (vertex a = 0; a < p.size(); ++a)
      for (vertex b = 0; b < p.size(); ++b)
        distance[at(a)][at(b)] = std::min(distance[at(a)][at(b)], distance[at(a)][at(by)] + distance[at(by)][at(b)]);
  answer result = rows(p, row(2 * at(p.size()), no_vertex));
  for (vertex v = 0; v < p.size(); ++v)
    for (vertex to = 0; to < p.size(); ++to) {
      result[at(v)][2 * at(to)] = distance[at(v)][at(to)];
      for (const link& l : p.net.links[at(v)])
        if (v != to && result[at(v)][2 * at(to) + 1] == no_vertex &&
            l.weight + distance[at(l.to)][at(to)] == distance[at(v)][at(to)])
          result[at(v)][2 * at(to) + 1] = l.to;
    }
  return result;
}

// The greedy set cover: whoever covers most that is uncovered, of equals the highest.
answer dominating(const problem& p) {
  answer a = rows(p, {0});
  std::vector<bool> covered(at(p.size()));
  while (true) {
    std::pair<std::int64_t, vertex> best{0, no_vertex};
    for (vertex v = 0; v < p.size(); ++v) {
      std::int64_t span = covered[at(v)] ? 0 : 1;
      for (const link& l : p.net.links[at(v)]) span += covered[at(l.to)] ? 0 : 1;
      best = std::max(best, {span, v});
    }
    if (best.first == 0) return a;
    a[at(best.second)][0] = 1;
    covered[at(best.second)] = true;
    for (const link& l : p.net.links[at(best.second)]) covered[at(l.to)] = true;
  }
}

// IMSuite's rule with balls in place of messages: k times, each leader admits the lowest free node that it can see,
// which joins the lowest of those who admit it. A node leads unless a lower one stands within its sight when all are
// free.
answer committees(const problem& p) {
  const std::int64_t sight = p.committee_size - 1;
  std::vector<std::vector<vertex>> seen(at(p.size()));
  for (vertex v = 0; v < p.size(); ++v) {
    const std::vector<std::int64_t> hops = hops_from(p.net, v);
    for (vertex u = 0; u < p.size(); ++u)
      if (hops[at(u)] <= sight) seen[at(v)].push_back(u);
  }
  const auto lower = [&](vertex a, vertex b) { return p.identities[at(a)] < p.identities[at(b)]; };
  std::vector<vertex> leaders;
  for (vertex v = 0; v < p.size(); ++v)
    if (*std::min_element(seen[at(v)].begin(), seen[at(v)].end(), lower) == v) leaders.push_back(v);
  answer a = rows(p, {no_vertex});
  for (std::int32_t turn = 0; turn < p.committee_size; ++turn) {
    answer next = a;
    for (const vertex leader : leaders) {
      vertex admitted = no_vertex;
      for (const vertex v : seen[at(leader)])
        if (a[at(v)][0] == no_vertex && (admitted == no_vertex || lower(v, admitted))) admitted = v;
      if (admitted == no_vertex) continue;
      std::int64_t& of = next[at(admitted)][0];
      if (of == no_vertex || lower(leader, static_cast<vertex>(of))) of = leader;
    }
    a = std::move(next);
  }
  for (vertex v = 0; v < p.size(); ++v)
    if (a[at(v)][0] == no_vertex) a[at(v)][0] = v;
  return a;
}

answer election(const problem& p) {
  const auto highest = std::max_element(p.identities.begin(), p.identities.end());
  answer a = rows(p, {*highest, 0});
  a[at(highest - p.identities.begin())][1] = 1;
  return a;
}

// Luby's algorithm with the whole network in view, and the same draws.
answer independent(const problem& p) {
  answer a = rows(p, {-1});
  for (std::uint64_t phase = 0; std::any_of(a.begin(), a.end(), [](const row& r) { return r[0] == -1; }); ++phase) {
    const auto ticket = [&](vertex v) { return std::pair{draw(p.seed, static_cast<std::uint64_t>(v), phase), v}; };
    std::vector<vertex> joining;
    for (vertex v = 0; v < p.size(); ++v) {
      const auto& links = p.net.links[at(v)];
      if (a[at(v)][0] == -1 && std::all_of(links.begin(), links.end(), [&](const link& l) {
            return a[at(l.to)][0] != -1 || ticket(v) < ticket(l.to);
          }))
        joining.push_back(v);
    }
    for (const vertex v : joining) {
      a[at(v)][0] = 1;
      for (const link& l : p.net.links[at(v)]) a[at(l.to)][0] = 0;
    }
  }
  return a;
}

// Kruskal's algorithm.
answer spanning_tree(const problem& p) {
  std::vector<std::tuple<std::int64_t, vertex, vertex>> links;
  for (vertex v = 0; v < p.size(); ++v)
    for (const link& l : p.net.links[at(v)])
      if (v < l.to) links.emplace_back(l.weight, v, l.to);
  std::sort(links.begin(), links.end());
  std::vector<vertex> group(at(p.size()));
  std::iota(group.begin(), group.end(), 0);
  answer a = rows(p, {});
  for (const auto& [weight, v, u] : links) {
    if (group[at(v)] == group[at(u)]) continue;
    const vertex gone = group[at(u)], kept = group[at(v)];
    std::replace(group.begin(), group.end(), gone, kept);
    a[at(v)].push_back(u);
    a[at(u)].push_back(v);
  }
  for (row& r : a) std::sort(r.begin(), r.end());
  return a;
}

// Two colours suffice for whoever sees the whole tree.
answer colours(const problem& p) {
  const std::vector<std::int64_t> hops = hops_from(p.net, p.root);
  answer a;
  for (const std::int64_t h : hops) a.push_back({h % 2});
  return a;
}

}  // namespace

answer reference(const problem& p) {
  switch (p.which) {
    case kernel::bfs_bellman_ford:
    case kernel::bfs_dijkstra: return search(p);
    case kernel::byzantine: return agreement(p);
    case kernel::dijkstra_routing: return routes(p);
    case kernel::dominating_set: return dominating(p);
    case kernel::kcommittee: return committees(p);
    case kernel::leader_elect_lcr:
    case kernel::leader_elect_hs:
    case kernel::leader_elect_dp: return election(p);
    case kernel::mis: return independent(p);
    case kernel::mst: return spanning_tree(p);
    case kernel::vertex_coloring: return colours(p);
  }
  std::abort();
}

bool has_one_answer(kernel k) noexcept { return k != kernel::byzantine && k != kernel::vertex_coloring; }

}  // namespace imsuite
