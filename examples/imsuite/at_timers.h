// How long `at`s take, and how much of that the functions that they run: the paper's timers (section 5.4.2), of which
// the rest is communication. Off unless asked for: then nothing is timed.
//
// An `at` is timed at the place that begins it, until its answer is there; a function at the place that runs it. Sums
// over all of them, which go on at the same time: they may be longer than the run.
#pragma once

#include <chrono>
#include <cstdint>

namespace imsuite {

struct at_times {
  std::uint64_t count = 0;
  double at_seconds = 0;
  double function_seconds = 0;
  at_times& operator+=(const at_times& other) noexcept {
    count += other.count;
    at_seconds += other.at_seconds;
    function_seconds += other.function_seconds;
    return *this;
  }
};

// Of the calling place.
struct place_timers {
  bool is_on = false;
  at_times sum;
};
[[nodiscard]] place_timers& timers_here() noexcept;
void start_timers() noexcept;
void stop_timers() noexcept;
// The sums of all places, at place 0. Collective.
[[nodiscard]] at_times collect_timers();

// An `at`, from its making to end().
class at_timer {
 public:
  using clock = std::chrono::steady_clock;
  at_timer() noexcept {
    if (timers_here().is_on) begin_ = clock::now();
  }
  void end() const noexcept {
    if (begin_ == clock::time_point{}) return;
    at_times& sum = timers_here().sum;
    ++sum.count;
    sum.at_seconds += std::chrono::duration<double>(clock::now() - begin_).count();
  }

 private:
  clock::time_point begin_{};
};

// A function that an `at` runs, while it lives.
class function_timer {
 public:
  using clock = std::chrono::steady_clock;
  function_timer() noexcept {
    if (timers_here().is_on) begin_ = clock::now();
  }
  ~function_timer() {
    if (begin_ != clock::time_point{})
      timers_here().sum.function_seconds += std::chrono::duration<double>(clock::now() - begin_).count();
  }
  function_timer(const function_timer&) = delete;
  function_timer& operator=(const function_timer&) = delete;

 private:
  clock::time_point begin_{};
};

}  // namespace imsuite
