// Reads the keys of a memory's banks, and checks them.
#pragma once

#include <situ/machine/tree.h>

#include "model/parts/machine_spec.h"

#include <functional>
#include <string>

namespace situ::model {

// Gives a memory its banks, if its node has some. `fail` throws an error that names the node. pre: the memory's other
// figures are known.
void read_banks(const machine::node_facts& of, memory_spec& memory,
                const std::function<void(const std::string&)>& fail);

}  // namespace situ::model
