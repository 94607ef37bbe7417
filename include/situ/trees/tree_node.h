// A node of a place tree as a program sees it: a memory, and the workers near to it.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace situ {
namespace machine {
class tree;  // machine/tree.h
}

// The figures of a node of a place tree. Zero means unknown. A value.
struct tree_node {
  std::string name;             // "place 1", "dram 0", "L2 of place 1"
  std::uint64_t bytes = 0;      // size of its memory, or of the cache that it stands for
  std::uint64_t bandwidth = 0;  // bytes per second of that memory or cache, for all its workers together
  std::uint32_t workers = 0;    // workers near to the memory: a loop there runs in so many parallel parts
  bool is_cache = false;        // only tiles are staged into it; arrays are not allocated there
  std::vector<tree_node> children;

  // Returns the number of nodes on the longest path down, this node included: 3 for a machine of memories with caches.
  // cost: linear in the nodes.
  [[nodiscard]] std::uint32_t levels() const noexcept;
  // Returns one line for each node, as situ::machine::draw; ends with a newline. cost: linear in the nodes.
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const tree_node&, const tree_node&) = default;
};

// Returns the tree of a machine as programs see it: the machine; under it each memory that programs can allocate from
// and that no device owns, with the workers near to it (memories next to each other share theirs); under these the
// lowest private cache (L2 if there is one) of each worker. The nodes between the machine and a memory are left out.
// cost: linear in the nodes.
[[nodiscard]] tree_node shape_of(const machine::tree& machine);

}  // namespace situ
