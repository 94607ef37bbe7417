#include "pages/intent_placer.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace situ::detail {
namespace {

// Returns the budget for a memory's name and size. A slot is claimed in one step, so that no process waits for
// another.
byte_budget& budget_of(const machine::ordered_memory& memory, std::span<shared_budget> budgets) {
  const std::uint64_t key = std::hash<std::string>{}(fmt::format("{} {}", memory.name, memory.budget_bytes)) | 1;
  for (shared_budget& each : budgets) {
    std::uint64_t found = 0;
    if (!each.key.compare_exchange_strong(found, key) && found != key) continue;
    // all processes that find the slot store the same value
    each.budget.bytes.store(memory.budget_bytes, std::memory_order_relaxed);
    return each.budget;
  }
  throw_error(errc::out_of_memory, fmt::format("there is room for {} memories with budgets, and none for \"{}\"",
                                               budgets.size(), memory.name));
}

spill_ordering to_spill(const machine::memory_order& order, std::span<shared_budget> budgets) {
  spill_ordering ordering;
  ordering.policy = order.when_full == machine::no_room::last ? when_full::last_memory : when_full::error;
  for (const auto& step : order.steps) {
    std::vector<spill_memory>& memories = ordering.steps.emplace_back();
    for (const machine::ordered_memory& memory : step) {
      spill_memory& made = memories.emplace_back(
          spill_memory{.node = memory.node,
                       .weight = memory.weight,
                       .fill = order.fill,
                       .budget = memory.budget_bytes == 0 ? nullptr : &budget_of(memory, budgets)});
      memory.name.copy(made.name, sizeof made.name - 1);
    }
  }
  return ordering;
}

[[noreturn]] void refuse_empty(const intent& what) {
  if (what == intent::pim)
    throw_error(
        errc::bad_argument,
        "no memory of this machine computes, so nothing can be allocated for the intent 'pim'; name a machine file "
        "that has such a memory, as pages stand for its cells (the kind of memory pim:FILE)");
  throw_error(errc::bad_argument, fmt::format("no memory of this machine is for the intent '{}': all of them compute "
                                              "(situ order show)",
                                              what.name()));
}

}  // namespace

intent_placer make_intent_placer(const intent& what, const machine::orderings& from, std::span<shared_budget> budgets,
                                 promises* promised, std::size_t least_chunk) {
  machine::memory_order order = from.find_here(what);
  if (order.steps.empty()) refuse_empty(what);
  spill_ordering ordering = to_spill(order, budgets);
  ordering.least_chunk = least_chunk;
  placer places{ordering, system_placement_calls(), promised};
  return {std::move(order), std::move(places)};
}

const machine::orderings& orderings_here() {
  static const machine::orderings all = [] {
    machine::orderings read = machine::orderings::of_this_machine();
    for (const std::string& complaint : read.complaints()) log(log_level::warning, complaint);
    return read;
  }();
  return all;
}

}  // namespace situ::detail
