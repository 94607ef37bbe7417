// "Why is X installed": breadth-first search over the partitioned graph, from X along the rows of dependents until it
// meets a root. Collective. Finds exactly the chain that reference_chain defines, whatever the partition.
//
// One level of the search:
//   1. Each place walks the rows of the vertices that it found in the level before. A dependent of its own it notes at
//      once; one that lies elsewhere goes into a batch for its owner, and full batches leave as medium active messages.
//      Their handler notes the steps at the owner, without the owner's program taking part.
//   2. An all-to-all of the numbers sent tells each place how many steps to expect; it lets messages in until they are
//      there.
//   3. An all-reduce says whether anything was found anywhere, and which root is the smallest. Nobody sends for the
//      next level before everybody has come so far, so a step is never noted in the wrong level.
// Of several ways to a vertex in one level the smallest next vertex is kept, so the order of arrival does not matter.
#pragma once

#include "placed_graph.h"
#include "traffic.h"

#include <situ/situ.h>

#include <cstdint>
#include <vector>

namespace package_rank {

// What a place has found so far. Lies in its segment: handlers reach it by address, and place 0 reads the way back out
// of it.
struct search_state {
  vertex first = 0;
  vertex end = 0;
  vertex found_count = 0;
  std::uint64_t steps_received = 0;
  situ::ptr<std::uint8_t> marks;   // of the graph part
  situ::ptr<vertex> next;          // by own vertex: the next one on the way to the target; no_vertex while not found
  situ::ptr<std::uint32_t> level;  // by own vertex, where found
  situ::ptr<vertex> found;         // own vertices in the order in which they were found
};

// A vertex that needs another, which is one level nearer to the target: what the places tell each other.
struct step {
  vertex dependent, needed;
};

class chain_search {
 public:
  chain_search(const placed_graph& graph, traffic& traffic);  // collective
  ~chain_search();
  chain_search(const chain_search&) = delete;
  chain_search& operator=(const chain_search&) = delete;

  // Collective: every place passes the same target. The chain (see reference_chain) is the result at place 0; elsewhere
  // empty.
  [[nodiscard]] std::vector<vertex> run(vertex target);

 private:
  struct progress {
    std::uint64_t found;
    vertex smallest_root;
  };

  void reset(vertex target);
  void walk(vertex begin, vertex end, std::uint32_t level);
  void send_batch(situ::place to, std::uint32_t level);
  void await_steps();
  [[nodiscard]] progress sum_up(vertex begin, vertex end) const;
  [[nodiscard]] std::vector<vertex> way_back(vertex from, vertex target) const;

  const placed_graph& graph_;
  traffic& traffic_;
  situ::ptr<search_state> mine_;
  std::vector<situ::ptr<search_state>> states_;  // by place
  std::vector<std::vector<step>> batches_;       // by place
  std::vector<std::uint64_t> sent_;              // by place, in this level
  std::uint64_t expected_ = 0;                   // over all levels
  std::size_t batch_length_ = 0;
};

}  // namespace package_rank
