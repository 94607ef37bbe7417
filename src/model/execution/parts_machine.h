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
//
// Each of these memories is the first of an ordering; pages for which it has no room are in the next ones
// (parts/memory_rooms.h). `wanted` replaces the orderings' first memory, too, except for slices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <situ/machine/intent.h>

#include "model/execution/memory_port.h"
#include "model/parts/machine_spec.h"

namespace situ::model {

// `out_of_memory` is called with the reason when a page of the process or of a slice finds no room, and does not return.
[[nodiscard]] std::unique_ptr<memory_port> make_parts_machine(
    machine_spec spec, std::uint32_t memories, const std::optional<intent>& wanted,
    std::function<void(const std::string& why)> out_of_memory);

}  // namespace situ::model
