// A machine of a specification, made of the parts, as the executor asks of it; and where a program's memory lies there.
//
//   [0, first address of jobs)        code, variables, stacks, heaps of the process: the tile-local memory of whoever
//                                     asks, so that what a process has once counts as each tile's own; where tiles have
//                                     none, the first memory that belongs to no tile
//   a job's slices                    place p's: the memories that belong to no tile, in turn; or so many of them
//   beginning of a slice              channels and barrier: p's tile-local memory, where there is one
//   all else (libraries)              as the process's memory
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/execution/memory_port.h"
#include "model/parts/machine_spec.h"

namespace situ::model {

[[nodiscard]] std::unique_ptr<memory_port> make_parts_machine(machine_spec spec, std::uint32_t memories);

}  // namespace situ::model
