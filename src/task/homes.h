// The homes of units: on a machine with several NUMA nodes that have processors, the node of most of a unit's bytes.
//
// A graph's threads are dealt to the nodes in proportion to their processors, and bound to them. A ready unit waits at
// its home; threads of other nodes take it after they have found no unit at theirs for a while. On a machine with one
// node there is one home, and the graph does not ask for nodes.
#pragma once

#include <situ/machine/processor_set.h>
#include <situ/task/access.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace situ::detail {

inline constexpr std::uint16_t no_home = UINT16_MAX;  // the node of the bytes is unknown

// The nodes of the machine as a graph sees them. Tests make others.
struct task_nodes {
  struct node {
    std::uint32_t number = 0;  // the system's number
    machine::processor_set processors;
  };
  std::vector<node> nodes;  // those with processors that the graph may use; fewer than two: units have no homes
  std::uint32_t first = 0;  // the index of the node of the adding thread
  // Returns the number of the node that holds the page of an address; nullopt if no node does, or the kernel does not
  // say.
  std::function<std::optional<std::uint32_t>(const void*)> node_of;
};
// Returns the nodes that the kernel reports, for a graph of the calling thread. cost: on one node a load, once it is
// known.
[[nodiscard]] task_nodes nodes_of_thread();

// Returns the node of each thread, by index, the adding thread's first: nodes get threads in proportion to their
// processors. pre: one node or more.
[[nodiscard]] std::vector<std::uint32_t> deal_threads(const task_nodes& to, std::uint32_t threads);

// As deal_threads(), and removes the nodes without a thread from `to`: their memory is no nearer to one thread than to
// another.
[[nodiscard]] std::vector<std::uint32_t> threads_of_nodes(task_nodes& to, std::uint32_t threads);

// Finds the homes of units. Belongs to the adding thread.
class unit_homes {
 public:
  explicit unit_homes(task_nodes machine) : machine_{std::move(machine)} {}

  // Returns the index of the node that holds the middle of the largest region; no_home if it is unknown. Asks the
  // kernel once for each 2 MiB; for a page that does not exist yet, it asks again for the 17th unit. cost: a look-up;
  // 0.5 us if it asks.
  [[nodiscard]] std::uint16_t find(std::span<const declared_access> accesses);
  // Forgets all answers: memory may have been freed or moved.
  void forget() noexcept { known_.clear(); }

 private:
  struct chunk {
    std::uint16_t home = no_home;
    bool is_there = false;
    std::uint8_t answers = 0;  // no_home answers left for an absent page, before the kernel is asked again
  };
  task_nodes machine_;
  std::unordered_map<std::uint64_t, chunk> known_;  // by address / 2 MiB
};

}  // namespace situ::detail
