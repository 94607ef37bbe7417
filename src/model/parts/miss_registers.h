// The misses that a cache has under way at a time: its miss status holding registers (Kroft, ISCA 1981), also called
// line fill buffers. A miss takes one from its request until its line is there; where all are taken it waits.
//
// The tags have a line from its request on, so an access to one that is still on its way hits; arrival() says when the
// bytes are there. Requests may come out of the order of time (a load whose address another load has to bring first is
// asked for a later time), so registers are intervals of time, not flags.
//
// Worked example (two registers, misses of 100): one at 0 and one at 10 begin at once and are there at 100 and 110; a
// third at 20 begins at 100. One that is asked for 300 keeps none of the two till then.
//
// Not thread-safe. cost: a comparison where no miss is under way, two binary searches where one is, and a step for each
// that ends or begins until one is free; arrival() is linear in the misses that are not over.
#pragma once

#include "model/parts/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ::model {

class miss_registers {
 public:
  // 0: misses have no limit, and nothing is remembered of them.
  explicit miss_registers(std::uint32_t count) : count_{count}, forget_at_{count} {}

  // When a miss that comes at `now` gets a register.
  [[nodiscard]] time_ps begin_of(time_ps now) const noexcept {
    if (count_ == 0 || now >= last_end_ || ends_.size() < count_) return now;
    return first_free(now);
  }
  // Whether one is free at `now`.
  [[nodiscard]] bool has_free(time_ps now) const noexcept {
    if (count_ == 0 || now >= last_end_ || ends_.size() < count_) return true;
    const auto ended = std::ranges::upper_bound(ends_, now) - ends_.begin();
    const auto begun = std::ranges::upper_bound(begins_, now) - begins_.begin();
    return begun - ended < static_cast<std::ptrdiff_t>(count_);
  }

  // The line is on its way from `begin` to `end`. `settled`: nothing will be asked for an earlier time.
  void take(std::uint64_t line, time_ps begin, time_ps end, time_ps settled) {
    if (count_ != 0) keep(line, begin, end, settled);
  }

  // When a line that the tags have is there: `now`, or later where it is on its way.
  [[nodiscard]] time_ps arrival(std::uint64_t line, time_ps now) const noexcept {
    if (now >= last_end_) return now;
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
    // Taken are as many as have begun, less those that have ended.
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
    insert(ends_, end);
    insert(begins_, begin);
    last_end_ = std::max(last_end_, end);
  }
  // Most come in the order of time.
  static void insert(std::vector<time_ps>& sorted, time_ps at) {
    auto place = sorted.end();
    while (place != sorted.begin() && *(place - 1) > at) --place;
    sorted.insert(place, at);
  }
  // Misses that are over, whose begins are among the earliest. Seldom: a count of new ones from time to time.
  void forget(time_ps settled) {
    std::erase_if(lines_, [&](const arriving& each) { return each.end <= settled; });
    const auto over = std::ranges::upper_bound(ends_, settled) - ends_.begin();
    ends_.erase(ends_.begin(), ends_.begin() + over);
    begins_.erase(begins_.begin(), begins_.begin() + over);
    forget_at_ = lines_.size() + count_;
  }

  std::uint32_t count_;
  std::size_t forget_at_;        // so many misses
  std::vector<arriving> lines_;  // under way, and some that are over
  std::vector<time_ps> ends_;    // of the same, sorted
  std::vector<time_ps> begins_;
  time_ps last_end_ = 0;
};

}  // namespace situ::model
