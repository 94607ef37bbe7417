#include "memory/intent_arenas.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <iterator>
#include <utility>

#include "base/host.h"

namespace situ::detail {

unsigned intent_arenas::arena_for(const intent& what, heap& in) {
  for (std::size_t i = 0; i < arenas_.size(); ++i)
    if (arenas_[i].what == what) return last_ = static_cast<unsigned>(i + 1);
  arenas_.push_back({what, make_intent_placer(what, orderings_, control_.budgets)});
  for (const auto& step : arenas_.back().by.order.steps)
    for (const machine::ordered_memory& memory : step)
      arenas_.back().shown.push_back(shown_.find_or_add(what.name(), memory.name));
  const unsigned number = in.add_arena();
  if (number != heap::plain) return last_ = number;
  arenas_.pop_back();
  throw_error(errc::out_of_memory,
              fmt::format("a place has memory for {} intents at most; use fewer", heap::most_arenas - 1));
}

bool intent_arenas::place(unsigned number, std::byte* address, std::size_t bytes, huge_page_maker& huge) noexcept {
  refusal_.reset();
  if (::madvise(address, bytes, MADV_REMOVE) != 0) return false;
  for (std::size_t at = 0; at < bytes; at += huge_page_bytes) {
    placement_report report = arenas_[number - 1].by.places.place(address + at, huge_page_bytes, &huge);
    const bool is_placed = report.outcome == placement_outcome::placed;
    const part& here = parts_.insert_or_assign(address + at, part{number, std::move(report)}).first->second;
    show(here, add_placed);
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
    show(found->second, remove_placed);
    parts_.erase(found);
  }
  forget_placement(address, bytes);
}

void intent_arenas::show(const part& of, void (*change)(placed_row* row, std::uint64_t bytes) noexcept) noexcept {
  const std::vector<placed_row*>& rows = arenas_[of.arena - 1].shown;
  for (std::size_t i = 0; i < rows.size(); ++i) change(rows[i], of.report.memories[i].placed_bytes);
}

const intent_arenas::part* intent_arenas::find(const std::byte* address) const noexcept {
  const auto after = parts_.upper_bound(address);
  if (after == parts_.begin()) return nullptr;
  const auto& [start, found] = *std::prev(after);
  return static_cast<std::size_t>(address - start) < huge_page_bytes ? &found : nullptr;
}

}  // namespace situ::detail
