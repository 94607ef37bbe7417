// The width of a core that several hardware threads share: how much of each short interval of time is taken.
//
// An instruction takes a part of an interval (its cost on an idle core). A thread takes what others have left of the
// interval, and its fair share, the interval's length by the number of active threads, in any case: the executor runs
// one thread ahead of the other, so the first one may have taken all. Time that two threads have taken is a debt of the
// following intervals, which the thread that is ahead reaches next. So a thread that waits for memory leaves the width
// to the others, and two that never wait have half of it each. A thread that is alone takes what it takes without this
// part, to the picosecond.
//
// Worked example, intervals of 64 ns, two threads that compute. A takes 200 ns from 0 on: intervals 0 to 2, and 8 ns of
// the next; it ends at 200. B takes 100 from 0 on: 32 in each of the intervals 0 to 2, and the last 4 at 192, till 196.
// Its 100 are debts: interval 3 is full with 56 of them, interval 4 has 44. A's next 10 ns, at 200, come out of its fair
// share of interval 3, and end at 210; interval 4 has 54. If B ends there, A takes the rest of its fair share no more:
// its next 20 ns begin at 256, where 10 are left, and so end in interval 5, at 330.
//
// Not thread-safe. cost: a step for each interval that a call takes from, and for each full one that a debt passes.
#pragma once

#include "model/parts/time.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ::model {

class issue_slots {
 public:
  static constexpr std::uint64_t cycles = 64;  // an interval's, at least; assumed: short beside a miss of all caches

  // The time that a thread has taken of its latest interval.
  struct taken {
    std::uint64_t interval = 0;
    time_ps time = 0;
  };

  explicit issue_slots(time_ps period) : shift_{static_cast<std::uint32_t>(std::bit_width(cycles * period - 1))} {
    intervals_.resize(kept);
  }

  [[nodiscard]] time_ps length() const noexcept { return time_ps{1} << shift_; }
  // Takes `work` for a thread from `now` on. Returns when the work is done. pre: active > 0.
  [[nodiscard]] time_ps take(taken& of, std::uint32_t active, time_ps now, time_ps work) noexcept {
    while (work > 0) {
      const std::uint64_t at = now >> shift_;
      interval& its = intervals_[at % kept];
      if (its.number > at) return now + work;  // before all that are kept
      if (its.number != at) its = {at, 0};
      if (of.interval != at) of = {at, 0};
      const time_ps end = (at + 1) << shift_;
      const time_ps fair = active > 1 ? length() / active : 0;
      const time_ps own = fair > of.time ? fair - of.time : 0;
      const time_ps part = std::min({work, end - now, std::max(length() - its.used, own)});
      its.used += part;
      of.time += part;
      work -= part;
      pass_debt(at);
      now = work > 0 ? end : now + part;
    }
    return now;
  }

 private:
  // Intervals. Threads of a core are closer to each other, unless one may be ahead by more (--quantum): one that is
  // further behind takes width for nothing.
  static constexpr std::size_t kept = 1024;
  struct interval {
    std::uint64_t number = 0;
    time_ps used = 0;
  };
  void pass_debt(std::uint64_t at) noexcept {
    for (; intervals_[at % kept].used > length(); ++at) {
      interval& full = intervals_[at % kept];
      const time_ps debt = full.used - length();
      full.used = length();
      interval& next = intervals_[(at + 1) % kept];
      if (next.number > at + 1) return;
      if (next.number != at + 1) next = {at + 1, 0};
      next.used += debt;
    }
  }

  std::uint32_t shift_;
  std::vector<interval> intervals_;
};

}  // namespace situ::model
