// What a thread outside the job ends, and a task of a place waits for: the way in for the callbacks of other libraries.
//
// One task waits, any thread ends it, in any order. Whoever ends it may do so after the runtime is gone, or while the
// task is ended with it: the mutex keeps the place's slot from being touched then. Held by both by std::shared_ptr.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace situ::detail {

struct place_slot;

class outside_end {
 public:
  outside_end() = default;
  outside_end(const outside_end&) = delete;
  outside_end& operator=(const outside_end&) = delete;

  // Once. failure: what wait() throws; null: it returns. Any thread. cost: a lock; a system call where the place
  // sleeps.
  void end(std::exception_ptr failure) noexcept;
  // As a task of the running place waits: others go on meanwhile. A place that waits so does not stand still, and a
  // loss of another does not end it. Once.
  void wait();

 private:
  std::atomic<bool> is_over_{false};  // written under the lock, read without it
  std::mutex mutex_;                  // of all below
  std::exception_ptr failure_;
  place_slot* waiting_ = nullptr;  // whose place waits
};

}  // namespace situ::detail
