// The page table of a modelled program, and a core's cache of its upper levels.
//
// The table is that of x86-64: four levels of entries of 8 bytes, each with the index of 9 bits of the address; the
// entry of a page of 4 KiB is in level 1, of 2 MiB in level 2, of 1 GiB in level 3. The model does not keep the entries,
// only their addresses. The tables of a level lie side by side, in the order of the pages, above all addresses of
// programs: entries of neighbouring pages share a line, also across the end of a table.
//
//   level 4: bits 39-47 of the address | 3: 30-47 | 2: 21-47 | 1: 12-47      entry(level, address) = begin
//                                      + level * (1 TiB + 4 KiB) + 8 * these bits
//
// Worked example: the page of 4 KiB at 4096 has its entry at begin + 1 TiB + 4 KiB + 8, beside that of page 0; their
// entries of the levels 2 to 4 are the same.
//
// page_walk_cache holds the latest entries of the levels above that of the page, of all levels together, by the bits of
// the address that lead to them: the unified translation cache of Barr, Cox and Rixner (Translation caching: skip, don't
// walk (the page table), ISCA 2010, section 3.3). A walk begins behind the lowest level that it holds.
#pragma once

#include "model/parts/set_associative_cache.h"

#include <cstdint>
#include <optional>

namespace situ::model {

namespace page_tables {

inline constexpr std::uint64_t begin = std::uint64_t{1} << 47;  // programs of x86-64 lie below
inline constexpr std::uint64_t end = begin + (std::uint64_t{6} << 40);
inline constexpr std::uint32_t entry_bytes = 8;
inline constexpr std::uint32_t levels = 4;

// Returns the level that holds the entries of pages of 2^page_shift bytes. pre: 12, 21 or 30.
[[nodiscard]] constexpr std::uint32_t level_of(std::uint32_t page_shift) noexcept { return 1 + (page_shift - 12) / 9; }
// Returns the bits of an address that lead to its entry of a level.
[[nodiscard]] constexpr std::uint64_t index(std::uint32_t level, std::uint64_t address) noexcept {
  return (address & ((std::uint64_t{1} << 48) - 1)) >> (12 + 9 * (level - 1));
}
// Returns the address of that entry. Tables of two levels begin on different pages, as they would by chance.
[[nodiscard]] constexpr std::uint64_t entry(std::uint32_t level, std::uint64_t address) noexcept {
  return begin + level * ((std::uint64_t{1} << 40) + 4096) + entry_bytes * index(level, address);
}

}  // namespace page_tables

class page_walk_cache {
 public:
  explicit page_walk_cache(std::uint32_t entries) {
    if (entries > 0) held_.emplace(1, entries, 64);
  }
  [[nodiscard]] bool exists() const noexcept { return held_.has_value(); }

  // Returns the level at which a walk for an address begins, if that of its page is `lowest`.
  [[nodiscard]] std::uint32_t first_level(std::uint32_t lowest, std::uint64_t address) noexcept {
    if (!held_) return page_tables::levels;
    for (std::uint32_t level = lowest + 1; level <= page_tables::levels; ++level)
      if (held_->hit(key(level, address))) {
        ++hits_;
        return level - 1;
      }
    ++misses_;
    return page_tables::levels;
  }
  // Takes an entry that the walk has read. pre: the cache does not hold it.
  void fill(std::uint32_t level, std::uint64_t address) noexcept {
    if (held_) held_->fill_by_use(key(level, address), {});
  }

  [[nodiscard]] std::uint64_t hits() const noexcept { return hits_; }
  [[nodiscard]] std::uint64_t misses() const noexcept { return misses_; }
  void reset_counters() noexcept { hits_ = misses_ = 0; }

  // Append the entries to words, and take them from such words.
  void save(state_words& to) const {
    if (held_) held_->save(to);
  }
  void load(state_reader& from) {
    if (held_) (void)held_->load(from);
  }

 private:
  [[nodiscard]] static std::uint64_t key(std::uint32_t level, std::uint64_t address) noexcept {
    return page_tables::index(level, address) << 3 | level;
  }
  std::optional<set_associative_cache> held_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace situ::model
