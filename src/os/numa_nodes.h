// NUMA nodes and processors as the kernel reports them in /sys and /proc: those that this process can use now, which a
// recorded or modelled machine (the machine module's tree) does not know. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace situ::os {

// Returns the processors that a file of the kernel lists, "0-3,8,10-11". Empty if there is no such file (a kernel
// without NUMA has no nodes) or it lists none. Throws bad_launch if the file cannot be read: places that are to be bound
// must not be left unbound in silence.
[[nodiscard]] std::vector<int> read_processor_list(const std::string& file);

// A NUMA node and all its processors.
struct node_processors {
  int node;
  std::vector<int> processors;
};
// Returns the nodes that have processors: a node may have memory only. Empty if the kernel does not report nodes. Throws
// as read_processor_list.
[[nodiscard]] std::vector<node_processors> nodes_with_processors();

// Returns whether automatic NUMA balancing is on: the kernel then moves pages to where they are used. `file` says so.
[[nodiscard]] bool is_numa_balancing_on(const std::string& file = "/proc/sys/kernel/numa_balancing");

}  // namespace situ::os
