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
// Not thread-safe. cost: linear in the misses that are not over, a comparison where none is.
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
  explicit miss_registers(std::uint32_t count) : count_{count} {}

  // When a miss that comes at `now` gets a register.
  [[nodiscard]] time_ps begin_of(time_ps now) const noexcept {
    if (count_ == 0 || now >= last_end_ || under_way_.size() < count_) return now;
    while (taken_at(now) >= count_) now = next_end(now);
    return now;
  }
  // Whether one is free at `now`.
  [[nodiscard]] bool has_free(time_ps now) const noexcept { return begin_of(now) == now; }

  // The line is on its way from `begin` to `end`. `settled`: nothing will be asked for an earlier time.
  void take(std::uint64_t line, time_ps begin, time_ps end, time_ps settled) {
    if (count_ == 0) return;
    if (under_way_.size() >= count_) std::erase_if(under_way_, [&](const miss& m) { return m.end <= settled; });
    under_way_.push_back({line, begin, end});
    last_end_ = std::max(last_end_, end);
  }

  // When a line that the tags have is there: `now`, or later where it is on its way.
  [[nodiscard]] time_ps arrival(std::uint64_t line, time_ps now) const noexcept {
    if (now >= last_end_) return now;
    for (const miss& m : under_way_)
      if (m.line == line && m.end > now) now = m.end;
    return now;
  }

 private:
  struct miss {
    std::uint64_t line;
    time_ps begin;
    time_ps end;
  };
  [[nodiscard]] std::size_t taken_at(time_ps now) const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(under_way_, [&](const miss& m) { return m.begin <= now && now < m.end; }));
  }
  // pre: a miss is under way at `now`.
  [[nodiscard]] time_ps next_end(time_ps now) const noexcept {
    time_ps end = no_time;
    for (const miss& m : under_way_)
      if (m.begin <= now && now < m.end) end = std::min(end, m.end);
    return end;
  }

  std::uint32_t count_;
  std::vector<miss> under_way_;  // and some that are over
  time_ps last_end_ = 0;
};

}  // namespace situ::model
