// For a thread that serves others in short bursts: it must not wait long for a processor, nor delay the threads that
// it has answered.
#pragma once

#include <cstdint>

namespace situ::detail {

// If other threads want the thread's processor too, it has turns of 0.1 ms instead of some milliseconds. Its share of
// the processor stays the same, but it runs sooner when it wakes; and a thread that it has answered does not wait for
// the scheduler's next tick, which comes after 1 to 10 ms. Without effect on the first of these before Linux 6.12.
// source: Stoica and Abdel-Wahab, Earliest Eligible Virtual Deadline First, 1995, as Linux has it: the shorter a
// thread's slice, the earlier its deadline.
class short_turns {
 public:
  // Requests short turns for the calling thread, and for threads that it starts afterwards. cost: two system calls.
  static short_turns take() noexcept;

  // The thread has waited from `began_ns` to `ended_ns` of steady_ns(). If it has slept, others have had the processor.
  void waited(std::uint64_t began_ns, std::uint64_t ended_ns) noexcept {
    if (ended_ns - began_ns > short_wait_ns) turn_began_ns_ = ended_ns;
  }

  // Called between two pieces of work: lets others run if the turn is over. Returns true if it did. cost: a system call
  // in 0.1 ms.
  bool yield_if_over(std::uint64_t now_ns) noexcept {
    if (now_ns < turn_began_ns_ + turn_ns) return false;
    yield();
    return true;
  }

 private:
  static constexpr std::uint64_t turn_ns = 100'000;     // the shortest that Linux takes
  static constexpr std::uint64_t short_wait_ns = 5000;  // a look without sleep takes less

  void yield() noexcept;

  std::uint64_t turn_began_ns_ = 0;
};

}  // namespace situ::detail
