// The inputs of IMSuite: networks of nodes and links, made from a seed, and what the kernels are asked about them.
//
// The same form, size and seed give the same network everywhere: nothing here depends on the machine or on the
// standard library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace imsuite {

using vertex = std::int32_t;
inline constexpr vertex no_vertex = -1;

enum class form : std::uint8_t {
  ring,      // each node linked to the next
  tree,      // random: the parent of v is any node before it, then all are renamed at random
  spmax,     // sparse: connected, n log2 n links
  rn,        // dense: connected, each pair linked with probability 1/2
  complete,  // all pairs
};
[[nodiscard]] std::string_view name_of(form s) noexcept;

enum class weights : std::uint8_t { equal, random };

struct link {
  vertex to = no_vertex;
  std::int64_t weight = 1;
  friend bool operator==(const link&, const link&) = default;
};

struct network {
  std::vector<std::vector<link>> links;  // by vertex, ascending by end, symmetric
  std::vector<vertex> parents;           // of a tree, by vertex, no_vertex for the root; else empty

  [[nodiscard]] vertex size() const noexcept { return static_cast<vertex>(links.size()); }
  [[nodiscard]] std::size_t link_count() const noexcept;
  // The link from `a` to `b`, or null.
  [[nodiscard]] const link* find(vertex a, vertex b) const noexcept;
};

// pre: nodes >= 1. All are connected. Random weights are 1 .. nodes^2.
[[nodiscard]] network make_network(form s, vertex nodes, weights w, std::uint64_t seed);

// A random number that is a function of its arguments alone (splitmix64 of each in turn): every place draws the same.
[[nodiscard]] std::uint64_t draw(std::uint64_t seed, std::uint64_t a = 0, std::uint64_t b = 0) noexcept;

// The kernels, in the order of the paper's table 4.
enum class kernel : std::uint8_t {
  bfs_bellman_ford,
  bfs_dijkstra,
  byzantine,
  dijkstra_routing,
  dominating_set,
  kcommittee,
  leader_elect_lcr,
  leader_elect_hs,
  leader_elect_dp,
  mis,
  mst,
  vertex_coloring,
};
inline constexpr std::size_t kernel_count = 12;

struct kernel_facts {
  kernel which;
  std::string_view name;          // as in IMSuite
  std::string_view abbreviation;  // as in the paper
  std::string_view what;
  form input;    // the paper's
  vertex nodes;  // the paper's
  weights weighted;
  std::vector<form> inputs;  // all that make sense
};
[[nodiscard]] const std::vector<kernel_facts>& all_kernels();
[[nodiscard]] const kernel_facts& facts_of(kernel k);

// What a kernel is asked.
struct problem {
  kernel which = kernel::mis;
  form input = form::spmax;
  std::uint64_t seed = 1;
  network net;
  std::vector<vertex> identities;        // by vertex: distinct, for elections and committees
  vertex root = 0;                       // of the searches, and of a tree
  std::int32_t committee_size = 6;       // at most; IMSuite's default
  std::vector<std::int32_t> proposals;   // by vertex, 0 or 1, for the generals
  std::vector<std::uint8_t> is_traitor;  // by vertex; fewer than a third, and the others are connected without them

  [[nodiscard]] vertex size() const noexcept { return net.size(); }
};
// Throws situ::error (bad_argument) for an input that the kernel is not made for, and for nodes < 1.
[[nodiscard]] problem make_problem(kernel k, form input, vertex nodes, std::uint64_t seed);

// An answer: what each node knows in the end.
//   bfsBellmanFord, bfsDijkstra   distance from the root, parent (-1 at the root)
//   byzantine                     decision
//   dijkstraRouting               for each destination: distance, next node on the way (-1 at the destination)
//   dominatingSet, mis            1 for members, else 0
//   kcommittee                    the node that leads the committee
//   leader_elect_*                identity of the leader, 1 at the leader, else 0
//   mst                           the other ends of the tree's links at this node, ascending
//   vertexColoring                colour
using row = std::vector<std::int64_t>;
using answer = std::vector<row>;

}  // namespace imsuite
