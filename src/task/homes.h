// Where units are at home: the NUMA node of most of their bytes, where a machine has several nodes with processors.
//
// A graph's threads are dealt to the nodes by their processors, and bound to them. A unit that is ready waits at its
// home; threads of other nodes take it when they have found nothing at theirs for a while. On one node there is one
// home, and nobody asks.
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

inline constexpr std::uint16_t no_home = UINT16_MAX;  // nobody knows where the bytes are

// What a graph knows of the machine. Tests make others.
struct task_nodes {
  struct node {
    std::uint32_t number = 0;  // the system's
    machine::processor_set processors;
  };
  std::vector<node> nodes;  // those with processors that the graph may use; fewer than two: units have no homes
  std::uint32_t first = 0;  // of these, the one where the adding thread is
  // The number of the node that has the page of an address; nothing where none has it, or the kernel does not tell.
  std::function<std::optional<std::uint32_t>(const void*)> node_of;
};
// As the kernel has it, for a graph of the calling thread. cost: on one node a load, once it is known.
[[nodiscard]] task_nodes nodes_of_thread();

// The node of each thread, by index, the adding thread's first: as the nodes have processors. pre: one node or more.
[[nodiscard]] std::vector<std::uint32_t> deal_threads(const task_nodes& to, std::uint32_t threads);

// The same, with the nodes left out of `to` that have none: what lies there is no nearer to one thread than to another.
[[nodiscard]] std::vector<std::uint32_t> threads_of_nodes(task_nodes& to, std::uint32_t threads);

// Of the adding thread.
class unit_homes {
 public:
  explicit unit_homes(task_nodes machine) : machine_{std::move(machine)} {}

  // The index of the node that has the middle of the largest region; no_home where it is not known. The kernel is asked
  // once for 2 MiB; of a page that is not there yet, again for the 17th unit. cost: a look-up; 0.5 us where it is
  // asked.
  [[nodiscard]] std::uint16_t find(std::span<const declared_access> accesses);
  // Memory may have been given back, or moved.
  void forget() noexcept { known_.clear(); }

 private:
  struct chunk {
    std::uint16_t home = no_home;
    bool is_there = false;
    std::uint8_t answers = 0;  // of one that was not there, before the kernel is asked again
  };
  task_nodes machine_;
  std::unordered_map<std::uint64_t, chunk> known_;  // by address / 2 MiB
};

}  // namespace situ::detail
