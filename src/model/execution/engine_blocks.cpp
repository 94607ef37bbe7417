// What the running core's instructions cost: a table of the blocks that cores of a kind have met.
#include <algorithm>

#include "model/execution/block_costs.h"
#include "model/execution/engine.h"
#include "model/execution/host_calls.h"

namespace situ::model {

// Cores of one kind share a table, whose pages come as blocks are met.
void engine::give_block_costs() {
  for (core& c : cores_) {
    const auto like = std::ranges::find_if(cores_, [&](const core& other) {
      return other.block_costs != nullptr && other.period_ps == c.period_ps &&
             machine_->cycles(other.index) == machine_->cycles(c.index);
    });
    if (like != cores_.end()) {
      c.block_costs = like->block_costs;
      c.text_bytes = like->text_bytes;
    } else {
      give_own_block_costs(c);
    }
  }
}

void engine::give_own_block_costs(core& to) {
  to.text_bytes = reinterpret_cast<std::uintptr_t>(&etext) - reinterpret_cast<std::uintptr_t>(&__executable_start);
  to.block_costs = static_cast<std::uint64_t*>(fixed_pages(to.text_bytes * sizeof(std::uint64_t), false));
}

// Code of shared libraries that are compiled with the hooks is read each time: their addresses differ from run to run.
void engine::begin_new_block(std::uintptr_t code) {
  core& c = *running;
  const outside_time scope;
  const std::uint64_t cost = packed_cost(
      read_block(code), c.is_device ? machine::instruction_cycles{} : machine_->cycles(c.index), c.period_ps);
  const std::uintptr_t at = code - reinterpret_cast<std::uintptr_t>(&__executable_start);
  if (at < c.text_bytes) c.block_costs[at] = cost;
  c.add_block(cost);
}

}  // namespace situ::model
