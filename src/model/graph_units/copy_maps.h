// The two copy maps of the graph-copy unit (section 4.5 of the paper): which object has got which copy.
//
// Both lie in one static buffer of the memory tile, in two halves: originals in the first, copies at the same offset in
// the second.
//
//   linear   originals one after the other in the order of their copies; a search reads them up to the one sought
//   hash     2^(ceil(log2 objects) + 1) slots, H3 hashing, linear probing; the first half is zeroed before each copy
//
// A search says what it found and when it was done; insert() puts what the last search did not find. The values are
// numbers of copies, which stand for the addresses of the paper. Not thread-safe.
#pragma once

#include "model/graph_units/ports.h"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace situ::model {

enum class map_kind : std::uint8_t { linear, hash };

// The static buffer, and what the map's own logic takes.
struct map_buffer {
  std::uintptr_t address = 0;
  std::uint64_t entries = std::uint64_t{1} << 24;  // of each half: assumed, the paper gives no size
  std::uint64_t matrix = 1;        // which of the family of H3: hardware fixes one, the paper does not say which
  std::uintptr_t memory_base = 0;  // addresses are hashed as offsets from here, so that runs are alike
};

class unit_copy_map {
 public:
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  struct found {
    std::uint32_t copy = nothing;
    time_ps done = 0;
  };
  virtual ~unit_copy_map() = default;
  // Empties it for a graph of so many objects. Throws out_of_memory where the buffer is too small.
  virtual time_ps begin(std::uint64_t objects, time_ps now) = 0;
  virtual found find(std::uintptr_t original, time_ps now) = 0;
  // pre: the last find() was of this original, and found nothing. Throws bad_argument where it is full: then the graph
  // has more objects than were measured.
  virtual time_ps insert(std::uintptr_t original, std::uint32_t copy, time_ps now) = 0;
  // Entries of the first half that searches have read.
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
  // Where a search would stop: the model needs no search to know.
  std::unordered_map<std::uintptr_t, entry> entries_;
};

class hashed_map final : public unit_copy_map {
 public:
  // hash_time: of one hash and its comparison, all that is not an access.
  hashed_map(unit_memory_port& memory, map_buffer buffer, std::uint64_t entry_bytes, time_ps hash_time);
  time_ps begin(std::uint64_t objects, time_ps now) override;
  found find(std::uintptr_t original, time_ps now) override;
  time_ps insert(std::uintptr_t original, std::uint32_t copy, time_ps now) override;
  [[nodiscard]] std::uint64_t slots() const noexcept { return keys_.size(); }
  // H3 of Carter and Wegman, with 64 bits in and 32 out.
  [[nodiscard]] std::uint32_t hash(std::uint64_t value) const noexcept;

 private:
  time_ps hash_time_;
  std::array<std::uint32_t, 64> columns_;
  std::vector<std::uintptr_t> keys_;  // 0: empty
  std::vector<std::uint32_t> copies_;
  std::uint64_t free_slot_ = 0;  // where the last search ended
  std::uint64_t used_ = 0;
};

// 2^(ceil(log2 objects) + 1). pre: objects > 0.
[[nodiscard]] std::uint64_t hash_slots(std::uint64_t objects) noexcept;

}  // namespace situ::model
