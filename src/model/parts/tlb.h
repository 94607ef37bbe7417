// A core's translation lookaside buffer: which pages it can translate without a walk through the page table.
//
// It is looked into only where an access's page is not that of the access before: hits and misses count these looks. A
// walk takes a fixed time; what it reads of the table is not modelled. There is one level.
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

  // When an access that the core asks for at `now` has its address translated; `now` where there is no such buffer.
  [[nodiscard]] time_ps translate(std::uint64_t address, time_ps now) noexcept {
    if (!pages_) return now;
    const std::uint64_t page = pages_->line_of(address);
    if (page == last_) return now;
    last_ = page;
    if (pages_->hit(page)) {
      ++hits_;
      return now;
    }
    ++misses_;
    pages_->fill(page, {});
    return now + walk_time_;
  }

  [[nodiscard]] part_counters counters(std::string name) const {
    return {std::move(name), "tlb", {{"hits", hits_}, {"misses", misses_}, {"walk_ps", misses_ * walk_time_}}};
  }
  void reset_counters() noexcept { hits_ = misses_ = 0; }

 private:
  std::optional<set_associative_cache> pages_;  // a line is a page
  time_ps walk_time_ = 0;
  std::uint64_t last_ = set_associative_cache::no_line;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace situ::model
