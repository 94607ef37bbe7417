// The memories of a machine that become children of its tree. Stateless.
#pragma once

#include <situ/machine/tree.h>

#include <vector>

namespace situ::detail {

// Returns the memories of shape_of(machine), in the order of its children.
[[nodiscard]] std::vector<machine::node_id> memories_of(const machine::tree& machine);

}  // namespace situ::detail
