#include "model/parts/memory_rooms.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>
#include <situ/machine/ordering.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace situ::model {
namespace {

constexpr std::uint64_t unlimited_bytes = std::uint64_t{1} << 56;  // the room of a memory whose file gives no size

constexpr std::uint64_t page_of(std::uint64_t address) noexcept { return address & ~(memory_rooms::page_bytes - 1); }

}  // namespace

const char* name_of(room_use what) noexcept {
  switch (what) {
    case room_use::process: return "code, variables, stacks and mappings";
    case room_use::blocks: return "blocks";
    case room_use::channels: return "channels";
    case room_use::heap: return "heaps of places";
  }
  return "";
}

std::vector<memory_order> memory_orders(const machine_spec& spec, const memory_order& shared, bool with_local,
                                        const intent& wanted) {
  std::vector<memory_order> made;
  for (const tile_spec& tile : spec.tiles) {
    memory_order all = shared;
    if (with_local && tile.local_memory != none) all.insert(all.begin(), tile.local_memory);
    if (spec.described != nullptr) {
      const std::vector<machine::ranked_memory> ranked = machine::ordering(*spec.described, wanted, tile.node);
      const auto rank = [&](std::uint32_t memory) {
        return std::ranges::find(ranked, spec.memories[memory].node, &machine::ranked_memory::memory) - ranked.begin();
      };
      std::ranges::stable_sort(all, {}, rank);
    }
    made.push_back(std::move(all));
  }
  return made;
}

memory_rooms::memory_rooms(const machine_spec& spec, std::vector<memory_order> orders, bool has_local)
    : orders_{std::move(orders)}, has_local_{has_local}, own_(has_local ? spec.tiles.size() : 1) {
  for (const memory_spec& each : spec.memories)
    memories_.push_back({.name = each.name, .bytes = each.bytes, .spilled = {}});
  for (const tile_spec& tile : spec.tiles) local_.push_back(tile.local_memory);
}

// --- room ------------------------------------------------------------------------------------------------------------

std::uint64_t memory_rooms::room(std::uint32_t of) const noexcept {
  return memories_[of].bytes == 0 ? unlimited_bytes : page_of(memories_[of].bytes - memories_[of].used);
}

std::uint64_t memory_rooms::room(const memory_order& order) const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint32_t each : order) sum += room(each);
  return sum;
}

std::string memory_rooms::room_of(const memory_order& order) const {
  std::string text;
  for (const std::uint32_t each : order)
    text += fmt::format("{}{} has {} left of {}", text.empty() ? "" : ", ", memories_[each].name,
                        format_bytes(room(each)), format_bytes(memories_[each].bytes));
  return text;
}

void memory_rooms::refuse(const memory_order& order, std::uint64_t bytes) {
  if (refused_.count++ == 0) {
    refused_.first_bytes = bytes;
    refused_.room = room_of(order);
  }
  refused_.most_bytes = std::max(refused_.most_bytes, bytes);
}

memory_rooms::spill& memory_rooms::spill_of(const extent& what) {
  std::vector<spill>& all = memories_[what.memory].spilled;
  for (spill& each : all)
    if (each.from == what.wanted && each.what == what.what) return each;
  return all.emplace_back(spill{.from = what.wanted, .what = what.what});
}

void memory_rooms::count(const extent& what, std::uint64_t bytes) {
  memory& in = memories_[what.memory];
  in.used += bytes;
  in.most_used = std::max(in.most_used, in.used);
  if (what.memory == what.wanted) return;
  spill& spilled = spill_of(what);
  spilled.bytes += bytes;
  spilled.most_bytes = std::max(spilled.most_bytes, spilled.bytes);
}

void memory_rooms::discount(const extent& what, std::uint64_t bytes) {
  if (!what.is_counted) return;
  memories_[what.memory].used -= bytes;
  if (what.memory != what.wanted) spill_of(what).bytes -= bytes;
}

// --- extents ---------------------------------------------------------------------------------------------------------

// Cuts an extent in two at this address. Returns the first extent that begins there or behind it.
memory_rooms::extents::iterator memory_rooms::split(extents& in, std::uint64_t at) {
  const auto behind = in.lower_bound(at);
  if (behind == in.begin()) return behind;
  extent& before = std::prev(behind)->second;
  if (before.end <= at) return behind;
  extent rest = before;
  before.end = at;
  return in.emplace_hint(behind, at, rest);
}

void memory_rooms::cut_out(extents& from, std::uint64_t begin, std::uint64_t end) {
  const auto last = split(from, end);
  for (auto each = split(from, begin); each != last; each = from.erase(each))
    discount(each->second, each->second.end - each->first);
}

void memory_rooms::uncount(extents& in, std::uint64_t begin, std::uint64_t end) {
  const auto last = split(in, end);
  for (auto each = split(in, begin); each != last; ++each) {
    discount(each->second, each->second.end - each->first);
    each->second.is_counted = false;
  }
}

// Adds an extent, whose room is counted here. pre: no other one is in its range.
void memory_rooms::put(extents& in, std::uint64_t begin, const extent& what) {
  count(what, what.end - begin);
  const auto is_like = [&](const extent& other) {
    return other.home == what.home && other.memory == what.memory && other.wanted == what.wanted &&
           other.what == what.what && other.is_counted;
  };
  auto at = in.insert_or_assign(begin, what).first;
  if (at != in.begin()) {
    const auto before = std::prev(at);
    if (before->second.end == begin && is_like(before->second)) {
      before->second.end = what.end;
      in.erase(at);
      at = before;
    }
  }
  const auto behind = std::next(at);
  if (behind == in.end() || behind->first != at->second.end || !is_like(behind->second)) return;
  at->second.end = behind->second.end;
  in.erase(behind);
}

// --- pages -----------------------------------------------------------------------------------------------------------

page_home memory_rooms::touch(extents& in, std::uint64_t address, const memory_order& order, room_use what) {
  const std::uint64_t page = page_of(address);
  const auto found = std::ranges::find_if(order, [&](std::uint32_t each) { return room(each) != 0; });
  if (found == order.end())
    throw_error(errc::out_of_memory, fmt::format("no memory of the machine has room for another page of {}: {}",
                                                 name_of(what), room_of(order)));
  put(in, page, {.end = page + page_bytes, .home = *found, .memory = *found, .wanted = order.front(), .what = what});
  const auto at = std::prev(in.upper_bound(address));
  return {at->first, at->second.end, at->second.home};
}

page_home memory_rooms::find(std::uint64_t address, std::uint32_t tile) {
  const auto look = [&](const extents& in) {
    const auto behind = in.upper_bound(address);
    if (behind == in.begin()) return in.end();
    return address < std::prev(behind)->second.end ? std::prev(behind) : in.end();
  };
  if (const auto at = look(common_); at != common_.end()) return {at->first, at->second.end, at->second.home};
  for (const slice& each : slices_)
    if (address - each.begin < each.end - each.begin)
      return address < each.heap ? touch(common_, address, each.of_channels, room_use::channels)
                                 : touch(common_, address, each.of_heap, room_use::heap);
  extents& own = own_[has_local_ ? tile : 0];
  if (const auto at = look(own); at != own.end()) return {at->first, at->second.end, at->second.home};
  return touch(own, address, orders_[tile], room_use::process);
}

bool memory_rooms::has_room(std::uint32_t tile, std::uint64_t bytes) {
  if (bytes <= room(orders_[tile])) return true;
  refuse(orders_[tile], bytes);
  return false;
}

// Returns how many bytes of the range have their room already: the page that it shares with the block before.
std::uint64_t memory_rooms::counted_in(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t sum = 0;
  const auto last = split(common_, end);
  for (auto each = split(common_, begin); each != last; ++each)
    if (each->second.is_counted) sum += each->second.end - each->first;
  return sum;
}

bool memory_rooms::take(std::uint32_t tile, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return true;
  const memory_order& order = orders_[tile];
  if (!has_room(tile, end - begin - counted_in(begin, end))) return false;
  cut_out(common_, begin, end);
  for (const std::uint32_t each : order) {
    const std::uint64_t bytes = std::min(room(each), end - begin);
    if (bytes == 0) continue;
    // Each tile finds a block of a tile's own memory in its own one, as it finds the rest of the process there.
    put(common_, begin,
        {.end = begin + bytes,
         .home = each == local_[tile] ? local_memory : each,
         .memory = each,
         .wanted = order.front(),
         .what = room_use::blocks});
    begin += bytes;
    if (begin == end) break;
  }
  return true;
}

void memory_rooms::give_back(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  uncount(common_, begin, end);
  for (extents& each : own_) uncount(each, begin, end);
}

void memory_rooms::map_slice(std::uint32_t tile, std::uint64_t begin, std::uint64_t heap, std::uint64_t end,
                             memory_order of_heap) {
  cut_out(common_, begin, end);
  std::erase_if(slices_, [&](const slice& old) { return old.begin < end && begin < old.end; });
  slices_.push_back({.begin = begin,
                     .heap = heap,
                     .end = end,
                     .of_channels = has_local_ ? orders_[tile] : of_heap,
                     .of_heap = std::move(of_heap)});
}

}  // namespace situ::model
