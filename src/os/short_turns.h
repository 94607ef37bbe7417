// For a thread that serves others in short bursts: it must not wait long for a processor, nor delay the threads that
// it has answered.
#pragma once

#include <cstdint>

namespace situ::detail {

// If other threads want the thread's processor too, the thread takes turns of 0.1 ms instead of some milliseconds. Its
// share of the processor stays the same, but it runs sooner after it wakes, and a client that it has answered does not
// wait for the scheduler's next tick, which comes after 1 to 10 ms. Before Linux 6.12 only the yields have an effect.
// source: Stoica and Abdel-Wahab, Earliest Eligible Virtual Deadline First, 1995, as Linux has it: the shorter a
// thread's slice, the earlier its deadline.
class short_turns {
 public:
  // Requests short turns for the calling thread, and for threads that it starts afterwards. cost: two system calls.
  static short_turns take() noexcept;

  // Notes that the thread waited from `began_ns` to `ended_ns`, times of steady_ns(). If it slept, a new turn begins.
  void waited(std::uint64_t began_ns, std::uint64_t ended_ns) noexcept {
    if (ended_ns - began_ns > short_wait_ns) turn_began_ns_ = ended_ns;
  }

  // Yields the processor if the turn is over, and returns true if it did. The thread calls this between two pieces of
  // work. cost: a system call in 0.1 ms.
  bool yield_if_over(std::uint64_t now_ns) noexcept {
    if (now_ns < turn_began_ns_ + turn_ns) return false;
    yield();
    return true;
  }

 private:
  static constexpr std::uint64_t turn_ns = 100'000;     // the shortest that Linux takes
  static constexpr std::uint64_t short_wait_ns = 5000;  // a wait without sleep takes less

  void yield() noexcept;

  std::uint64_t turn_began_ns_ = 0;
};

}  // namespace situ::detail
