// A machine of a specification, made of the parts, behind the executor's interface; and the mapping of a program's
// memory on that machine.
//
//   [0, first address of jobs)        code, variables, stacks, heaps of the process: the tile-local memory of the
//                                     tile that asks, so that each tile has its own copy of the process's data; if
//                                     tiles have no local memory, the first memory that belongs to no tile
//   a job's slices                    place p's: the memories that belong to no tile, or the first `memories` of
//                                     these, in turn
//   beginning of a slice              channels and barrier: p's tile-local memory, if there is one
//   other addresses (libraries)       as the process's memory
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/execution/memory_port.h"
#include "model/parts/machine_spec.h"

namespace situ::model {

[[nodiscard]] std::unique_ptr<memory_port> make_parts_machine(machine_spec spec, std::uint32_t memories);

}  // namespace situ::model
