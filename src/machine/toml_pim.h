// Reads the figures of a memory that computes: the keys `computes.design`, `computes.banks` and so on of a node.
// docs/design/machine.md has the list.
#pragma once

#include <situ/base/spec_file.h>
#include <situ/machine/tree.h>

namespace situ::machine {

// Sets facts.computes and, if the table has no size, facts.bytes. The facts' kind, memory and bytes must be set. Throws
// bad_file if another node has these keys, for figures that no memory can have, and for a size that is not the cells'.
void read_computes(const spec_table& table, node_facts& facts);

}  // namespace situ::machine
