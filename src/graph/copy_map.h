// Copy maps: from the originals that have been met to their copies. One interface, three implementations:
//
//   std::uint32_t put(std::uintptr_t original, std::uint32_t fresh)  // returns the known value, or stores `fresh`
//   void clear()                                                     // before each graph
//
// Values are offsets in the copy, in units of 8 bytes, from 1 on. `fresh` is larger than every value before it: a
// caller that gets it back knows that the original is new. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "graph/reserved.h"

namespace situ::detail {

// Stores originals in the order of their arrival. No set-up; for a handful.
class linear_map {
 public:
  std::uint32_t put(std::uintptr_t original, std::uint32_t fresh) {
    known* const end = known_.data() + size_;
    for (const known* at = known_.data(); at != end; ++at)
      if (at->original == original) return at->copy;
    if (size_ == known_.size()) [[unlikely]]
      known_.resize(2 * size_);
    known_[size_++] = {original, fresh};
    return fresh;
  }
  void clear() noexcept { size_ = 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  template <class Map>
  void move_to(Map& other) const {
    for (std::size_t i = 0; i < size_; ++i) other.put(known_[i].original, known_[i].copy);
  }

 private:
  struct known {
    std::uintptr_t original = 0;
    std::uint32_t copy = 0;
  };
  std::vector<known> known_ = std::vector<known>(64);
  std::size_t size_ = 0;
};

// NEMESYS, section 4.5: a table of 2^(ceil(log2 n) + 1) entries for n objects, linear probing, hashed by H3 (Carter and
// Wegman): the exclusive or of one random word for each bit of the address that is set. This version takes eight bits
// at a time, from tables of their sums.
class hash_map {
 public:
  std::uint32_t put(std::uintptr_t original, std::uint32_t fresh) {
    std::uint64_t at = hash(original) & mask_;
    while (originals_[at] != 0) {
      if (originals_[at] == original) return copies_[at];
      at = (at + 1) & mask_;
    }
    originals_[at] = original;
    copies_[at] = fresh;
    if (++size_ > (mask_ + 1) / 2) [[unlikely]]
      grow();
    return fresh;
  }
  void clear() {
    size_ = 0;
    resize(64);
  }

 private:
  static constexpr std::size_t bytes_hashed = 6;  // of an address
  static constexpr auto sums = [] {
    std::array<std::array<std::uint64_t, 256>, bytes_hashed> tables{};
    std::uint64_t seed = 0x9e3779b97f4a7c15;
    for (auto& table : tables) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        seed += 0x9e3779b97f4a7c15;  // splitmix64
        std::uint64_t row = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
        row = (row ^ row >> 27) * 0x94d049bb133111eb;
        row ^= row >> 31;
        for (unsigned value = 0; value < 256; ++value)
          if ((value >> bit & 1) != 0) table[value] ^= row;
      }
    }
    return tables;
  }();
  [[nodiscard]] static std::uint64_t hash(std::uintptr_t original) noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < bytes_hashed; ++i) sum ^= sums[i][original >> 8 * i & 0xff];
    return sum;
  }
  void resize(std::size_t places) {
    originals_.assign(places, 0);
    copies_.resize(places);
    mask_ = places - 1;
  }
  void grow() {
    const std::vector<std::uintptr_t> originals = std::move(originals_);
    const std::vector<std::uint32_t> copies = std::move(copies_);
    resize(2 * originals.size());
    for (std::size_t i = 0; i < originals.size(); ++i) {
      if (originals[i] == 0) continue;
      std::uint64_t at = hash(originals[i]) & mask_;
      while (originals_[at] != 0) at = (at + 1) & mask_;
      originals_[at] = originals[i];
      copies_[at] = copies[i];
    }
  }

  std::vector<std::uintptr_t> originals_;
  std::vector<std::uint32_t> copies_;
  std::uint64_t mask_ = 0;
  std::size_t size_ = 0;
};

// A shadow of the source memory: one entry of 4 bytes for each 8 bytes of it, in chunks for regions of 256 KiB. A table
// of all addresses gives the chunk of a region; only the table's pages that are needed exist.
//
//   original >> 18 --> chunks[region], moved so that it can be indexed by the address --> entry at original / 2
//
// Entries of adjacent objects are adjacent, so a graph in order costs no cache misses, and a graph in disorder one for
// each object. The map is not cleared between graphs: base_ moves beyond all entries of the graph before, and an entry
// that is not above base_ is void. The map is wiped only when 2^26 units (512 MiB of copies) have gone by, or the
// chunks take more than 64 MiB. Invariants
//   1. Every entry is <= base_ + the largest value put for the present graph, and base_ + that < 2^32.
//   2. So an entry is of the present graph iff it is > base_, and then its value is entry - base_.
//   3. Originals that are not aligned to 8 bytes, which might share an entry, are in a hash_map of their own.
class side_table {
 public:
  // An element of `table()`: plus half the original's address, it is the address of the original's entry; 0: the region
  // has no chunk.
  using region_table = std::uintptr_t;
  static constexpr unsigned region_shift = 18;
  static constexpr std::uint32_t most_values = UINT32_MAX - (std::uint32_t{1} << 26);

  side_table() = default;
  ~side_table() = default;
  side_table(const side_table&) = delete;
  side_table& operator=(const side_table&) = delete;

  // Prepares the map; must be called first for each graph. Returns false if the system does not provide the address
  // range: the map is then unusable.
  [[nodiscard]] bool prepare() noexcept {
    if (table_ == nullptr) [[unlikely]]
      table_ = static_cast<region_table*>(regions_.reserve_all(region_count * sizeof(region_table)));
    return table_ != nullptr;
  }

  std::uint32_t put(std::uintptr_t original, std::uint32_t fresh) {
    if (original % 8 != 0) [[unlikely]]
      return put_unaligned(original, fresh);
    std::uint32_t& entry = *reinterpret_cast<std::uint32_t*>(chunk_of(original) + original / 2);
    if (entry > base_) return entry - base_;
    entry = base_ + fresh;
    return fresh;
  }

  // Returns the table, for loops that look up aligned originals themselves.
  [[nodiscard]] const region_table* table() const noexcept { return table_; }
  [[nodiscard]] std::uint32_t base() const noexcept { return base_; }
  // Makes a chunk for the region of this original, which has none; returns its element of the table.
  [[gnu::noinline]] region_table add_chunk(std::uintptr_t original) {
    const std::uintptr_t region = original >> region_shift;
    const auto chunk = reinterpret_cast<std::uintptr_t>(pool_.at(used_.size() * chunk_bytes, chunk_bytes));
    used_.push_back(region);
    return table_[region] = chunk - (region << (region_shift - 1));
  }

  // Forgets a graph of values up to `largest`, which is at most most_values.
  void clear(std::uint32_t largest) noexcept {
    base_ += largest;
    if (base_ > UINT32_MAX - most_values || used_.size() > most_kept_chunks) [[unlikely]]
      wipe();
    if (unaligned_used_) [[unlikely]] {
      unaligned_.clear();
      unaligned_used_ = false;
    }
  }

 private:
  static constexpr std::size_t region_count = std::size_t{1} << (47 - region_shift);
  static constexpr std::size_t chunk_bytes = std::size_t{1} << (region_shift - 1);
  static constexpr std::size_t most_kept_chunks = (std::size_t{64} << 20) / chunk_bytes;

  [[nodiscard]] region_table chunk_of(std::uintptr_t original) {
    const region_table chunk = table_[original >> region_shift];
    return chunk != 0 ? chunk : add_chunk(original);
  }
  [[gnu::noinline]] std::uint32_t put_unaligned(std::uintptr_t original, std::uint32_t fresh) {
    if (!unaligned_used_) unaligned_.clear();
    unaligned_used_ = true;
    return unaligned_.put(original, fresh);
  }
  [[gnu::noinline]] void wipe() noexcept {
    pool_.shrink(0);
    for (const std::uintptr_t region : used_) table_[region] = 0;
    used_.clear();
    base_ = 0;
  }

  region_table* table_ = nullptr;
  std::uint32_t base_ = 0;
  bool unaligned_used_ = false;
  reserved_memory regions_{reserved_memory::growth::in_place};  // the table
  reserved_memory pool_{reserved_memory::growth::in_place};     // chunks, one after the other
  std::vector<std::uintptr_t> used_;                            // regions that have chunks, in the order of the chunks
  hash_map unaligned_;
};

// The maps of one thread: a copy does not start another copy.
struct copy_maps {
  linear_map linear;
  hash_map hash;
  side_table side;
};

}  // namespace situ::detail
