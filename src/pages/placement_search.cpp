#include "pages/placement_search.h"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace situ::detail {
namespace {

// Whatever the room, it is read again after this many bytes: other processes may be faster than this one. A reading
// takes some 10 us, and these bytes take 16 ms with the fastest faults measured (0.25 us for 4 KiB).
constexpr std::uint64_t most_unread = std::uint64_t{128} << 20;

constexpr std::uint64_t no_known_limit = std::numeric_limits<std::uint64_t>::max();

std::uint64_t limit_of(const byte_budget& budget, double fill) noexcept {
  return threshold_of(budget.bytes.load(std::memory_order_relaxed), fill);
}

}  // namespace

placer::search::search(const placer& by, std::byte* address, std::size_t bytes, when_full policy)
    : by_{by},
      address_{address},
      bytes_{bytes},
      readings_(by.nodes_.size()),
      policy_{policy},
      room_(by.memories_.size()),
      gates_(by.memories_.size(), gate::open) {
  report_.asked_bytes = bytes;
  report_.memories.reserve(by.memories_.size());
  for (const memory& each : by.memories_) report_.memories.push_back({.memory = each.what});
  for (const node& each : by.nodes_) report_.is_possible = report_.is_possible && each.is_told;
}

std::optional<placer::search::choice> placer::search::choose_next() {
  if (left() == 0) return std::nullopt;
  std::optional<choice> next;
  if (!is_beyond_) next = choose();
  return next ? next : choose_beyond();
}

// Before the call reports no room, it reads all memories once more: other processes may have freed memory.
std::optional<placer::search::choice> placer::search::choose() {
  for (bool is_second_look = false;;) {
    std::optional<choice> found = find_room();
    if (!found) {
      if (is_second_look) return std::nullopt;
      is_second_look = true;
      reopen();
      continue;
    }
    if (take(*found)) return found;
  }
}

// Reserves the bytes in the budget, or in the node's sum of promises. Returns false if others were quicker.
bool placer::search::take(choice& to) {
  const spill_memory& memory = what(to.memory);
  to.reserved = to.bytes;
  if (memory.budget == nullptr) return reserve_of_node(to);
  std::uint64_t* const held = held_of(memory.budget);
  const std::uint64_t own = held == nullptr ? 0 : std::min<std::uint64_t>(*held, to.bytes);
  to.reserved -= own;
  if (to.reserved != 0 &&
      take_bytes(memory.budget->used, limit_of(*memory.budget, memory.fill), to.reserved, to.reserved) == 0)
    return false;
  if (held != nullptr) *held -= own;
  return true;
}

void placer::search::withdraw(const choice& to) noexcept {
  if (byte_budget* const budget = what(to.memory).budget)
    budget->used.fetch_sub(to.reserved, std::memory_order_relaxed);
  else
    withdraw_of_node(to);
}

std::uint64_t placer::search::held_by(const byte_budget* budget) noexcept {
  const std::uint64_t* const held = held_of(budget);
  return held == nullptr ? 0 : *held;
}

// Chooses the last memory, until it has nothing left. On nullopt the report has the reason.
std::optional<placer::search::choice> placer::search::choose_beyond() {
  std::optional<choice> last = last_allowed();
  if (!last) {
    refuse(EINVAL);
    return std::nullopt;
  }
  report_.outcome = placement_outcome::no_room;
  if (policy_ == when_full::error && read_error_ != 0) refuse(read_error_);
  if (policy_ == when_full::error) return std::nullopt;
  is_beyond_ = true;
  if (byte_budget* const budget = what(last->memory).budget) {
    std::uint64_t* const held = held_of(budget);
    const std::uint64_t own = held == nullptr ? 0 : std::min<std::uint64_t>(*held, last->bytes);
    if (held != nullptr) *held -= own;
    last->reserved = last->bytes - own;
    budget->used.fetch_add(last->reserved, std::memory_order_relaxed);
  } else {
    last->reserved = last->bytes;
    gates_[last->memory] = gate::open;
    const std::uint64_t now = room(last->memory, chunk_from_here(by_.fine_chunk_));
    if (now < coarse_room) last->bytes = chunk_from_here(by_.fine_chunk_);
    if (now + bytes_here_on(what(last->memory).node, last->bytes) < last->bytes || !reserve_of_node(*last))
      return std::nullopt;
  }
  report_.outcome = placement_outcome::placed;
  return last;
}

std::optional<placer::search::choice> placer::search::find_room() {
  const std::size_t least = chunk_from_here(by_.fine_chunk_);
  for (std::size_t s = 0; s < by_.steps_.size(); ++s) {
    const step& here = by_.steps_[s];
    std::uint64_t weights = 0;
    for (std::size_t i = here.begin; i < here.end; ++i) {
      room_[i] = room(i, least);
      if (room_[i] < coarse_room && what(i).budget == nullptr) room_[i] += bytes_here_on(what(i).node, least);
      if (room_[i] >= least) weights += what(i).weight;
    }
    if (weights == 0) continue;
    std::uint64_t turn = reinterpret_cast<std::uintptr_t>(address_ + at_) / coarse_chunk % weights;
    for (std::size_t i = here.begin; i < here.end; ++i) {
      if (room_[i] < least) continue;
      if (turn < what(i).weight)
        return choice{i, s, chunk_from_here(room_[i] >= coarse_room ? coarse_chunk : by_.fine_chunk_)};
      turn -= what(i).weight;
    }
  }
  return std::nullopt;
}

std::optional<placer::search::choice> placer::search::last_allowed() const noexcept {
  for (std::size_t s = by_.steps_.size(); s-- != 0;)
    for (std::size_t i = by_.steps_[s].end; i-- != by_.steps_[s].begin;)
      if (report_.memories[i].is_allowed) return choice{i, s, chunk_from_here(coarse_chunk)};
  return std::nullopt;
}

// --- readings ---

// Returns the bytes that the memory takes up to its threshold, 0 if they are less than `least`.
std::uint64_t placer::search::room(std::size_t index, std::size_t least) {
  const memory& from = by_.memories_[index];
  if (!report_.memories[index].is_allowed || gates_[index] != gate::open) return 0;
  if (from.what.budget != nullptr)
    return difference(limit_of(*from.what.budget, from.what.fill),
                      from.what.budget->used.load(std::memory_order_relaxed)) +
           held_by(from.what.budget);
  if (!by_.nodes_[from.node].is_told) return no_known_limit;
  std::uint64_t now = room_of_node(index);
  if (now < coarse_room && promised_now(from.node) != 0 && !has_settled_) {
    has_settled_ = true;
    by_.promised_->settle(by_.calls_.residence);  // before the reading: pages touched in between count twice, not never
    readings_[from.node].is_there = false;
    now = room_of_node(index);
  }
  if (now < least) gates_[index] = gate::full;
  return now;
}

// Returns the room of a node by a reading that is still valid.
std::uint64_t placer::search::room_of_node(std::size_t index) {
  const std::size_t node = by_.memories_[index].node;
  const reading& last = readings_[node];
  if (!last.is_there || is_old(last, shown_room(index))) read(node);
  const std::uint64_t promised = std::max(last.promised_bytes, promised_now(node));
  return difference(shown_room(index), last.placed_since + difference(promised, last.own_bytes));
}

std::uint64_t placer::search::promised_now(std::size_t node_index) const noexcept {
  if (by_.promised_ == nullptr) return 0;
  return by_.promised_->sums().bytes[by_.nodes_[node_index].number].load(std::memory_order_relaxed);
}

// Returns whether the next chunk exceeds the use of a reading (invariant 3).
bool placer::search::is_old(const reading& last, std::uint64_t shown) const noexcept {
  if (is_planning_) return false;
  const std::uint64_t since = last.placed_since + last.promised_since;
  const std::uint64_t next = difference(shown, since) >= coarse_room ? coarse_chunk : by_.fine_chunk_;
  return since != 0 && since + next > std::min(shown / paced_placers, most_unread);
}

// Returns the room at the last reading.
std::uint64_t placer::search::shown_room(std::size_t index) const noexcept {
  const reading& last = readings_[by_.memories_[index].node];
  const std::uint64_t kept = kept_of_node(last.total_bytes, by_.nodes_[by_.memories_[index].node].kept_free);
  return difference(threshold_of(last.total_bytes, is_beyond_ ? 1.0 : what(index).fill, kept), last.used_bytes);
}

// Reads a node. A node that has disappeared is full. A node that could not be read counts as full, too, but the error
// is kept (read_error_).
void placer::search::read(std::size_t node_index) {
  ++report_.meminfo_reads;
  errno = 0;
  reading now{.is_there = true,
              .placed_since = is_planning_ ? readings_[node_index].placed_since : 0,
              .promised_bytes = promised_now(node_index)};
  // Read after the sum: bytes that others settle in between do not count as room yet, rather than twice.
  now.own_bytes = own_promises(by_.nodes_[node_index].number);
  if (const std::optional<memory_use> use = use_of_node(by_.nodes_[node_index].number, by_.calls_)) {
    now.total_bytes = use->total_bytes;
    now.used_bytes = use->used_bytes;
  } else if (errno != ENOENT) {
    read_error_ = errno != 0 ? errno : EIO;
  }
  readings_[node_index] = now;
}

std::uint64_t placer::search::free_of(std::size_t index) const noexcept {
  const std::size_t node = by_.memories_[index].node;
  return by_.nodes_[node].is_told ? difference(shown_room(index), readings_[node].placed_since) : no_known_limit;
}

void placer::search::reopen() noexcept {
  for (reading& each : readings_) each.is_there = false;
  std::replace(gates_.begin(), gates_.end(), gate::full, gate::open);
}

// Returns whether a memory has room now, by a new reading. Bytes reserved in a budget have room.
bool placer::search::has_room_for(std::size_t index, std::uint64_t bytes) {
  const memory& from = by_.memories_[index];
  if (from.what.budget != nullptr || !by_.nodes_[from.node].is_told) return true;
  read(from.node);
  if (shown_room(index) < bytes) return false;
  readings_[from.node].placed_since += bytes;
  return true;
}

// --- what is done with a chunk ---

placer::search::binding placer::search::prefer(const choice& to) {
  if (!can_prefer_) return binding::done;
  if (by_.calls_.prefer(address_ + at_, to.bytes, what(to.memory).node) == 0) return binding::done;
  if (errno == EINVAL) return binding::not_allowed;
  if (by_.is_node_0_only_ && (errno == ENOSYS || errno == EPERM)) {
    can_prefer_ = false;
    report_.is_possible = false;
    report_.is_checked = false;
    return binding::done;
  }
  refuse(errno);
  return binding::refused;
}

// After a chunk that was refused or may not be there: returns false if the call must end.
bool placer::search::skip(const choice& to, binding bound) noexcept {
  withdraw(to);
  if (bound == binding::not_allowed) report_.memories[to.memory].is_allowed = false;
  return bound == binding::not_allowed;
}

void placer::search::count(const choice& to) noexcept {
  report_.placed_bytes += to.bytes;
  report_.memories[to.memory].placed_bytes += to.bytes;
  if (is_beyond_) report_.beyond_bytes += to.bytes;
}

// Moves pages of a chunk to its memory, if that has room. Returns the number that remain elsewhere; their addresses
// come first then.
std::size_t placer::search::take_home(const choice& to, void** astray, std::size_t pages) {
  const std::uint32_t node = what(to.memory).node;
  if (!has_room_for(to.memory, pages * page_bytes)) return pages;
  std::array<int, most_pages> nodes;
  std::array<int, most_pages> status;
  nodes.fill(static_cast<int>(node));
  // The status is not used to count them: for a page of a huge one that has been moved with another page, it is an
  // error.
  by_.calls_.move(pages, astray, nodes.data(), status.data());
  const bool is_held = std::any_of(status.begin(), status.begin() + static_cast<std::ptrdiff_t>(pages),
                                   [](int each) { return each == -EACCES; });
  const std::size_t remain = find_elsewhere(astray, pages, node);
  if (remain != 0 && is_held) report_.is_held = true;
  if (remain != 0 && !is_held) gates_[to.memory] = gate::dry;  // it withholds memory that it shows as free
  return remain;
}

std::size_t placer::search::find_elsewhere(void** addresses, std::size_t pages, std::uint32_t node) {
  std::array<int, most_pages> status;
  if (by_.calls_.move(pages, addresses, nullptr, status.data()) != 0) {
    report_.is_checked = false;
    return 0;
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < pages; ++i)
    if (status[i] >= 0 && status[i] != static_cast<int>(node)) addresses[found++] = addresses[i];
  return found;
}

void placer::search::refuse(int reason) noexcept {
  report_.outcome = placement_outcome::refused;
  report_.error = reason;
}

void placer::search::fill_in_totals() {
  for (std::size_t i = 0; i < report_.memories.size(); ++i) {
    memory_fill& row = report_.memories[i];
    if (const byte_budget* const budget = row.memory.budget) {
      row.total_bytes = budget->bytes.load(std::memory_order_relaxed);
      row.used_bytes = budget->used.load(std::memory_order_relaxed);
    } else if (const reading& last = readings_[by_.memories_[i].node]; last.is_there) {
      row.total_bytes = last.total_bytes;
      row.used_bytes = last.used_bytes + last.placed_since + promised_now(by_.memories_[i].node);
    }
  }
}

}  // namespace situ::detail
