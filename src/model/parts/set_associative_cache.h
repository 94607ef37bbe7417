// The lines that a cache holds: tags, an order of replacement, and two bits a line. The cache holds no data: the bytes
// are the program's own, or those of a coherence_shadow.
//
// Invariants
//   1. An entry is line * 4 + bits; a free entry is all ones, which no line is (lines are addresses divided by 16 or
//      more). The entry of a line that was prefetched, and not used since, has its highest bit set in addition, so that
//      it equals no other: its first use goes the slow way, which takes the bit off and counts it.
//   2. By default the ways of a set are in the order of their use, the last used first; free ways follow the used ones.
//   3. With another replacement a set has an entry more, in front of its ways. It is a copy of the entry of the line used
//      last, if a hit of this line changes nothing in the order of replacement; otherwise it is free.
//
//      least recently used   | way 0: used last | way 1 | way 2 | ...
//      others                | copy             | way 0 | way 1 | way 2 | ...
//
// A hit on the line used last in its set is a load, a shift and a comparison; a hit on another way moves the entry to
// the front. Not thread-safe. cost: hits a handful of instructions, the rest linear in the ways; other replacements than
// the default take a call more (replacement.h).
#pragma once

#include <situ/base/detail/assert.h>

#include "model/parts/replacement.h"
#include "model/parts/time.h"
#include "model/parts/warm_state.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace situ::model {

// The state of a line that a cache holds.
struct line_state {
  bool dirty = false;     // newer than the next cache or memory
  bool writable = false;  // no other cache has the line: a write needs no request
  friend bool operator==(const line_state&, const line_state&) = default;
};

// The tags of one cache. A line is an address divided by line_bytes().
class set_associative_cache {
 public:
  static constexpr std::uint64_t no_line = ~std::uint64_t{0} >> 2;

  // The line that was evicted to make room; `line` is no_line if no line was evicted.
  struct victim {
    std::uint64_t line = no_line;
    line_state state;
    [[nodiscard]] bool exists() const noexcept { return line != no_line; }
  };

  // pre: sets is a power of two, as is line_bytes, from 4 on; ways > 0.
  set_associative_cache(std::uint32_t sets, std::uint32_t ways, std::uint32_t line_bytes,
                        const replacement_spec& replacement = {})
      : order_{replacement.is_by_order_of_use() ? nullptr
                                                : std::make_unique<replacement_state>(replacement, sets, ways)},
        entries_(std::size_t{sets} * (ways + (order_ ? 1 : 0)), free_entry),
        mask_{sets - 1},
        ways_{ways},
        stride_{ways + (order_ ? 1 : 0)},
        line_shift_{static_cast<std::uint32_t>(std::countr_zero(line_bytes))} {
    SITU_ASSERT(1, std::has_single_bit(sets) && ways > 0, "a cache has a power of two of sets, and a way or more");
    SITU_ASSERT(1, std::has_single_bit(line_bytes) && line_bytes >= 4, "a cache's line is a power of two of bytes");
  }

  [[nodiscard]] std::uint64_t line_of(std::uint64_t address) const noexcept { return address >> line_shift_; }
  [[nodiscard]] std::uint64_t address_of(std::uint64_t line) const noexcept { return line << line_shift_; }
  [[nodiscard]] std::uint32_t line_bytes() const noexcept { return 1U << line_shift_; }
  [[nodiscard]] std::uint32_t line_shift() const noexcept { return line_shift_; }
  [[nodiscard]] std::uint32_t sets() const noexcept { return mask_ + 1; }
  [[nodiscard]] std::uint32_t ways() const noexcept { return ways_; }
  // Returns the number of entries of a set.
  [[nodiscard]] std::uint32_t stride() const noexcept { return stride_; }

  // Returns whether the cache holds the line, for reading; the line becomes the last used. Counts nothing.
  [[nodiscard]] bool hit(std::uint64_t line) noexcept {
    std::uint64_t* const set = set_of(line);
    return set[0] >> 2 == line || find_behind(set, line);
  }
  // Returns whether the cache holds the line and it may be written; the line becomes the last used, and dirty.
  [[nodiscard]] bool hit_for_write(std::uint64_t line) noexcept {
    std::uint64_t* const set = set_of(line);
    if (set[0] >> 2 != line && !find_behind(set, line)) return false;
    if ((set[0] & writable_bit) == 0) return false;
    set[0] |= dirty_bit;
    if (order_) [[unlikely]]
      put_by_order(set, set[0]);
    return true;
  }

  // Makes a line dirty and writable. pre: hit(line) was the last call for its set, and has found the line.
  void own_last_used(std::uint64_t line) noexcept {
    std::uint64_t* const set = set_of(line);
    SITU_ASSERT(2, set[0] >> 2 == line, "call hit() before");
    set[0] |= dirty_bit | writable_bit;
    if (order_) [[unlikely]]
      put_by_order(set, set[0]);
  }

  // Returns all entries, set after set, as the invariants say. Their address does not change while the cache lives, also
  // when the cache is moved. For executors that look at a set's first entry themselves:
  //   read hit   entries()[(line & (sets() - 1)) * stride()] >> 2 == line
  //   write hit  the same entry == (line << 2 | 3)
  [[nodiscard]] const std::uint64_t* entries() const noexcept { return entries_.data(); }

  // Marks a line as prefetched, until hit() or hit_for_write() finds it, or it leaves. pre: the line was just filled.
  void mark_prefetched(std::uint64_t line) noexcept;
  // Counts of the lines marked so far: each was used, or left unused, or is still there.
  struct prefetched_lines {
    std::uint64_t used = 0;
    std::uint64_t unused = 0;
    std::uint64_t held = 0;
  };
  [[nodiscard]] const prefetched_lines& prefetched() const noexcept { return prefetched_; }
  void reset_prefetched() noexcept { prefetched_.used = prefetched_.unused = 0; }
  // Forgets the latest use of this line: it comes in again.
  void forget_first_use(std::uint64_t line) noexcept {
    if (first_used_ == line) [[unlikely]]
      first_used_ = no_line;
  }
  // Returns whether the latest use of a marked line was that of this line, once.
  [[nodiscard]] bool take_first_use(std::uint64_t line) noexcept {
    if (first_used_ != line) return false;
    first_used_ = no_line;
    return true;
  }

  // Returns whether the cache holds the line, without using it.
  [[nodiscard]] bool holds(std::uint64_t line) const noexcept { return find(line) != nullptr; }
  // Returns the state of a line; a default state for a line that the cache does not hold.
  [[nodiscard]] line_state state(std::uint64_t line) const noexcept {
    const std::uint64_t* const entry = find(line);
    return entry == nullptr ? line_state{} : state_of(*entry);
  }
  // Changes the state of a line. Returns whether the cache holds it.
  bool set_state(std::uint64_t line, line_state now) noexcept {
    std::uint64_t* const entry = find(line);
    if (entry == nullptr) return false;
    *entry = (*entry & prefetched_bit) | line << 2 | bits(now);
    if (order_) [[unlikely]]
      put_by_order(set_of(line), *entry);
    return true;
  }

  // Puts a line that the cache does not hold into its set, as the line used last, and returns the evicted line.
  victim fill(std::uint64_t line, line_state now) noexcept {
    if (order_) [[unlikely]]
      return fill_by_order(set_of(line), line << 2 | bits(now));
    return fill_by_use(line, now);
  }
  // Does the same for a cache with the default replacement.
  victim fill_by_use(std::uint64_t line, line_state now) noexcept {
    SITU_ASSERT(2, !order_ && !holds(line), "a line is filled only where it is not");
    forget_first_use(line);
    std::uint64_t* const set = set_of(line);
    std::uint64_t last = line << 2 | bits(now);
    for (std::uint32_t i = 0; i < ways_; ++i) std::swap(last, set[i]);
    return victim_of(last);
  }

  // Drops a line, dirty or not. Returns the line and its old state; an empty victim if the cache does not hold the
  // line.
  victim drop(std::uint64_t line) noexcept {
    std::uint64_t* const set = set_of(line);
    for (std::uint32_t i = 0; i < stride_; ++i) {
      if (line_in(set[i]) != line) continue;
      if (order_) [[unlikely]]
        return drop_by_order(set, line);
      const victim gone = victim_of(set[i]);
      std::uint64_t behind = free_entry;
      for (std::uint32_t j = ways_; j-- > i;) std::swap(behind, set[j]);
      return gone;
    }
    return {};
  }

  // Calls f(line, state) for each held line with first <= line <= last, in no particular order. f may drop or change
  // the line. cost: the lines of the range or the entries of the cache, whichever are fewer.
  template <class F>
  void for_each(std::uint64_t first, std::uint64_t last, F&& f) {
    if (last - first < entries_.size()) {
      for (std::uint64_t line = first; line <= last; ++line)
        if (const std::uint64_t* entry = find(line)) f(line, state_of(*entry));
      return;
    }
    const std::vector<std::uint64_t> present = entries_;
    for (std::size_t i = 0; i < present.size(); ++i)
      if (const std::uint64_t entry = present[i];
          entry != free_entry && line_in(entry) >= first && line_in(entry) <= last && i % stride_ >= stride_ - ways_)
        f(line_in(entry), state_of(entry));
  }

  // Append all entries, and the order of replacement, to words; take them from such words of a cache of the same shape.
  // load() returns whether the cache then holds any line.
  void save(state_words& to) const {
    to.insert(to.end(), entries_.begin(), entries_.end());
    if (order_) order_->save(to);
  }
  bool load(state_reader& from) {
    const std::span<const std::uint64_t> words = from.next(entries_.size());
    std::ranges::copy(words, entries_.begin());
    if (order_) order_->load(from);
    prefetched_.held = static_cast<std::uint64_t>(std::ranges::count_if(
        words, [](std::uint64_t each) { return each != free_entry && (each & prefetched_bit) != 0; }));
    return std::ranges::any_of(words, [](std::uint64_t each) { return each != free_entry; });
  }

 private:
  static constexpr std::uint64_t dirty_bit = 1;
  static constexpr std::uint64_t writable_bit = 2;
  static constexpr std::uint64_t prefetched_bit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t free_entry = ~std::uint64_t{0};

  // Returns an entry's line, prefetched or not; of a free entry a number that is no line's.
  [[nodiscard]] static std::uint64_t line_in(std::uint64_t entry) noexcept { return (entry & ~prefetched_bit) >> 2; }
  // Returns what an entry that leaves held; a prefetched line has not been used.
  [[nodiscard]] victim victim_of(std::uint64_t entry) noexcept {
    if (entry == free_entry) return {};
    if ((entry & prefetched_bit) != 0) [[unlikely]] {
      --prefetched_.held;
      ++prefetched_.unused;
    }
    return {line_in(entry), state_of(entry)};
  }

  [[nodiscard]] static std::uint64_t bits(line_state now) noexcept {
    return (now.dirty ? dirty_bit : 0) | (now.writable ? writable_bit : 0);
  }
  [[nodiscard]] static line_state state_of(std::uint64_t entry) noexcept {
    return {.dirty = (entry & dirty_bit) != 0, .writable = (entry & writable_bit) != 0};
  }
  [[nodiscard]] std::uint64_t* set_of(std::uint64_t line) noexcept {
    return entries_.data() + static_cast<std::size_t>(line & mask_) * stride_;
  }
  [[nodiscard]] const std::uint64_t* find(std::uint64_t line) const noexcept {
    const std::uint64_t* const set = entries_.data() + static_cast<std::size_t>(line & mask_) * stride_;
    for (std::uint32_t i = 0; i < stride_; ++i)  // a copy says the same
      if (line_in(set[i]) == line) return set + i;
    return nullptr;
  }
  [[nodiscard]] std::uint64_t* find(std::uint64_t line) noexcept {
    return const_cast<std::uint64_t*>(std::as_const(*this).find(line));
  }
  // Looks for the line in the entries after the first. If it is found, it is the first afterwards.
  bool find_behind(std::uint64_t* set, std::uint64_t line) noexcept {
    for (std::uint32_t i = 1; i < stride_; ++i) {
      if (set[i] >> 2 != line) continue;
      if (order_) [[unlikely]]
        return use_by_order(set, i - 1);
      std::uint64_t entry = set[i];
      for (std::uint32_t j = 0; j <= i; ++j) std::swap(entry, set[j]);
      return true;
    }
    return prefetched_.held != 0 && use_prefetched(set, line);
  }
  // Uses a line that find_behind() has not found because it was prefetched. Returns whether the set has it.
  bool use_prefetched(std::uint64_t* set, std::uint64_t line) noexcept;

  // For a set with a copy in front (invariant 3): uses a way, changes an entry that the set holds, fills and drops a line.
  [[gnu::noinline]] bool use_by_order(std::uint64_t* set, std::uint32_t way) noexcept {
    order_->used(static_cast<std::size_t>(set - entries_.data()) / stride_, way);
    set[0] = set[1 + way];
    return true;
  }
  [[gnu::noinline]] void put_by_order(std::uint64_t* set, std::uint64_t entry) noexcept {
    for (std::uint32_t i = 0; i < stride_; ++i)
      if (set[i] >> 2 == entry >> 2) set[i] = entry;
  }
  [[gnu::noinline]] victim fill_by_order(std::uint64_t* set, std::uint64_t entry) noexcept {
    forget_first_use(entry >> 2);
    const auto number = static_cast<std::size_t>(entry >> 2 & mask_);
    std::uint32_t way = 0;
    while (way < ways_ && set[1 + way] != free_entry) ++way;
    if (way == ways_) way = order_->victim(number);
    const std::uint64_t last = std::exchange(set[1 + way], entry);
    set[0] = order_->filled(number, way) ? entry : free_entry;
    return victim_of(last);
  }
  [[gnu::noinline]] victim drop_by_order(std::uint64_t* set, std::uint64_t line) noexcept {
    if (set[0] >> 2 == line) set[0] = free_entry;
    for (std::uint32_t i = 1; i < stride_; ++i)
      if (line_in(set[i]) == line) return victim_of(std::exchange(set[i], free_entry));
    return {};
  }

  std::unique_ptr<replacement_state> order_;  // null with the default replacement
  std::vector<std::uint64_t> entries_;
  prefetched_lines prefetched_;
  std::uint64_t first_used_ = no_line;  // the last prefetched line that was used for the first time
  std::uint32_t mask_;
  std::uint32_t ways_;
  std::uint32_t stride_;
  std::uint32_t line_shift_;
};

inline void set_associative_cache::mark_prefetched(std::uint64_t line) noexcept {
  std::uint64_t* const set = set_of(line);
  SITU_ASSERT(2, find(line) != nullptr && (*find(line) & prefetched_bit) == 0, "a line that was just filled is marked");
  if (order_ && set[0] >> 2 == line) set[0] = free_entry;  // no copy (invariant 3): its first use is not a copy's
  *find(line) |= prefetched_bit;
  ++prefetched_.held;
}

[[gnu::noinline]] inline bool set_associative_cache::use_prefetched(std::uint64_t* set, std::uint64_t line) noexcept {
  const std::uint32_t front = stride_ - ways_;  // 1 with a copy in front
  for (std::uint32_t i = front; i < stride_; ++i) {
    if (line_in(set[i]) != line) continue;
    set[i] &= ~prefetched_bit;
    --prefetched_.held;
    ++prefetched_.used;
    first_used_ = line;
    if (order_) return use_by_order(set, i - front);
    std::uint64_t entry = set[i];
    for (std::uint32_t j = 0; j <= i; ++j) std::swap(entry, set[j]);
    return true;
  }
  return false;
}

}  // namespace situ::model
