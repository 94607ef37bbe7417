#include "model/graph_units/copy_maps.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <bit>

namespace situ::model {

time_ps unit_copy_map::store(std::uint64_t at, time_ps now) {
  now = memory_.write(first_half(at), entry_bytes_, now);
  return memory_.write(second_half(at), entry_bytes_, now);
}

void unit_copy_map::expect_room(std::uint64_t entries) const {
  if (entries <= buffer_.entries) return;
  throw_error(errc::out_of_memory, fmt::format("the copy map needs {} entries, its buffer has {}: give the unit a "
                                               "larger buffer, or copy smaller graphs",
                                               entries, buffer_.entries));
}

// --- linear search ---

time_ps searched_map::begin(std::uint64_t objects, time_ps now) {
  expect_room(objects);
  entries_.clear();
  return now;
}

unit_copy_map::found searched_map::find(std::uintptr_t original, time_ps now) {
  const auto known = entries_.find(original);
  const std::uint64_t read = known == entries_.end() ? entries_.size() : known->second.position + 1;
  probes_ += read;
  if (read != 0) now = memory_.read(first_half(0), read * entry_bytes_, now);
  if (known == entries_.end()) return {nothing, now};
  return {known->second.copy, memory_.read(second_half(read - 1), entry_bytes_, now)};
}

time_ps searched_map::insert(std::uintptr_t original, std::uint32_t copy, time_ps now) {
  const std::uint64_t at = entries_.size();
  expect_room(at + 1);
  entries_.emplace(original, entry{at, copy});
  return store(at, now);
}

// --- hashing ---

std::uint64_t hash_slots(std::uint64_t objects) noexcept { return std::bit_ceil(objects) * 2; }

hashed_map::hashed_map(unit_memory_port& memory, map_buffer buffer, std::uint64_t entry_bytes, time_ps hash_time)
    : unit_copy_map{memory, buffer, entry_bytes}, hash_time_{hash_time} {
  std::uint64_t state = buffer.matrix;
  for (std::uint32_t& column : columns_) {
    state += 0x9e3779b97f4a7c15;  // splitmix64
    std::uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    column = static_cast<std::uint32_t>(mixed >> 32);
  }
}

std::uint32_t hashed_map::hash(std::uint64_t value) const noexcept {
  std::uint32_t result = 0;
  for (; value != 0; value &= value - 1) result ^= columns_[static_cast<unsigned>(std::countr_zero(value))];
  return result;
}

time_ps hashed_map::begin(std::uint64_t objects, time_ps now) {
  if (objects == 0)
    throw_error(errc::bad_argument, "a hashed copy map needs the number of objects: measure the graph first");
  const std::uint64_t slots = hash_slots(objects);
  expect_room(slots);
  keys_.assign(slots, 0);
  copies_.assign(slots, nothing);
  used_ = 0;
  return memory_.clear(first_half(0), slots * entry_bytes_, now);
}

unit_copy_map::found hashed_map::find(std::uintptr_t original, time_ps now) {
  now += hash_time_;
  const std::uint64_t mask = keys_.size() - 1;
  for (std::uint64_t at = hash(original - buffer_.memory_base) & mask;; at = (at + 1) & mask) {
    ++probes_;
    now = memory_.read(first_half(at), entry_bytes_, now);
    if (keys_[at] == original) return {copies_[at], memory_.read(second_half(at), entry_bytes_, now)};
    if (keys_[at] != 0) continue;
    free_slot_ = at;
    return {nothing, now};
  }
}

time_ps hashed_map::insert(std::uintptr_t original, std::uint32_t copy, time_ps now) {
  if (++used_ == keys_.size())  // one slot stays empty, so that every search ends
    throw_error(
        errc::bad_argument,
        fmt::format("the graph has more objects than were measured: its copy map of {} slots is full", keys_.size()));
  keys_[free_slot_] = original;
  copies_[free_slot_] = copy;
  return store(free_slot_, now);
}

}  // namespace situ::model
