// The thread that waits for the device on behalf of a batched pool's transactions.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>

#include "os/worker.h"

namespace situ::detail {

class redo_log;

// A member of a pool. The pool's constructor and destructor alone call start and stop.
class batched_sync {
 public:
  batched_sync() = default;
  ~batched_sync() { stop(); }
  batched_sync(const batched_sync&) = delete;
  batched_sync& operator=(const batched_sync&) = delete;

  // Starts the thread, which waits for the device at this interval if records were appended since. The log outlives
  // stop().
  void start(redo_log& of, std::chrono::milliseconds every);
  void stop();
  // Abandons the thread in a forked child, which does not have it. Its condition variable has a waiter there for ever,
  // for whose end the destructor would wait.
  void leave_to_parent() noexcept { (void)thread_.release(); }
  // Returns the errno value of a failure of the device; 0: it has not failed. Thread-safe.
  [[nodiscard]] int failure() const noexcept { return failure_.load(std::memory_order_acquire); }

 private:
  struct sleeper {
    std::mutex sleep;
    std::condition_variable_any wake;
    os::worker thread;
  };
  void run(const std::stop_token& stopped, sleeper& own, redo_log& of, std::chrono::milliseconds every);

  std::atomic<int> failure_ = 0;
  std::unique_ptr<sleeper> thread_;  // null: not started
};

}  // namespace situ::detail
