#include "validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

namespace imsuite {
namespace {

constexpr std::size_t at(std::int64_t v) noexcept { return static_cast<std::size_t>(v); }

std::string check_rows(const answer& a, vertex nodes, std::size_t width) {
  if (a.size() != at(nodes)) return fmt::format("{} rows for {} nodes", a.size(), nodes);
  for (std::size_t v = 0; v < a.size(); ++v)
    if (a[v].size() != width) return fmt::format("node {} answers {} numbers, not {}", v, a[v].size(), width);
  return {};
}

bool is_vertex(const problem& p, std::int64_t v) noexcept { return v >= 0 && v < p.size(); }

// Distances that grow by at most one along a link are nowhere too large; with a parent one nearer, each is that of a
// real path, so not too small.
std::string check_search(const problem& p, const answer& a) {
  for (vertex v = 0; v < p.size(); ++v) {
    const std::int64_t distance = a[at(v)][0], parent = a[at(v)][1];
    if (v == p.root) {
      if (distance != 0 || parent != no_vertex)
        return fmt::format("the root, {}, is at distance {} with parent {}", v, distance, parent);
      continue;
    }
    if (!is_vertex(p, parent) || p.net.find(v, static_cast<vertex>(parent)) == nullptr)
      return fmt::format("the parent {} of node {} is no neighbour", parent, v);
    if (distance != a[at(parent)][0] + 1)
      return fmt::format("node {} is at distance {}, its parent {} at {}", v, distance, parent, a[at(parent)][0]);
    for (const link& l : p.net.links[at(v)])
      if (std::abs(distance - a[at(l.to)][0]) > 1)
        return fmt::format("the linked nodes {} and {} are at distances {} and {}", v, l.to, distance, a[at(l.to)][0]);
  }
  return {};
}

std::string check_agreement(const problem& p, const answer& a) {
  std::int64_t decision = -1;
  std::set<std::int32_t> proposed;
  vertex traitors = 0;
  for (vertex v = 0; v < p.size(); ++v) {
    if (p.is_traitor[at(v)] != 0) {
      ++traitors;
      continue;
    }
    proposed.insert(p.proposals[at(v)]);
    if (a[at(v)][0] != 0 && a[at(v)][0] != 1) return fmt::format("the loyal general {} decides {}", v, a[at(v)][0]);
    if (decision != -1 && decision != a[at(v)][0])
      return fmt::format("the loyal general {} decides {}, others {}", v, a[at(v)][0], decision);
    decision = a[at(v)][0];
  }
  if (3 * traitors >= p.size())
    return fmt::format("{} of {} generals are traitors: no agreement is promised", traitors, p.size());
  if (proposed.size() == 1 && *proposed.begin() != decision)
    return fmt::format("all loyal generals proposed {}, and decide {}", *proposed.begin(), decision);
  return {};
}

std::string check_routes(const problem& p, const answer& a) {
  for (vertex v = 0; v < p.size(); ++v) {
    for (vertex to = 0; to < p.size(); ++to) {
      const std::int64_t distance = a[at(v)][2 * at(to)], next = a[at(v)][2 * at(to) + 1];
      if (v == to) {
        if (distance != 0 || next != no_vertex)
          return fmt::format("node {} is at distance {} from itself", v, distance);
        continue;
      }
      const link* const first = is_vertex(p, next) ? p.net.find(v, static_cast<vertex>(next)) : nullptr;
      if (first == nullptr) return fmt::format("from {} to {} by way of {}, which is no neighbour", v, to, next);
      if (distance != first->weight + a[at(next)][2 * at(to)])
        return fmt::format("from {} to {} in {}, but by way of {} it is {}", v, to, distance, next,
                           first->weight + a[at(next)][2 * at(to)]);
      for (const link& l : p.net.links[at(v)])
        if (distance > l.weight + a[at(l.to)][2 * at(to)])
          return fmt::format("from {} to {} in {}, by way of {} it is only {}", v, to, distance, l.to,
                             l.weight + a[at(l.to)][2 * at(to)]);
    }
  }
  return {};
}

std::string check_flags(const answer& a, std::size_t column) {
  for (std::size_t v = 0; v < a.size(); ++v)
    if (a[v][column] != 0 && a[v][column] != 1)
      return fmt::format("node {} answers {}, neither 0 nor 1", v, a[v][column]);
  return {};
}

bool has_member_beside(const problem& p, const answer& a, vertex v) {
  return std::any_of(p.net.links[at(v)].begin(), p.net.links[at(v)].end(),
                     [&](const link& l) { return a[at(l.to)][0] == 1; });
}

// Dominating, and no larger than a greedy choice can be: its first member covers a node of the highest degree and all
// neighbours, and each further one at least one node.
std::string check_dominating(const problem& p, const answer& a) {
  if (std::string fault = check_flags(a, 0); !fault.empty()) return fault;
  std::int64_t members = 0;
  std::size_t degree = 0;
  for (vertex v = 0; v < p.size(); ++v) {
    members += a[at(v)][0];
    degree = std::max(degree, p.net.links[at(v)].size());
    if (a[at(v)][0] == 0 && !has_member_beside(p, a, v))
      return fmt::format("node {} is no member, and none of its neighbours is", v);
  }
  const std::int64_t most = p.size() - static_cast<std::int64_t>(degree);
  if (members > most) return fmt::format("{} members, where a greedy choice has at most {}", members, most);
  return {};
}

std::string check_independent(const problem& p, const answer& a) {
  if (std::string fault = check_flags(a, 0); !fault.empty()) return fault;
  for (vertex v = 0; v < p.size(); ++v) {
    const bool beside = has_member_beside(p, a, v);
    if (a[at(v)][0] == 1 && beside) return fmt::format("node {} and a neighbour are both members", v);
    if (a[at(v)][0] == 0 && !beside) return fmt::format("node {} could be a member, too", v);
  }
  return {};
}

std::vector<std::int64_t> hops_from(const network& net, vertex from) {
  std::vector<std::int64_t> hops(net.links.size(), -1);
  std::vector<vertex> found{from};
  hops[at(from)] = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const link& l : net.links[at(found[i])])
      if (hops[at(l.to)] == -1) {
        hops[at(l.to)] = hops[at(found[i])] + 1;
        found.push_back(l.to);
      }
  return hops;
}

// Committees of at most k, each led by one of its members, who can reach the others in k - 1 steps; one for all where k
// nodes are all.
std::string check_committees(const problem& p, const answer& a) {
  std::map<std::int64_t, std::vector<vertex>> committees;
  for (vertex v = 0; v < p.size(); ++v) committees[a[at(v)][0]].push_back(v);
  for (const auto& [leader, members] : committees) {
    if (!is_vertex(p, leader))
      return fmt::format("node {} is in the committee of {}, which is no node", members[0], leader);
    if (a[at(leader)][0] != leader)
      return fmt::format("node {} leads a committee and is in that of {}", leader, a[at(leader)][0]);
    if (members.size() > at(p.committee_size))
      return fmt::format("the committee of {} has {} members, {} are allowed", leader, members.size(),
                         p.committee_size);
    const std::vector<std::int64_t> hops = hops_from(p.net, static_cast<vertex>(leader));
    for (const vertex v : members)
      if (hops[at(v)] > p.committee_size - 1)
        return fmt::format("node {} is {} steps from its leader {}", v, hops[at(v)], leader);
  }
  if (p.committee_size >= p.size() && committees.size() != 1)
    return fmt::format("{} committees, where one can hold all nodes", committees.size());
  return {};
}

std::string check_election(const problem& p, const answer& a) {
  if (std::string fault = check_flags(a, 1); !fault.empty()) return fault;
  const auto leader = std::find_if(a.begin(), a.end(), [](const row& r) { return r[1] == 1; });
  if (leader == a.end()) return "no node is the leader";
  const std::int64_t identity = p.identities[at(leader - a.begin())];
  for (std::size_t v = 0; v < a.size(); ++v) {
    if (a[v][1] == 1 && a.begin() + static_cast<std::ptrdiff_t>(v) != leader)
      return fmt::format("nodes {} and {} are both leaders", leader - a.begin(), v);
    if (a[v][0] != identity) return fmt::format("node {} takes {} for the leader, who is {}", v, a[v][0], identity);
  }
  if (identity != *std::max_element(p.identities.begin(), p.identities.end()))
    return fmt::format("the leader {} is not the highest", identity);
  return {};
}

// The heaviest link on the tree's path between two nodes.
std::int64_t heaviest_between(const problem& p, const answer& tree, vertex from, vertex to) {
  std::vector<std::int64_t> heaviest(tree.size(), -1);
  std::vector<vertex> found{from};
  heaviest[at(from)] = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const std::int64_t next : tree[at(found[i])])
      if (heaviest[at(next)] == -1) {
        heaviest[at(next)] = std::max(heaviest[at(found[i])], p.net.find(found[i], static_cast<vertex>(next))->weight);
        found.push_back(static_cast<vertex>(next));
      }
  return heaviest[at(to)];
}

// A tree of the network's links that spans it, and in which no link outside is lighter than the path that it would
// close.
std::string check_spanning_tree(const problem& p, const answer& a) {
  if (a.size() != at(p.size())) return fmt::format("{} rows for {} nodes", a.size(), p.size());
  std::size_t ends = 0;
  for (vertex v = 0; v < p.size(); ++v) {
    if (std::set<std::int64_t>(a[at(v)].begin(), a[at(v)].end()).size() != a[at(v)].size())
      return fmt::format("node {} names a link twice", v);
    for (const std::int64_t to : a[at(v)]) {
      if (!is_vertex(p, to) || p.net.find(v, static_cast<vertex>(to)) == nullptr)
        return fmt::format("node {} names a link to {} that there is not", v, to);
      if (std::find(a[at(to)].begin(), a[at(to)].end(), v) == a[at(to)].end())
        return fmt::format("node {} names its link to {}, which does not", v, to);
      ++ends;
    }
  }
  if (ends != 2 * (a.size() - 1)) return fmt::format("{} links for a tree of {} nodes", ends / 2, a.size());
  for (vertex v = 0; v < p.size(); ++v)
    if (heaviest_between(p, a, 0, v) == -1) return fmt::format("node {} is not connected with node 0", v);
  for (vertex v = 0; v < p.size(); ++v)
    for (const link& l : p.net.links[at(v)])
      if (l.weight < heaviest_between(p, a, v, l.to))
        return fmt::format("the link of {} and {} weighs {}, less than the tree's heaviest between them", v, l.to,
                           l.weight);
  return {};
}

std::string check_colours(const problem& p, const answer& a) {
  for (vertex v = 0; v < p.size(); ++v) {
    if (a[at(v)][0] < 0 || a[at(v)][0] > 2)
      return fmt::format("node {} has colour {}, not one of three", v, a[at(v)][0]);
    for (const link& l : p.net.links[at(v)])
      if (a[at(v)][0] == a[at(l.to)][0])
        return fmt::format("the linked nodes {} and {} both have colour {}", v, l.to, a[at(v)][0]);
  }
  return {};
}

struct check {
  std::size_t width;  // numbers in a row
  std::string (*run)(const problem&, const answer&);
};
check check_of(const problem& p) {
  switch (p.which) {
    case kernel::bfs_bellman_ford:
    case kernel::bfs_dijkstra: return {2, check_search};
    case kernel::byzantine: return {1, check_agreement};
    case kernel::dijkstra_routing: return {2 * at(p.size()), check_routes};
    case kernel::dominating_set: return {1, check_dominating};
    case kernel::kcommittee: return {1, check_committees};
    case kernel::leader_elect_lcr:
    case kernel::leader_elect_hs:
    case kernel::leader_elect_dp: return {2, check_election};
    case kernel::mis: return {1, check_independent};
    case kernel::mst: return {0, check_spanning_tree};
    case kernel::vertex_coloring: return {1, check_colours};
  }
  std::abort();
}

}  // namespace

std::string validate(const problem& p, const answer& a) {
  const check c = check_of(p);
  if (c.run != check_spanning_tree)
    if (std::string fault = check_rows(a, p.size(), c.width); !fault.empty()) return fault;
  return c.run(p, a);
}

}  // namespace imsuite
