// A translation lookaside buffer of a core, of the first or the second level: the pages that it can translate without a
// walk through the page table.
//
// A first level is looked up only if an access's page differs from that of the access before: hits and misses count
// these look-ups. Its entries for pages of 2 MiB and 1 GiB may be separate ones; without these, its other entries hold
// such pages, too. A second level is looked up when the first one has missed; its entries hold pages of all sizes.
//
// Worked example, 2 entries of 2 ways, a walk of 30 ns: pages 1 1 2 1 3 2 are looked up 5 times, for 1 (30), 2 (30), 1,
// 3 (30, in place of 2), 2 (30, in place of 1). With a second level of 4 entries and 7 ns a walk comes after its miss,
// and takes 37; the last look-up finds page 2 there, and takes 7.
#pragma once

#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/set_associative_cache.h"
#include "model/parts/time.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace situ::model {

class tlb {
 public:
  tlb() = default;
  // usual_page_bytes: of the pages that no page_sizes gives another size; 0: those of the buffer's first entries.
  explicit tlb(const tlb_spec& of, std::uint64_t usual_page_bytes = 0) {
    if (of.sets == 0) return;
    last_bytes_ = 0;
    its_ = std::make_shared<state>(of, usual_page_bytes == 0 ? of.page_bytes : usual_page_bytes);
  }
  // Returns the same buffer for another hardware thread of the core, which has a last look-up of its own.
  [[nodiscard]] tlb of_sibling() const {
    tlb made;
    made.its_ = its_;
    if (its_) made.last_bytes_ = 0;
    return made;
  }

  [[nodiscard]] bool exists() const noexcept { return its_ != nullptr; }

  // Returns whether the address's page is that of the last look-up; true if there is no such buffer.
  [[nodiscard]] bool is_last(std::uint64_t address) const noexcept { return address - last_begin_ < last_bytes_; }
  // Forgets the last look-up: pages have changed.
  void forget_last() noexcept {
    if (its_) last_bytes_ = 0;
  }

  // Returns the shift of a page whose size is asked for by page_sizes (0: it is not). A size below the usual one does not
  // occur. pre: exists().
  [[nodiscard]] std::uint32_t shift_of(std::uint32_t asked) const noexcept {
    return std::max(asked, its_->usual_shift);
  }
  // Looks up the page of 2^shift bytes of an address. Returns whether the buffer had it; it has it afterwards. pre:
  // exists().
  bool look_up(std::uint64_t address, std::uint32_t shift) noexcept {
    state& s = *its_;
    const std::uint64_t page = address >> shift;
    last_begin_ = page << shift;
    last_bytes_ = std::uint64_t{1} << shift;
    const std::size_t size = s.size_of(shift);
    set_associative_cache& entries = s.entries[s.entries_of[size]];
    const std::uint64_t key = page | static_cast<std::uint64_t>(size) << 58;
    const bool is_there = entries.hit(key);
    ++(is_there ? s.hits : s.misses)[size];
    if (!is_there) entries.fill_by_use(key, {});
    return is_there;
  }

  [[nodiscard]] time_ps walk_time() const noexcept { return its_->walk_time; }
  [[nodiscard]] time_ps hit_time() const noexcept { return its_->hit_time; }
  [[nodiscard]] std::uint32_t walk_instructions() const noexcept { return its_->walk_instructions; }
  // Counts a walk that a miss of this first level has led to, and its reads of the page table.
  void count_walk(time_ps took, std::uint64_t reads) noexcept {
    ++its_->walks;
    its_->walk_reads += reads;
    its_->walked += took;
  }

  // with_walks: the number of walks and their reads, too. pre: exists().
  [[nodiscard]] part_counters counters(std::string name, bool with_walks = false) const {
    const state& s = *its_;
    const auto sum = [](const std::array<std::uint64_t, sizes>& of) { return of[0] + of[1] + of[2]; };
    part_counters made{std::move(name), "tlb", {{"hits", sum(s.hits)}, {"misses", sum(s.misses)}}};
    static constexpr const char* names[sizes][2] = {
        {"", ""}, {"hits_2m", "misses_2m"}, {"hits_1g", "misses_1g"}};  // of the first size: the rest of the sums
    for (std::size_t size = 1; size < sizes; ++size)
      if (s.hits[size] + s.misses[size] > 0) {
        made.values.emplace_back(names[size][0], s.hits[size]);
        made.values.emplace_back(names[size][1], s.misses[size]);
      }
    if (s.is_second) return made;
    if (with_walks) {
      made.values.emplace_back("walks", s.walks);
      made.values.emplace_back("walk_reads", s.walk_reads);
    }
    made.values.emplace_back("walk_ps", s.walked);
    if (s.walk_instructions > 0) made.values.emplace_back("walk_instructions", s.walks * s.walk_instructions);
    return made;
  }
  void reset_counters() noexcept {
    if (!its_) return;
    its_->hits = its_->misses = {};
    its_->walks = its_->walk_reads = its_->walked = 0;
  }

  // Append the pages to words, and take them from such words.
  void save(state_words& to) const {
    if (!its_) return;
    to.push_back(last_begin_);
    to.push_back(last_bytes_);
    for (const set_associative_cache& each : its_->entries) each.save(to);
  }
  void load(state_reader& from) {
    if (!its_) return;
    last_begin_ = from.next();
    last_bytes_ = from.next();
    for (set_associative_cache& each : its_->entries) (void)each.load(from);
  }

 private:
  static constexpr std::size_t sizes = 3;  // that of the first entries, 2 MiB, 1 GiB
  struct state {
    state(const tlb_spec& of, std::uint64_t usual_page_bytes)
        : shift{static_cast<std::uint32_t>(std::countr_zero(of.page_bytes))},
          usual_shift{static_cast<std::uint32_t>(std::countr_zero(usual_page_bytes))},
          walk_time{of.walk_time},
          walk_instructions{of.walk_instructions},
          hit_time{of.hit_time},
          is_second{of.hit_time > 0} {
      entries.emplace_back(of.sets, of.ways, 64);
      for (const auto& [size, more] : {std::pair{1, of.of_2m}, std::pair{2, of.of_1g}}) {
        if (more.sets == 0) continue;
        entries_of[static_cast<std::size_t>(size)] = entries.size();
        entries.emplace_back(more.sets, more.ways, 64);
      }
    }
    [[nodiscard]] std::size_t size_of(std::uint32_t page_shift) const noexcept {
      return page_shift == shift ? 0 : page_shift == 21 ? 1 : 2;
    }
    std::uint32_t shift;
    std::uint32_t usual_shift;
    time_ps walk_time;
    std::uint32_t walk_instructions;
    time_ps hit_time;
    bool is_second;
    std::vector<set_associative_cache> entries;   // a line is a page, and its size
    std::array<std::size_t, sizes> entries_of{};  // by size: the element of `entries`
    std::array<std::uint64_t, sizes> hits{};
    std::array<std::uint64_t, sizes> misses{};
    std::uint64_t walks = 0;
    std::uint64_t walk_reads = 0;
    time_ps walked = 0;
  };

  std::uint64_t last_begin_ = 0;  // the page of the last look-up
  std::uint64_t last_bytes_ = ~std::uint64_t{0};
  std::shared_ptr<state> its_;  // of all hardware threads of a core
};

}  // namespace situ::model
