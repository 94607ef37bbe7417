#include "memory/intent_arenas.h"

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/machine/processor_set.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <functional>
#include <iterator>
#include <utility>

#include "base/host.h"

namespace situ::detail {

unsigned intent_arenas::arena_for(const intent& what, heap& in) {
  for (std::size_t i = 0; i < arenas_.size(); ++i)
    if (arenas_[i].what == what) return last_ = static_cast<unsigned>(i + 1);
  arena made{what, orderings_.find(what, machine::processor_set::of_this_thread()), nullptr};
  spill_ordering ordering;
  ordering.policy = made.order.when_full == machine::no_room::last ? when_full::last_memory : when_full::error;
  for (const auto& step : made.order.steps) {
    std::vector<spill_memory>& memories = ordering.steps.emplace_back();
    for (const machine::ordered_memory& memory : step)
      memories.push_back({.node = memory.node,
                          .weight = memory.weight,
                          .fill = made.order.fill,
                          .budget = memory.budget_bytes == 0 ? nullptr : &budget_of(memory)});
  }
  made.places = std::make_unique<placer>(ordering);
  arenas_.push_back(std::move(made));
  const unsigned number = in.add_arena();
  if (number != heap::plain) return last_ = number;
  arenas_.pop_back();
  throw_error(errc::out_of_memory,
              fmt::format("a place has memory for {} intents at most; use fewer", heap::most_arenas - 1));
}

// One a job for each name and size: places that use a memory share its bytes. A slot is taken in one step, so that no
// place waits for another here.
byte_budget& intent_arenas::budget_of(const machine::ordered_memory& memory) {
  const std::uint64_t key = std::hash<std::string>{}(fmt::format("{} {}", memory.name, memory.budget_bytes)) | 1;
  for (shared_budget& each : control_.budgets) {
    std::uint64_t found = 0;
    if (!each.key.compare_exchange_strong(found, key) && found != key) continue;
    each.budget.bytes.store(memory.budget_bytes, std::memory_order_relaxed);  // the same by all who find it
    return each.budget;
  }
  throw_error(errc::out_of_memory, fmt::format("a job has room for {} memories with budgets; there is none for \"{}\"",
                                               std::size(control_.budgets), memory.name));
}

bool intent_arenas::place(unsigned number, std::byte* address, std::size_t bytes, huge_page_maker& huge) noexcept {
  refusal_.reset();
  if (::madvise(address, bytes, MADV_REMOVE) != 0) return false;
  for (std::size_t at = 0; at < bytes; at += huge_page_bytes) {
    placement_report report = arenas_[number - 1].places->place(address + at, huge_page_bytes, &huge);
    const bool is_placed = report.outcome == placement_outcome::placed;
    const part& here = parts_.insert_or_assign(address + at, part{number, std::move(report)}).first->second;
    if (is_placed) continue;
    refusal_ = here.report;
    ::madvise(address, at + huge_page_bytes, MADV_REMOVE);
    unplace(address, at + huge_page_bytes);
    return false;
  }
  return true;
}

void intent_arenas::unplace(std::byte* address, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += huge_page_bytes) {
    const auto found = parts_.find(address + at);
    if (found == parts_.end()) continue;
    release_budgets(found->second.report);
    parts_.erase(found);
  }
  forget_placement(address, bytes);
}

const intent_arenas::part* intent_arenas::find(const std::byte* address) const noexcept {
  const auto after = parts_.upper_bound(address);
  if (after == parts_.begin()) return nullptr;
  const auto& [start, found] = *std::prev(after);
  return static_cast<std::size_t>(address - start) < huge_page_bytes ? &found : nullptr;
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
