// The misses that a cache has in flight: its miss status holding registers (Kroft, ISCA 1981), also called line fill
// buffers. A miss takes a register from its request until its line arrives; if all registers are taken, the miss waits.
//
// The tags have a line from its request on, so an access to a line in flight hits; arrival() returns when the bytes
// arrive. Requests may come out of time order (a load whose address comes from another load is requested for a later
// time), so registers are intervals of time, not flags.
//
// Worked example (two registers, misses of 100): misses at 0 and at 10 begin at once and complete at 100 and 110; a
// third miss at 20 begins at 100. A miss that is requested for 300 occupies neither register before 300.
//
// Not thread-safe. cost: a comparison if no miss is in flight; otherwise two binary searches, and a step for each miss
// that ends or begins until a register is free. arrival() is linear in the misses that are not over.
//
// Cores share the registers of a cache that several of them use (shared_miss_registers); a core may take only a part of
// them, as many as the queue between it and that cache has entries.
#pragma once

#include "model/parts/small_hash.h"
#include "model/parts/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace situ::model {

class miss_registers {
 public:
  // count: number of registers; 0 means that misses have no limit, and that none are recorded.
  explicit miss_registers(std::uint32_t count) : count_{count}, forget_at_{count} {}

  [[nodiscard]] bool exist() const noexcept { return count_ != 0; }
  // Returns when a miss that occurs at `now` gets a register.
  [[nodiscard]] time_ps begin_of(time_ps now) const noexcept {
    if (count_ == 0 || now >= last_end_ || ends_.size() < count_) return now;
    return first_free(now);
  }
  // Returns whether a register is free at `now`.
  [[nodiscard]] bool has_free(time_ps now) const noexcept {
    if (count_ == 0 || now >= last_end_ || ends_.size() < count_) return true;
    const auto ended = std::ranges::upper_bound(ends_, now) - ends_.begin();
    const auto begun = std::ranges::upper_bound(begins_, now) - begins_.begin();
    return begun - ended < static_cast<std::ptrdiff_t>(count_);
  }

  // Records that the line is in flight from `begin` to `end`. `settled`: no later request is for an earlier time.
  void take(std::uint64_t line, time_ps begin, time_ps end, time_ps settled) {
    if (count_ != 0) keep(line, begin, end, settled);
  }

  // Returns when a line that the tags have arrives: `now`, or later if the line is in flight.
  [[nodiscard]] time_ps arrival(std::uint64_t line, time_ps now) const noexcept {
    if (now >= last_end_ || lines_like(line) == 0) return now;
    for (const arriving& each : lines_)
      if (each.line == line && each.end > now) now = each.end;
    return now;
  }

 private:
  struct arriving {
    std::uint64_t line;
    time_ps end;
  };
  [[gnu::noinline]] time_ps first_free(time_ps now) const noexcept {
    auto end = std::ranges::upper_bound(ends_, now);
    auto begin = std::ranges::upper_bound(begins_, now);
    // The number of taken registers is that of the misses that have begun, less those that have ended.
    while ((begin - begins_.begin()) - (end - ends_.begin()) >= static_cast<std::ptrdiff_t>(count_)) {
      now = *end;
      while (end != ends_.end() && *end == now) ++end;
      while (begin != begins_.end() && *begin <= now) ++begin;
    }
    return now;
  }
  [[gnu::noinline]] void keep(std::uint64_t line, time_ps begin, time_ps end, time_ps settled) {
    if (lines_.size() >= forget_at_) forget(settled);
    lines_.push_back({line, end});
    ++lines_like(line);
    insert(ends_, end);
    insert(begins_, begin);
    last_end_ = std::max(last_end_, end);
  }
  // Inserts from the back, since most times come in order.
  static void insert(std::vector<time_ps>& sorted, time_ps at) {
    auto place = sorted.end();
    while (place != sorted.begin() && *(place - 1) > at) --place;
    sorted.insert(place, at);
  }
  // Removes the misses that ended by `settled`, and as many of the earliest begins. keep() calls it once per `count_`
  // new misses.
  void forget(time_ps settled) {
    std::erase_if(lines_, [&](const arriving& each) {
      if (each.end > settled) return false;
      --lines_like(each.line);
      return true;
    });
    const auto over = std::ranges::upper_bound(ends_, settled) - ends_.begin();
    ends_.erase(ends_.begin(), ends_.begin() + over);
    begins_.erase(begins_.begin(), begins_.begin() + over);
    forget_at_ = lines_.size() + count_;
  }

  [[nodiscard]] std::uint32_t& lines_like(std::uint64_t line) noexcept { return like_[small_hash(line)]; }
  [[nodiscard]] std::uint32_t lines_like(std::uint64_t line) const noexcept { return like_[small_hash(line)]; }

  std::uint32_t count_;
  std::size_t forget_at_;                  // size of lines_ at which keep() calls forget()
  std::vector<arriving> lines_;            // misses in flight, and some that are over
  std::array<std::uint32_t, 256> like_{};  // how many of them have this hash
  std::vector<time_ps> ends_;              // ends of the same misses, sorted
  std::vector<time_ps> begins_;
  time_ps last_end_ = 0;
};

// The registers of a cache: all of them, and those that each core may take at a time.
//
// Worked example (three registers, two of a core; misses of 100): two misses of core 0 at 0 begin at once, and its third
// at 100; a miss of core 1 at 0 begins at once, its second at 100, when a register of any core is free.
class shared_miss_registers {
 public:
  // Each limit may be 0: there is none.
  shared_miss_registers(std::uint32_t in_all, std::uint32_t of_a_core, std::size_t cores)
      : all_{in_all > 0 ? in_all : limit_of_all(of_a_core, cores)},
        of_core_(of_a_core > 0 ? cores : 0, miss_registers{of_a_core}) {}

  // Returns whether the cache has a limit, and its misses in flight are recorded.
  [[nodiscard]] bool exist() const noexcept { return all_.exist(); }
  [[nodiscard]] time_ps begin_of(std::size_t core, time_ps now) const noexcept {
    now = all_.begin_of(now);
    if (of_core_.empty()) return now;
    for (time_ps both = of_core_[core].begin_of(now); both != now; both = of_core_[core].begin_of(now))
      now = all_.begin_of(both);
    return now;
  }
  [[nodiscard]] bool has_free(std::size_t core, time_ps now) const noexcept {
    return all_.has_free(now) && (of_core_.empty() || of_core_[core].has_free(now));
  }
  void take(std::size_t core, std::uint64_t line, time_ps begin, time_ps end, time_ps settled) {
    all_.take(line, begin, end, settled);
    if (!of_core_.empty()) of_core_[core].take(line, begin, end, settled);
  }
  [[nodiscard]] time_ps arrival(std::uint64_t line, time_ps now) const noexcept { return all_.arrival(line, now); }

 private:
  // Without a limit of its own the cache has as many registers as its cores may take: only the lines are recorded.
  [[nodiscard]] static std::uint32_t limit_of_all(std::uint64_t of_a_core, std::size_t cores) noexcept {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(of_a_core * cores, std::numeric_limits<std::uint32_t>::max()));
  }
  miss_registers all_;
  std::vector<miss_registers> of_core_;  // by core; empty: no limit of a core
};

}  // namespace situ::model
