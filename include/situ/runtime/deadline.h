// The latest end of a wait: a duration from now, or a point of the steady clock. A value type.
//
//   f.wait_until(20ms);   f.wait_until(std::chrono::steady_clock::now() + 20ms);   situ::wait_until(word, 1, 20ms);
//
// A deadline ends the wait and never the operation waited for, which goes on and may be waited for again
// (docs/guide/waiting.md). A wait with a deadline in the past still lets the place run its arrived messages and tasks
// once. cost: a deadline made from a duration reads the clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace situ {

// The end of a wait. Durations of more than a century mean no end.
class deadline {
 public:
  template <class Rep, class Period>
  deadline(std::chrono::duration<Rep, Period> from_now)
      : ns_{from_now < longest ? since_epoch(std::chrono::steady_clock::now()) +
                                     std::chrono::duration_cast<std::chrono::nanoseconds>(from_now).count()
                               : std::numeric_limits<std::int64_t>::max()} {}
  template <class Duration>
  constexpr deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> when) noexcept
      : ns_{std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count()} {}
  // Returns the deadline that never passes.
  [[nodiscard]] static constexpr deadline never() noexcept {
    return deadline{std::chrono::steady_clock::time_point::max()};
  }

  // The deadline as a time of the steady clock.
  [[nodiscard]] constexpr std::int64_t nanoseconds() const noexcept { return ns_; }

 private:
  static constexpr std::chrono::hours longest{24 * 36525};
  [[nodiscard]] static std::int64_t since_epoch(std::chrono::steady_clock::time_point t) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  }
  std::int64_t ns_;
};

}  // namespace situ
