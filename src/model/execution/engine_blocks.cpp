// The cost of the running core's instructions: a table of the blocks that cores of a kind have met.
#include <situ/base/detail/assert.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/execution/block_costs.h"
#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/stacks.h"
#include "model/execution/trace_writer.h"
#include "model/parts/branch_predictor.h"

namespace situ::model {
namespace {

std::uintptr_t program_bytes() noexcept {
  return reinterpret_cast<std::uintptr_t>(&etext) - reinterpret_cast<std::uintptr_t>(&__executable_start);
}

// A block's cost would have to be cut to the 32 bits that the hook adds, and the time would be wrong.
[[noreturn]] void give_up_block(const core& of, std::uintptr_t code) {
  give_up(fmt::format("the block of code at {} takes core {} more than the {:.2f} ms that a block may take; see the "
                      "core's clock and cycles in the machine's file",
                      name_of_code(code), of.index, std::numeric_limits<std::uint32_t>::max() * 1e-9)
              .c_str());
}

}  // namespace

// Cores of one kind share a table, whose pages the host allocates as blocks are met.
void engine::give_block_costs() {
  for (core& c : cores_) {
    const auto like = std::ranges::find_if(cores_, [&](const core& other) {
      return other.block_costs != nullptr && other.period_ps == c.period_ps &&
             machine_->cycles(other.index) == machine_->cycles(c.index) &&
             machine_->width(other.index) == machine_->width(c.index) && other.fetch_shift == c.fetch_shift &&
             (other.fetch_front == nullptr) == (c.fetch_front == nullptr);
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
  to.text_bytes = program_bytes();
  to.block_costs = static_cast<block_cost*>(fixed_pages(to.text_bytes * sizeof(block_cost), false));
}

// The hook handles block costs only. So text_bytes is 0 for a core that predicts branches: the hook then passes all
// blocks to the engine.
void engine::give_branch_predictors() {
  for (core& c : cores_) {
    const double cycles = machine_->cycles(c.index).mispredict;
    if (!c.goes_ahead || cycles == 0) continue;
    const branch_predictor* const of_core = cores_[c.of_core].predictor;  // null: this is the core's first thread
    c.predictor = branch_predictors_
                      .emplace_back(of_core == nullptr ? std::make_unique<branch_predictor>()
                                                       : std::make_unique<branch_predictor>(of_core->of_sibling()))
                      .get();
    c.mispredict_ps = static_cast<time_ps>(std::llround(cycles * static_cast<double>(c.period_ps)));
    c.text_bytes = 0;
  }
}

void engine::go_to_block(core& c, std::uintptr_t code) {
  const bool foreseen = c.predictor->go_to(code);
  if (fast_forward_) return;
  c.clock = machine_->branch(c.index, foreseen, c.instructions + c.slow_accesses(), c.mispredict_ps, c.clock);
  if (!foreseen) ++c.mispredicted;
}

// Reads the cost of a block. The code of shared libraries that are compiled with the hooks is read each time, and is
// never fetched: its addresses differ from run to run.
block_cost engine::read_cost(const core& of, std::uintptr_t code, bool is_own) const {
  std::uintptr_t end = code;
  const std::optional<block_cost> whole =
      cost_of(read_block(code, end), of.is_device ? machine::instruction_cycles{} : machine_->cycles(of.index),
              of.period_ps, of.is_device ? 0 : machine_->width(of.index));
  if (!whole) give_up_block(of, code);
  block_cost cost = *whole;
  if (!is_own || of.fetch_front == nullptr) return cost;
  const std::uintptr_t first = native_text_.address(code);
  const std::uintptr_t last = std::max(native_text_.address(end), first + 1) - 1;
  SITU_ASSERT(1, last >> of.fetch_shift < std::numeric_limits<std::uint32_t>::max(),
              "link modelled programs at low addresses (-no-pie): a block keeps the lines of its code in 32 bits");
  cost.lines = {.first = static_cast<std::uint32_t>(first >> of.fetch_shift),
                .last = static_cast<std::uint32_t>(last >> of.fetch_shift)};
  return cost;
}

void engine::begin_new_block(std::uintptr_t code) {
  core& c = *running;
  block_cost cost;
  {
    const outside_time scope;
    const std::uintptr_t at = code - reinterpret_cast<std::uintptr_t>(&__executable_start);
    const bool is_own = at < program_bytes();
    if (c.predictor != nullptr) go_to_block(c, is_own ? code : (code & 4095) + 1);
    cost = is_own && c.block_costs[at].is_known() ? c.block_costs[at] : read_cost(c, code, is_own);
    if (is_own) c.block_costs[at] = cost;
    c.add_block(cost);
    if (c.width != nullptr) take_width(c, cost);
    if (trace_ && !fast_forward_ && !c.is_device) trace_->begin_block(c, code, cost);
  }
  if (cost.lines != c.fetched) fetch(cost.lines, code);
  if (const core& now = *running; now.width != nullptr && now.clock > now.quantum_end) end_quantum();
}

}  // namespace situ::model
