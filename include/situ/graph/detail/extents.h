// The addresses of a graph's objects, which a task graph declares as accessed (task/graph_region.h).
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
  std::vector<graph_extent> in_order;  // sorted by address, with gaps between them
  std::uint64_t objects = 0;           // the blocks of containers included
};

// Returns the bytes of all objects that a root reaches, and of the blocks of its situ containers. Memory of standard
// containers, strings and smart pointers is left out: it belongs to the object that holds them. Throws bad_argument as
// clone() does. cost: a look-up for each pointer, and sorting.
[[nodiscard]] graph_extents extents_of(graph_root root);

}  // namespace situ::detail
