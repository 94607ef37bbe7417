// Until when a wait lasts at most: a duration from now, or a point of the steady clock. A value type.
//
//   f.wait_until(20ms);   f.wait_until(std::chrono::steady_clock::now() + 20ms);   situ::wait_until(word, 1, 20ms);
//
// A deadline ends the wait, never what it waits for: that goes on, and may be waited for again (docs/guide/waiting.md).
// One that has passed still lets what has arrived run once. cost: one from a duration reads the clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace situ {

// The end of a wait. Durations of more than a century last for ever.
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
  // No end.
  [[nodiscard]] static constexpr deadline never() noexcept {
    return deadline{std::chrono::steady_clock::time_point::max()};
  }

  // Of the steady clock.
  [[nodiscard]] constexpr std::int64_t nanoseconds() const noexcept { return ns_; }

 private:
  static constexpr std::chrono::hours longest{24 * 36525};
  [[nodiscard]] static std::int64_t since_epoch(std::chrono::steady_clock::time_point t) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  }
  std::int64_t ns_;
};

}  // namespace situ
