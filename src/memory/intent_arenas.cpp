#include "memory/intent_arenas.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "os/host.h"

namespace situ::detail {

unsigned intent_arenas::arena_for(const intent& what, bool populate, heap& in) {
  if (!control_.places_by_intent) refuse_intents(control_.file_kind);
  for (std::size_t i = 0; i < arenas_.size(); ++i)
    if (arenas_[i].what == what && arenas_[i].populates == populate) return static_cast<unsigned>(i + 1);
  const std::size_t least_chunk = std::max<std::size_t>(spill_ordering{}.least_chunk, control_.file_unit);
  arenas_.push_back({what, populate, make_intent_placer(what, orderings_, control_.budgets, &promises_, least_chunk)});
  for (const auto& step : arenas_.back().by.order.steps)
    for (const machine::ordered_memory& memory : step)
      arenas_.back().shown.push_back(shown_.find_or_add(what.name(), memory.name));
  const unsigned number = in.add_arena();
  if (number != heap::plain) return number;
  arenas_.pop_back();
  throw_error(errc::out_of_memory,
              fmt::format("a place has memory for {} intents at most, and one that is used both with populate and "
                          "without counts twice; use fewer",
                          heap::most_arenas - 1));
}

bool intent_arenas::place(unsigned number, std::byte* address, std::size_t bytes, huge_page_maker& huge) noexcept {
  refusal_.reset();
  if (::madvise(address, bytes, MADV_REMOVE) != 0) return false;
  const arena& of = arenas_[number - 1];
  promise_map notes = promises_.own();
  for (std::size_t at = 0; at < bytes; at += huge_page_bytes) {
    placement_report report = of.populates ? of.by.places.place(address + at, huge_page_bytes, &huge)
                                           : of.by.places.promise(address + at, huge_page_bytes, notes);
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
  promises_.own().withdraw(address, bytes);
  for (std::size_t at = 0; at < bytes; at += huge_page_bytes) {
    const auto found = parts_.find(address + at);
    if (found == parts_.end()) continue;
    release_budgets(found->second.report);
    show(found->second, remove_placed);
    parts_.erase(found);
  }
  forget_placement(address, bytes);
  prefer_node_of_job(address, bytes);
}

// The node of the job is a policy, too, which the placement had replaced.
void intent_arenas::prefer_node_of_job(std::byte* address, std::size_t bytes) const noexcept {
  if (control_.memory_node != job_control::no_node)
    system_placement_calls().prefer(address, bytes, control_.memory_node);  // if it fails, there is no other node
}

// --- blocks that have been moved ---

placement_report intent_arenas::move(unsigned number, std::byte* address, std::size_t bytes) {
  const auto before = moved_.find(address);
  std::vector<share> shares;
  if (before == moved_.end())
    shares = shares_of(address, bytes);
  else
    shares.push_back(all_of(before->second.now));
  std::vector<held_bytes> held;
  for (const share& each : shares)
    for (std::size_t i = 0; i < each.bytes.size(); ++i)
      if (byte_budget* const budget = each.of->report.memories[i].memory.budget) add_held(held, budget, each.bytes[i]);
  promise_map notes = promises_.own();
  placement_report report = arenas_[number - 1].by.places.move(address, bytes, std::move(held), &notes);
  if (report.outcome != placement_outcome::placed) return report;
  for (const share& each : shares) take_out(each);
  const part& now = moved_.insert_or_assign(address, moved{bytes, {number, std::move(report)}}).first->second.now;
  show(now, add_placed);
  return now.report;
}

void intent_arenas::add_held(std::vector<held_bytes>& held, byte_budget* budget, std::uint64_t bytes) {
  for (held_bytes& each : held)
    if (each.budget == budget) {
      each.bytes += bytes;
      return;
    }
  held.push_back({budget, bytes});
}

bool intent_arenas::freed(std::byte* address) noexcept {
  const auto found = moved_.find(address);
  if (found == moved_.end()) return false;
  const std::size_t bytes = found->second.bytes;
  ::madvise(address, bytes, MADV_REMOVE);
  release_budgets(found->second.now.report);
  show(found->second.now, remove_placed);
  moved_.erase(found);
  forget_placement(address, bytes);
  prefer_node_of_job(address, bytes);
  promise_map notes = promises_.own();
  for (std::byte* at = address; at < address + bytes;) {
    const std::size_t to_next = huge_page_bytes - reinterpret_cast<std::uintptr_t>(at) % huge_page_bytes;
    const std::size_t here = std::min(to_next, static_cast<std::size_t>(address + bytes - at));
    part* const of = here == huge_page_bytes ? nullptr : const_cast<part*>(find(at));
    if (of != nullptr) add_to(*of, arenas_[of->arena - 1].by.places.promise(at, here, notes, when_full::last_memory));
    at += here;
  }
  return true;
}

intent_arenas::share intent_arenas::all_of(part& of) {
  share all{&of, {}};
  for (const memory_fill& row : of.report.memories) all.bytes.push_back(row.placed_bytes);
  return all;
}

std::vector<intent_arenas::share> intent_arenas::shares_of(std::byte* address, std::size_t bytes) {
  std::vector<share> shares;
  for (std::byte* at = address; at < address + bytes;) {
    const std::size_t to_next = huge_page_bytes - reinterpret_cast<std::uintptr_t>(at) % huge_page_bytes;
    const std::size_t here = std::min(to_next, static_cast<std::size_t>(address + bytes - at));
    part* const of = const_cast<part*>(find(at));
    at += here;
    if (of == nullptr) continue;
    share whole = all_of(*of);
    const std::uint64_t all = std::accumulate(whole.bytes.begin(), whole.bytes.end(), std::uint64_t{0});
    std::uint64_t left = std::min<std::uint64_t>(here, all);
    for (std::uint64_t& each : whole.bytes) {
      const std::uint64_t part_of_it = all == 0 ? 0 : (here * each / all + page_bytes - 1) / page_bytes * page_bytes;
      each = std::min({each, left, part_of_it});
      left -= each;
    }
    shares.push_back(std::move(whole));
  }
  return shares;
}

// Subtracts a block's bytes from the part's report and from the published rows; the mover has handled budgets.
void intent_arenas::take_out(const share& what) noexcept {
  for (std::size_t i = 0; i < what.bytes.size(); ++i) {
    what.of->report.memories[i].placed_bytes -= what.bytes[i];
    remove_placed(arenas_[what.of->arena - 1].shown[i], what.bytes[i]);
  }
}

// Adds bytes that a promise has already taken from budgets.
void intent_arenas::add_to(part& to, const placement_report& more) noexcept {
  const std::vector<placed_row*>& rows = arenas_[to.arena - 1].shown;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    to.report.memories[i].placed_bytes += more.memories[i].placed_bytes;
    add_placed(rows[i], more.memories[i].placed_bytes);
  }
}

const intent_arenas::part* intent_arenas::find_moved(const std::byte* address) const noexcept {
  const auto found = moved_.find(address);
  return found == moved_.end() ? nullptr : &found->second.now;
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
