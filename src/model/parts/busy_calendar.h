// The times at which a part that serves one request at a time (a bus, a link, a memory's channel) is busy.
//
// A request takes the first gap that is long enough, so requests may come a little out of time order: a core that the
// executor runs ahead of another core reserves the future, and the other core still finds the gap before it.
//
// Worked example: take(100, 30) -> 100; take(110, 30) -> 130, the request waits 20; take(300, 10) -> 300; take(150, 40)
// -> 160, in the gap 160..300.
//
// Invariants
//   1. Intervals are disjoint, do not touch, and are sorted. The ring holds `kept` of them, from the oldest, behind
//      newest_ in the ring, to the newest. Unused intervals are empty, at 0.
//   2. free_from() is the end of the newest.
//   3. When one more interval is needed, the oldest is forgotten with the gap before it: a request for an earlier time
//      begins after the forgotten interval.
//
// Not thread-safe: a modelled machine runs in one thread. cost: a few comparisons; no allocation.
#pragma once

#include "model/parts/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace situ::model {

// The busy times alone, for parts that count their requests themselves.
class busy_times {
 public:
  // Reserves the resource for `length`, at `from` or at the first later time at which it is free for that long. Returns
  // when the reservation begins. pre: length > 0.
  time_ps take(time_ps from, time_ps length) noexcept {
    if (from >= free_from_) [[likely]] {
      append(from, length);
      return from;
    }
    const time_ps begin = take_gap(std::max(from, forgotten_), length);
    waited_ += begin - from;
    return begin;
  }

  // Lengthens the reservation that ends at `until` by up to `more`, as far as no later reservation is in the way.
  // Returns the time added.
  time_ps lengthen(time_ps until, time_ps more) noexcept {
    for (std::size_t i = kept; i-- > 0;) {
      if (at(i).end != until) continue;  // joined with the reservation that follows: no room
      const time_ps limit = i + 1 < kept ? at(i + 1).begin - 1 : no_time;
      const time_ps end = std::min(limit, at(i).end + more);
      const time_ps added = end - at(i).end;
      at(i).end = end;
      if (i + 1 == kept) free_from_ = end;
      return added;
    }
    return 0;
  }

  // Returns the end of the last reservation.
  [[nodiscard]] time_ps free_from() const noexcept { return free_from_; }
  // Returns how long requests have waited since the beginning or reset(), which sets this sum to zero and keeps the
  // reservations.
  [[nodiscard]] time_ps waited() const noexcept { return waited_; }
  void reset() noexcept { waited_ = 0; }

 private:
  static constexpr std::size_t kept = 16;
  struct interval {
    time_ps begin;
    time_ps end;
  };

  // Returns the i-th oldest interval.
  [[nodiscard]] interval& at(std::size_t i) noexcept { return ring_[(newest_ + 1 + i) % kept]; }

  // pre: begin >= free_from_.
  void append(time_ps begin, time_ps length) noexcept {
    const bool joins = free_from_ == begin;
    free_from_ = begin + length;
    if (joins) {
      ring_[newest_].end = free_from_;
      return;
    }
    newest_ = (newest_ + 1) % kept;  // replaces the oldest
    forgotten_ = std::max(forgotten_, ring_[newest_].end);
    ring_[newest_] = {begin, free_from_};
  }

  [[gnu::noinline]] time_ps take_gap(time_ps from, time_ps length) noexcept {
    std::size_t i = kept;
    while (i > 0 && at(i - 1).end > from) --i;  // the first interval that ends after `from`
    time_ps begin = from;
    for (; i < kept && at(i).begin < begin + length; ++i) begin = std::max(begin, at(i).end);
    if (i == kept) {
      append(begin, length);
    } else {
      insert(i, begin, length);
    }
    return begin;
  }

  // Inserts before interval i, which begins later; joins the new interval with neighbours that it touches.
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
    } else if (i == 0) {  // the new interval itself is the oldest, and is forgotten
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
  // Does the same as busy_times::take(); a request of length 0 begins at once.
  time_ps take(time_ps from, time_ps length) noexcept {
    ++uses_;
    if (length == 0) return from;
    busy_ += length;
    return times_.take(from, length);
  }
  // Lengthens the reservation of a packet that stands.
  void lengthen(time_ps until, time_ps more) noexcept { busy_ += times_.lengthen(until, more); }

  [[nodiscard]] time_ps free_from() const noexcept { return times_.free_from(); }
  // Sums since the beginning or reset(): time reserved, number of requests, time that requests waited.
  [[nodiscard]] time_ps busy() const noexcept { return busy_; }
  [[nodiscard]] std::uint64_t uses() const noexcept { return uses_; }
  [[nodiscard]] time_ps waited() const noexcept { return times_.waited(); }
  // Sets the sums to zero; reservations stay.
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
