// An event that a thread outside the job signals and that a task of a place waits for: the entry for the callbacks of
// other libraries.
//
// One task waits, and any thread signals the end, before or after the wait begins. The thread may signal after the
// runtime is gone, or while the runtime ends the task: the mutex then keeps it from touching the place's slot. Both
// hold the object by std::shared_ptr.
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

  // Signals the end; to be called once, by any thread. If `failure` is not null, wait() throws it. cost: a lock; a
  // system call if the place sleeps.
  void end(std::exception_ptr failure) noexcept;
  // Waits as a task of the running place; other tasks go on. A place in this wait does not count as standing still,
  // and the loss of another place does not end the wait. To be called once.
  void wait();

 private:
  std::atomic<bool> is_over_{false};  // written under the lock, read without it
  std::mutex mutex_;                  // guards the members below
  std::exception_ptr failure_;
  place_slot* waiting_ = nullptr;  // the slot of the waiting place
};

}  // namespace situ::detail
