// A node of a place tree as a program sees it: a memory, and the workers beside it.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace situ {
namespace machine {
class tree;  // machine/tree.h
}

// What a node of a place tree has. Zero means unknown. A value.
struct tree_node {
  std::string name;             // "place 1", "dram 0", "L2 of place 1"
  std::uint64_t bytes = 0;      // of its memory, or of the cache that it stands for
  std::uint64_t bandwidth = 0;  // bytes per second of that, for all its workers together
  std::uint32_t workers = 0;    // that are near to it: the parts of a loop there run side by side on so many
  bool is_cache = false;        // tiles are staged into it, and nothing else is allocated there
  std::vector<tree_node> children;

  // Nodes on the longest way down, this one among them: 3 for a machine of memories with caches. cost: linear in the
  // nodes.
  [[nodiscard]] std::uint32_t levels() const noexcept;
  // One line for each node, as situ::machine::draw; ends with a newline. cost: linear in the nodes.
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const tree_node&, const tree_node&) = default;
};

// The tree of a machine as programs see it: the machine, under it each memory that can be allocated from and is no
// device's, with the workers near to it (memories beside each other share theirs), under these the lowest private cache
// (L2 where there is one) of each worker. What memories hang under is left out. cost: linear in the nodes.
[[nodiscard]] tree_node shape_of(const machine::tree& machine);

}  // namespace situ
