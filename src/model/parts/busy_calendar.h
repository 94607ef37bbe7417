// The times at which a part that serves one request at a time (a bus, a link, a memory's channel) is busy.
//
// A request takes the first gap that is long enough, so requests may come a little out of time order: a core that the
// executor runs ahead of another core reserves the future, and the other core still finds the gap before it.
//
// Worked example: take(100, 30) -> 100; take(110, 30) -> 130, the request waits 20; take(300, 10) -> 300; take(150, 40)
// -> 160, in the gap 160..300.
//
// Reservations may lie far ahead: the write-back of a range reserves the links on its way for hundreds of lines in one
// call, and requests of other cores for the time before find the gaps between them. So a calendar keeps many intervals.
//
// Invariants
//   1. Intervals are disjoint and sorted. They do not touch, except that empty ones, which stand for nothing, may be the
//      oldest.
//   2. free_from() is the end of the last.
//   3. They lie in an array that doubles when it is full. With room for most_kept() it becomes a ring instead, in which
//      each further interval takes the place of the oldest, which is forgotten. Of the time before the oldest interval
//      that is left nothing is known then: a request for it begins after that interval, and counts in too_late().
//
// Not thread-safe: a modelled machine runs in one thread. cost: a few comparisons for a request that begins behind all
// others; for an earlier one a search in logarithmic time, the gaps that are too short, and a move of the intervals that
// begin later. Memory: 16 bytes an interval, 128 KiB at most.
#pragma once

#include "model/parts/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace situ::model {

// The busy times alone, for parts that count their requests themselves.
class busy_times {
 public:
  // Reserves the resource for `length`, at `from` or at the first later time at which it is free for that long. Returns
  // when the reservation begins. pre: length > 0.
  time_ps take(time_ps from, time_ps length) noexcept {
    if (from >= last_->end) [[likely]] {
      append(from, length);
      return from;
    }
    const time_ps begin = take_gap(from, length);
    waited_ += begin - from;
    return begin;
  }

  // Lengthens the reservation that ends at `until` by up to `more`, as far as no later reservation is in the way.
  // Returns the time added. pre: until > 0.
  time_ps lengthen(time_ps until, time_ps more) noexcept {
    const std::size_t found = first_after(until - 1);
    if (found == count() || at(found).end != until) return 0;  // joined with the one that follows: no room
    const time_ps limit = found + 1 == count() ? no_time : at(found + 1).begin - 1;
    const time_ps end = std::min(limit, until + more);
    at(found).end = end;
    return end - until;
  }

  // Returns the end of the last reservation.
  [[nodiscard]] time_ps free_from() const noexcept { return last_->end; }
  // Sums since the beginning or reset(), which sets them to zero and keeps the reservations: how long requests have
  // waited, and how many came for a time of which something was forgotten.
  [[nodiscard]] time_ps waited() const noexcept { return waited_; }
  [[nodiscard]] std::uint64_t too_late() const noexcept { return too_late_; }
  void reset() noexcept { waited_ = too_late_ = 0; }

  // Returns the number of intervals that are kept at most.
  [[nodiscard]] static constexpr std::size_t most_kept() noexcept { return room_at_most; }

 private:
  struct interval {
    time_ps begin;
    time_ps end;
  };

  [[nodiscard]] std::size_t last_index() const noexcept { return static_cast<std::size_t>(last_ - room_.get()); }
  // Returns the number of intervals.
  [[nodiscard]] std::size_t count() const noexcept { return is_ring_ ? room_at_most : last_index() + 1; }
  // Returns the i-th oldest interval.
  [[nodiscard]] interval& at(std::size_t i) const noexcept {
    return room_[is_ring_ ? (last_index() + 1 + i) % room_at_most : i];
  }

  // pre: begin >= free_from().
  void append(time_ps begin, time_ps length) noexcept {
    interval* last = last_;
    if (last->end == begin) {
      last->end = begin + length;
      return;
    }
    if (++last == limit_) [[unlikely]]
      last = make_room();
    *last = {begin, begin + length};
    last_ = last;
  }

  [[gnu::noinline]] time_ps take_gap(time_ps from, time_ps length) noexcept {
    if (from >= last_->begin) {  // behind the last, as most are
      const time_ps begin = last_->end;
      last_->end += length;
      return begin;
    }
    if (is_ring_ && from < at(0).begin) {
      ++too_late_;
      from = at(0).begin;
    }
    time_ps begin = from;
    std::size_t next = first_after(from);
    const std::size_t end = count();
    for (; next < end && at(next).begin < begin + length; ++next) begin = std::max(begin, at(next).end);
    if (next == end) {
      append(begin, length);
    } else {
      insert(next, begin, length);
    }
    return begin;
  }

  // Returns the number of the first interval that ends after `time`; count() if none does. It is most often among the
  // last, so the search begins there.
  [[nodiscard]] std::size_t first_after(time_ps time) const noexcept {
    std::size_t high = count();  // intervals from here on end after `time`
    std::size_t step = 1;
    for (; step <= high && at(high - step).end > time; step *= 2) high -= step;
    std::size_t low = step <= high ? high - step + 1 : 0;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (at(middle).end > time) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return high;
  }

  // Inserts before an interval that begins later; joins the new interval with neighbours that it touches. pre: next > 0,
  // as nothing begins before the first interval of an array or of a ring.
  void insert(std::size_t next, time_ps begin, time_ps length) noexcept {
    const bool joins_next = at(next).begin == begin + length;
    const bool joins_last = at(next - 1).end == begin;
    if (joins_next && joins_last) {
      at(next).begin = at(next - 1).begin;
      remove(next - 1);
    } else if (joins_next) {
      at(next).begin = begin;
    } else if (joins_last) {
      at(next - 1).end = begin + length;
    } else {
      insert_alone(next, {begin, begin + length});
    }
  }

  void insert_alone(std::size_t next, interval one) noexcept {
    interval* const behind = last_ + 1 == limit_ ? make_room() : last_ + 1;
    if (is_ring_) --next;  // the oldest is forgotten, so the others' numbers are smaller by one
    last_ = behind;
    for (std::size_t i = count() - 1; i > next; --i) at(i) = at(i - 1);
    at(next) = one;
  }

  void remove(std::size_t gone) noexcept {
    for (std::size_t i = gone; i + 1 < count(); ++i) at(i) = at(i + 1);
    const time_ps known = at(0).begin;
    last_ = last_ == room_.get() ? limit_ - 1 : last_ - 1;
    if (is_ring_) at(0) = {known, known};  // in place of the last: the ring is full
  }

  // Returns the place behind the last interval, if that is the end of the array: the array doubles or becomes a ring.
  [[gnu::noinline]] interval* make_room() noexcept {
    const std::size_t had = last_index() + 1;
    if (had == room_at_most) {
      is_ring_ = true;
      return room_.get();
    }
    std::unique_ptr<interval[]> larger = std::make_unique<interval[]>(2 * had);
    std::copy(room_.get(), room_.get() + had, larger.get());
    room_ = std::move(larger);
    limit_ = room_.get() + 2 * had;
    last_ = room_.get() + had - 1;
    return last_ + 1;
  }

  static constexpr std::size_t room_at_first = 16;
  static constexpr std::size_t room_at_most = 8192;
  std::unique_ptr<interval[]> room_ = std::make_unique<interval[]>(room_at_first);
  interval* last_ = room_.get();
  interval* limit_ = room_.get() + room_at_first;
  bool is_ring_ = false;
  time_ps waited_ = 0;
  std::uint64_t too_late_ = 0;
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
  // Sums since the beginning or reset(): time reserved, number of requests, time that requests waited, number of
  // requests for a time that was forgotten.
  [[nodiscard]] time_ps busy() const noexcept { return busy_; }
  [[nodiscard]] std::uint64_t uses() const noexcept { return uses_; }
  [[nodiscard]] time_ps waited() const noexcept { return times_.waited(); }
  [[nodiscard]] std::uint64_t too_late() const noexcept { return times_.too_late(); }
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
