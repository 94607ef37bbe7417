// The figures of a core's address translation, read from a machine's tree and checked.
#pragma once

#include <situ/machine/tree.h>

#include "model/parts/machine_spec.h"

#include <functional>
#include <string>
#include <vector>

namespace situ::model {

// Adds the figures of a node that is nearer to the machine's root, as far as those before have none.
void add_translation(machine::node_facts& to, const machine::node_facts& of);

// Sets a core's TLBs, page walks and page size. Calls `fail`, which throws, with what is wrong in the file. pre: the
// core's period and paths are set.
void read_translation(const machine::node_facts& from, const std::vector<cache_spec>& caches, core_spec& to,
                      const std::function<void(const std::string& message)>& fail);

}  // namespace situ::model
