// A core's translation lookaside buffer: the pages that the core can translate without a walk through the page table.
//
// An access looks up the buffer only if its page differs from that of the access before: hits and misses count these
// lookups. A walk takes a fixed time; the walk's reads of the table are not modelled. The buffer has one level.
//
// Worked example, 2 entries of 2 ways, a walk of 30 ns: pages 1 1 2 1 3 2 are looked up 5 times, for 1 (30), 2 (30), 1,
// 3 (30, in place of 2), 2 (30, in place of 1).
#pragma once

#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/set_associative_cache.h"
#include "model/parts/time.h"

#include <cstdint>
#include <optional>
#include <string>

namespace situ::model {

class tlb {
 public:
  tlb() = default;
  explicit tlb(const tlb_spec& of) : walk_time_{of.walk_time} {
    if (of.sets > 0) pages_.emplace(of.sets, of.ways, of.page_bytes);
  }

  [[nodiscard]] bool exists() const noexcept { return pages_.has_value(); }

  // Returns when the address of an access that the core makes at `now` is translated; `now` if there is no such buffer.
  [[nodiscard]] time_ps translate(std::uint64_t address, time_ps now) noexcept {
    if (!pages_) return now;
    const std::uint64_t page = pages_->line_of(address);
    return page == last_ ? now : look_up(page, now);
  }

  [[nodiscard]] part_counters counters(std::string name) const {
    return {std::move(name), "tlb", {{"hits", hits_}, {"misses", misses_}, {"walk_ps", misses_ * walk_time_}}};
  }
  void reset_counters() noexcept { hits_ = misses_ = 0; }

 private:
  [[gnu::noinline]] time_ps look_up(std::uint64_t page, time_ps now) noexcept {
    last_ = page;
    if (pages_->hit(page)) {
      ++hits_;
      return now;
    }
    ++misses_;
    pages_->fill_by_use(page, {});
    return now + walk_time_;
  }

  std::optional<set_associative_cache> pages_;  // a line is a page
  time_ps walk_time_ = 0;
  std::uint64_t last_ = set_associative_cache::no_line;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace situ::model
