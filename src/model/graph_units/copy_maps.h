// The two copy maps of the graph-copy unit (section 4.5 of the paper). A copy map finds the copy of an object.
//
// Both use the same static buffer of the memory tile, in two halves: the first half holds originals, the second half
// holds each original's copy at the same offset.
//
//   linear   originals one after the other in the order of their copies; a search reads them up to the one sought
//   hash     2^(ceil(log2 objects) + 1) slots, H3 hashing, linear probing; the first half is zeroed before each copy
//
// A search returns its result and the time when it is done; insert() stores the original that the last search did not
// find. The values are numbers of copies, which stand for the addresses of the paper. Not thread-safe.
#pragma once

#include "model/graph_units/ports.h"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace situ::model {

enum class map_kind : std::uint8_t { linear, hash };

// The static buffer, and the parameters of the map's logic.
struct map_buffer {
  std::uintptr_t address = 0;
  std::uint64_t entries = std::uint64_t{1} << 24;  // per half: assumed, the paper gives no size
  std::uint64_t matrix = 1;        // selects an H3 function: hardware fixes one, the paper does not say which
  std::uintptr_t memory_base = 0;  // addresses are hashed as offsets from this base, so that runs are alike
};

class unit_copy_map {
 public:
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  struct found {
    std::uint32_t copy = nothing;
    time_ps done = 0;
  };
  virtual ~unit_copy_map() = default;
  // Empties the map for a graph of `objects` objects. Throws out_of_memory if the buffer is too small.
  virtual time_ps begin(std::uint64_t objects, time_ps now) = 0;
  virtual found find(std::uintptr_t original, time_ps now) = 0;
  // Stores the copy of `original`. pre: the last find() was for this original, and found nothing. Throws bad_argument
  // if the map is full: the graph then has more objects than were measured.
  virtual time_ps insert(std::uintptr_t original, std::uint32_t copy, time_ps now) = 0;
  // Returns how many entries of the first half searches have read.
  [[nodiscard]] std::uint64_t probes() const noexcept { return probes_; }

 protected:
  unit_copy_map(unit_memory_port& memory, map_buffer buffer, std::uint64_t entry_bytes) noexcept
      : memory_{memory}, buffer_{buffer}, entry_bytes_{entry_bytes} {}
  [[nodiscard]] std::uintptr_t first_half(std::uint64_t at) const noexcept {
    return buffer_.address + at * entry_bytes_;
  }
  [[nodiscard]] std::uintptr_t second_half(std::uint64_t at) const noexcept { return first_half(buffer_.entries + at); }
  time_ps store(std::uint64_t at, time_ps now);
  void expect_room(std::uint64_t entries) const;

  unit_memory_port& memory_;
  map_buffer buffer_;
  std::uint64_t entry_bytes_;
  std::uint64_t probes_ = 0;
};

class searched_map final : public unit_copy_map {
 public:
  searched_map(unit_memory_port& memory, map_buffer buffer, std::uint64_t entry_bytes = 4) noexcept
      : unit_copy_map{memory, buffer, entry_bytes} {}
  time_ps begin(std::uint64_t objects, time_ps now) override;
  found find(std::uintptr_t original, time_ps now) override;
  time_ps insert(std::uintptr_t original, std::uint32_t copy, time_ps now) override;

 private:
  struct entry {
    std::uint64_t position;
    std::uint32_t copy;
  };
  // The position at which a search for each original would stop. The model looks it up instead of searching.
  std::unordered_map<std::uintptr_t, entry> entries_;
};

class hashed_map final : public unit_copy_map {
 public:
  // hash_time: the time of one hash and its comparison, without the accesses.
  hashed_map(unit_memory_port& memory, map_buffer buffer, std::uint64_t entry_bytes, time_ps hash_time);
  time_ps begin(std::uint64_t objects, time_ps now) override;
  found find(std::uintptr_t original, time_ps now) override;
  time_ps insert(std::uintptr_t original, std::uint32_t copy, time_ps now) override;
  [[nodiscard]] std::uint64_t slots() const noexcept { return keys_.size(); }
  // Returns the H3 hash (Carter and Wegman) of 64 bits in 32 bits.
  [[nodiscard]] std::uint32_t hash(std::uint64_t value) const noexcept;

 private:
  time_ps hash_time_;
  std::array<std::uint32_t, 64> columns_;
  std::vector<std::uintptr_t> keys_;  // 0: empty
  std::vector<std::uint32_t> copies_;
  std::uint64_t free_slot_ = 0;  // the empty slot at which the last search ended
  std::uint64_t used_ = 0;
};

// 2^(ceil(log2 objects) + 1). pre: objects > 0.
[[nodiscard]] std::uint64_t hash_slots(std::uint64_t objects) noexcept;

}  // namespace situ::model
