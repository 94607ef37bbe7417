// Reads the figures of a node that only a model needs: policies of caches, banks, TLBs, a core's instructions.
// docs/design/machine.md has the keys.
#pragma once

#include <situ/base/spec_file.h>
#include <situ/machine/tree.h>

namespace situ::machine {

// Adds the table's figures for models to `facts`, whose kind must be set. Throws bad_file for a key that nodes of this
// kind do not have, and for a figure out of range.
void read_model_figures(const spec_table& table, node_facts& facts);

}  // namespace situ::machine
