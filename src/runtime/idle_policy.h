// Decides how long a place without work polls before it sleeps.
//
// A place with a processor of its own polls for about 50 us, several times the cost of a sleep and a wake-up. If places
// share processors, a place yields a few times, so that others can produce its work, and then sleeps. Both are wrong
// next to programs that compute:
// - The kernel may put two places on one processor. Then neither can do anything while the other polls, and the time
//   that both spend on it goes to the other programs as their fair share. The sign: the waker of a place runs on the
//   processor on which that place wakes up. A place that has seen several such signs is crowded: it sleeps at once,
//   which costs a few microseconds and lets the kernel run it as soon as it is woken. After a while it polls again as
//   before, since only that lets the kernel see that it has two threads to place; if the crowding persists, the next
//   whiles are longer.
// - A place that yields hands a whole slice to a program that never yields. The sign: the place comes back much later.
//   Then it sleeps at once the next few times, and more often each time that yielding takes as long again.
//
// The policy owns no clock and makes no system call; the caller passes a clock in, and the policy reads it when the
// place is about to sleep or has slept. Belongs to the place's thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "os/host.h"

namespace situ::detail {

class idle_policy {
 public:
  enum class step : std::uint8_t { look, pause, give_way, sleep };

  static constexpr std::uint32_t turns_alone = idle_looks(4000);  // about 50 us
  static constexpr std::uint32_t turns_hot =
      idle_looks(200);  // without a pause instruction, which costs as much as four looks
  static constexpr std::uint32_t turns_shared = idle_looks(3);
  // Consecutive wake-ups by a waker on the same processor. A single one is normal: a kernel that finds no idle
  // processor begins so.
  static constexpr std::uint32_t signs_of_crowding = 4;
  // A third of a millisecond at 3 GHz: less than any scheduler's slice, more than a round over 64 idle places.
  static constexpr std::uint64_t long_absence_cycles = std::uint64_t{1} << 20;
  // The kernel moves one of two threads that share a processor when its clock ticks, every 4 ms or less.
  static constexpr std::int64_t settling_ns = 5'000'000;
  static constexpr std::int64_t first_while_ns = 50'000'000;
  static constexpr std::int64_t longest_while_ns = 800'000'000;
  static constexpr std::uint32_t first_sleeps = 4;  // without yielding before them
  static constexpr std::uint32_t most_sleeps = 512;

  idle_policy(bool oversubscribed, std::int64_t now_ns) noexcept
      : oversubscribed_{oversubscribed}, settled_at_ns_{now_ns + settling_ns} {}

  // Returns the next step after `idle_turns` turns that found nothing.
  template <class Clock>
  [[nodiscard]] step next(std::uint32_t idle_turns, Clock now_ns) noexcept {
    if (oversubscribed_) return next_of_many(idle_turns);
    if (crowded_) [[unlikely]] {
      if (is_crowded_still(now_ns())) return step::sleep;
    }
    if (idle_turns > turns_alone) return step::sleep;
    return idle_turns > turns_hot ? step::pause : step::look;
  }

  // Notes that the place was woken, and whether the waker's processor is the one that the place runs on now.
  template <class Clock>
  void woken(bool on_same_processor, Clock now_ns) noexcept {
    if (crowded_ || oversubscribed_) return;
    if (!on_same_processor) {
      signs_ = 0;
    } else if (++signs_ >= signs_of_crowding) {
      const std::int64_t now = now_ns();
      if (now >= settled_at_ns_) begin_crowded(now);
    }
  }

  // Notes that the place yielded and came back after `cycles` cycles.
  void came_back(std::uint64_t cycles) noexcept {
    if (cycles >= long_absence_cycles) [[unlikely]] {
      sleeps_ = std::clamp(2 * sleeps_, first_sleeps, most_sleeps);
      sleeps_left_ = sleeps_;
    } else if (sleeps_ != 0) {
      --sleeps_;  // slowly: yields to other places are short, even if one program never yields
    }
  }

  [[nodiscard]] bool is_crowded() const noexcept { return crowded_; }

 private:
  step next_of_many(std::uint32_t idle_turns) noexcept {
    if (sleeps_left_ != 0) [[unlikely]] {
      --sleeps_left_;
      return step::sleep;
    }
    return idle_turns > turns_shared ? step::sleep : step::give_way;
  }

  void begin_crowded(std::int64_t now) noexcept {
    const bool goes_on = now - settled_at_ns_ < longest_while_ns / 8;
    while_ns_ = goes_on && while_ns_ != 0 ? std::min(2 * while_ns_, longest_while_ns) : first_while_ns;
    crowded_until_ns_ = now + while_ns_;
    crowded_ = true;
  }

  bool is_crowded_still(std::int64_t now) noexcept {
    if (now < crowded_until_ns_) return true;
    crowded_ = false;
    signs_ = 0;
    settled_at_ns_ = now + settling_ns;
    return false;
  }

  bool oversubscribed_;
  bool crowded_ = false;
  std::uint32_t signs_ = 0;
  std::int64_t settled_at_ns_;  // signs do not count before: the kernel gets this time to place the two threads
  std::int64_t crowded_until_ns_ = 0;
  std::uint32_t sleeps_ = 0;  // the number of immediate sleeps after yielding took long
  std::uint32_t sleeps_left_ = 0;
  std::int64_t while_ns_ = 0;  // the length of the last while
};

}  // namespace situ::detail
