// When a part that serves one request at a time (a bus, a link, a memory's channel) is busy.
//
// A request takes the first gap that is long enough, so requests may come a little out of time order: a core that the
// executor runs ahead of another reserves the future, and the other still finds the gap before it.
//
// Worked example: take(100, 30) -> 100; take(110, 30) -> 130, it waits 20; take(300, 10) -> 300; take(150, 40) -> 160,
// in the gap 160..300.
//
// Invariants
//   1. Intervals are disjoint, do not touch, and are sorted; `kept` of them are known, from the oldest, behind newest_
//   in
//      the ring, to the newest. Those that nobody took are empty, at 0.
//   2. free_from() is the end of the newest.
//   3. When one more would be needed, the oldest is forgotten with the gap before it: whoever comes as late as that
//      begins behind it.
//
// Not thread-safe: a modelled machine runs in one thread. cost: a few comparisons; no allocation.
#pragma once

#include "model/parts/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace situ::model {

// The times alone: for who counts requests in another way.
class busy_times {
 public:
  // Takes `length` of the resource's time, from `from` on or the first moment after it that is free for so long.
  // Returns when it begins. pre: length > 0.
  time_ps take(time_ps from, time_ps length) noexcept {
    if (from >= free_from_) [[likely]] {
      append(from, length);
      return from;
    }
    const time_ps begin = take_gap(std::max(from, forgotten_), length);
    waited_ += begin - from;
    return begin;
  }

  // Lengthens what was taken until `until` by `more`, as far as nothing else is in the way. Returns by how much.
  time_ps lengthen(time_ps until, time_ps more) noexcept {
    for (std::size_t i = kept; i-- > 0;) {
      if (at(i).end != until) continue;  // joined with what follows at once: that is in the way
      const time_ps limit = i + 1 < kept ? at(i + 1).begin - 1 : no_time;
      const time_ps end = std::min(limit, at(i).end + more);
      const time_ps added = end - at(i).end;
      at(i).end = end;
      if (i + 1 == kept) free_from_ = end;
      return added;
    }
    return 0;
  }

  // The end of the last thing known.
  [[nodiscard]] time_ps free_from() const noexcept { return free_from_; }
  // How long requests waited, since the beginning or reset(): that sets it to zero; what is reserved stays.
  [[nodiscard]] time_ps waited() const noexcept { return waited_; }
  void reset() noexcept { waited_ = 0; }

 private:
  static constexpr std::size_t kept = 16;
  struct interval {
    time_ps begin;
    time_ps end;
  };

  // From the oldest on.
  [[nodiscard]] interval& at(std::size_t i) noexcept { return ring_[(newest_ + 1 + i) % kept]; }

  // pre: begin >= free_from_.
  void append(time_ps begin, time_ps length) noexcept {
    const bool joins = free_from_ == begin;
    free_from_ = begin + length;
    if (joins) {
      ring_[newest_].end = free_from_;
      return;
    }
    newest_ = (newest_ + 1) % kept;  // in the place of the oldest
    forgotten_ = std::max(forgotten_, ring_[newest_].end);
    ring_[newest_] = {begin, free_from_};
  }

  [[gnu::noinline]] time_ps take_gap(time_ps from, time_ps length) noexcept {
    std::size_t i = kept;
    while (i > 0 && at(i - 1).end > from) --i;  // the first that ends after `from`
    time_ps begin = from;
    for (; i < kept && at(i).begin < begin + length; ++i) begin = std::max(begin, at(i).end);
    if (i == kept) {
      append(begin, length);
    } else {
      insert(i, begin, length);
    }
    return begin;
  }

  // Before interval i, which begins behind it; joins neighbours that it touches.
  void insert(std::size_t i, time_ps begin, time_ps length) noexcept {
    const bool joins_next = at(i).begin == begin + length;
    const bool joins_last = i > 0 && at(i - 1).end == begin;
    if (joins_next && joins_last) {
      at(i).begin = at(i - 1).begin;
      for (std::size_t j = i - 1; j > 0; --j) at(j) = at(j - 1);
      at(0) = {0, 0};
    } else if (joins_next) {
      at(i).begin = begin;
    } else if (joins_last) {
      at(i - 1).end = begin + length;
    } else if (i == 0) {  // it would be the one to be forgotten
      forgotten_ = begin + length;
    } else {
      forgotten_ = std::max(forgotten_, at(0).end);
      for (std::size_t j = 0; j + 1 < i; ++j) at(j) = at(j + 1);
      at(i - 1) = {begin, begin + length};
    }
  }

  std::array<interval, kept> ring_{};
  std::size_t newest_ = 0;
  time_ps free_from_ = 0;
  time_ps forgotten_ = 0;
  time_ps waited_ = 0;
};

// The busy times of one resource, with its counters.
class busy_calendar {
 public:
  // As busy_times; what takes no time begins at once.
  time_ps take(time_ps from, time_ps length) noexcept {
    ++uses_;
    if (length == 0) return from;
    busy_ += length;
    return times_.take(from, length);
  }
  // For a packet that stands.
  void lengthen(time_ps until, time_ps more) noexcept { busy_ += times_.lengthen(until, more); }

  [[nodiscard]] time_ps free_from() const noexcept { return times_.free_from(); }
  // Sums since the beginning or reset(): times taken, requests, and how long these waited.
  [[nodiscard]] time_ps busy() const noexcept { return busy_; }
  [[nodiscard]] std::uint64_t uses() const noexcept { return uses_; }
  [[nodiscard]] time_ps waited() const noexcept { return times_.waited(); }
  // Sets the sums to zero; what is reserved stays.
  void reset() noexcept {
    busy_ = uses_ = 0;
    times_.reset();
  }

 private:
  busy_times times_;
  time_ps busy_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace situ::model
