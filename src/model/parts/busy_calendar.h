// When a part that serves one request at a time (a bus, a link, a memory's channel) is busy.
//
// A request takes the first gap that is long enough, so requests may come a little out of time order: a core that the
// executor runs ahead of another reserves the future, and the other still finds the gap before it.
//
// Worked example: take(100, 30) -> 100; take(110, 30) -> 130, it waits 20; take(300, 10) -> 300; take(150, 40) -> 160,
// in the gap 160..300.
//
// Invariants: intervals are disjoint, do not touch, and are sorted; at most `kept` of them. When one more would be
// needed, the oldest is forgotten with the gap before it: whoever comes as late as that begins behind it.
//
// Not thread-safe: a modelled machine runs in one thread. cost: a few comparisons; no allocation.
#pragma once

#include "model/parts/time.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace situ::model {

// The busy times of one resource.
class busy_calendar {
 public:
  // Takes `length` of the resource's time, from `from` on or the first moment after it that is free for so long.
  // Returns when it begins.
  time_ps take(time_ps from, time_ps length) noexcept {
    ++uses_;
    if (length == 0) return from;
    busy_ += length;
    if (from >= free_from_) [[likely]] {
      append(from, length);
      return from;
    }
    const time_ps begin = take_gap(std::max(from, forgotten_), length);
    waited_ += begin - from;
    return begin;
  }

  // Lengthens what was taken until `until` by `more`, as far as nothing else is in the way. For a packet that stands.
  void lengthen(time_ps until, time_ps more) noexcept {
    for (std::size_t i = size_; i-- > 0;) {
      if (at(i).end != until) continue;  // joined with what follows at once: that is in the way
      const time_ps limit = i + 1 < size_ ? at(i + 1).begin - 1 : no_time;
      const time_ps end = std::min(limit, at(i).end + more);
      busy_ += end - at(i).end;
      at(i).end = end;
      if (i + 1 == size_) free_from_ = end;
      return;
    }
  }

  // The end of the last thing known.
  [[nodiscard]] time_ps free_from() const noexcept { return free_from_; }
  // Sums since the beginning or reset(): times taken, requests, and how long these waited.
  [[nodiscard]] time_ps busy() const noexcept { return busy_; }
  [[nodiscard]] std::uint64_t uses() const noexcept { return uses_; }
  [[nodiscard]] time_ps waited() const noexcept { return waited_; }
  // Sets the sums to zero; what is reserved stays.
  void reset() noexcept { busy_ = uses_ = waited_ = 0; }

 private:
  static constexpr std::size_t kept = 16;
  struct interval {
    time_ps begin;
    time_ps end;
  };

  [[nodiscard]] interval& at(std::size_t i) noexcept { return ring_[(head_ + i) % kept]; }
  [[nodiscard]] const interval& at(std::size_t i) const noexcept { return ring_[(head_ + i) % kept]; }

  void forget_oldest() noexcept {
    forgotten_ = at(0).end;
    head_ = (head_ + 1) % kept;
    --size_;
  }

  // pre: begin >= free_from_.
  void append(time_ps begin, time_ps length) noexcept {
    const bool joins = size_ > 0 && free_from_ == begin;
    free_from_ = begin + length;
    if (joins) {
      at(size_ - 1).end = free_from_;
    } else if (size_ == kept) {  // in the place of the oldest
      interval& oldest = ring_[head_];
      forgotten_ = oldest.end;
      oldest = {begin, free_from_};
      head_ = (head_ + 1) % kept;
    } else {
      at(size_++) = {begin, free_from_};
    }
  }

  [[gnu::noinline]] time_ps take_gap(time_ps from, time_ps length) noexcept {
    std::size_t i = size_;
    while (i > 0 && at(i - 1).end > from) --i;  // the first that ends after `from`
    time_ps begin = from;
    for (; i < size_ && at(i).begin < begin + length; ++i) begin = std::max(begin, at(i).end);
    if (i == size_) {
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
      at(i - 1).end = at(i).end;
      for (; i + 1 < size_; ++i) at(i) = at(i + 1);
      --size_;
    } else if (joins_next) {
      at(i).begin = begin;
    } else if (joins_last) {
      at(i - 1).end = begin + length;
    } else {
      if (size_ == kept) {
        if (i == 0) {  // it would be the one to be forgotten
          forgotten_ = begin + length;
          return;
        }
        forget_oldest();
        --i;
      }
      for (std::size_t j = size_++; j > i; --j) at(j) = at(j - 1);
      at(i) = {begin, begin + length};
    }
  }

  std::array<interval, kept> ring_{};
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  time_ps forgotten_ = 0;
  time_ps free_from_ = 0;  // the end of the last interval
  time_ps busy_ = 0;
  std::uint64_t uses_ = 0;
  time_ps waited_ = 0;
};

}  // namespace situ::model
