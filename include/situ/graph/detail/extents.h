// Where the objects of a graph lie: what a task graph declares of them (task/graph_region.h).
#pragma once

#include <situ/graph/detail/arena.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ::detail {

struct graph_extent {
  std::uintptr_t begin;
  std::size_t bytes;
};

struct graph_extents {
  std::vector<graph_extent> in_order;  // by address, apart from each other
  std::uint64_t objects = 0;           // with the blocks of containers
};

// The bytes of all objects that a root reaches, and of the blocks of its situ containers. What standard containers,
// strings and smart pointers hold is left out: it belongs to the object that holds them. Throws bad_argument as clone()
// does. cost: a look-up for each pointer, and sorting.
[[nodiscard]] graph_extents extents_of(graph_root root);

}  // namespace situ::detail
