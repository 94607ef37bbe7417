// Which memories of a machine the tree of it has children for. Stateless.
#pragma once

#include <situ/machine/tree.h>

#include <vector>

namespace situ::detail {

// The memories of shape_of(machine), in the order of its children.
[[nodiscard]] std::vector<machine::node_id> memories_of(const machine::tree& machine);

}  // namespace situ::detail
