// The thread that waits for the device on behalf of a batched pool's transactions.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace situ::detail {

class redo_log;

// Belongs to a pool; start and stop are its constructor's and destructor's.
class batched_sync {
 public:
  batched_sync() = default;
  ~batched_sync() { stop(); }
  batched_sync(const batched_sync&) = delete;
  batched_sync& operator=(const batched_sync&) = delete;

  // Every so often, where something was appended since. The log outlives stop().
  void start(redo_log& of, std::chrono::milliseconds every);
  void stop();
  // In a child, which has no such thread: what it sleeps on has a sleeper there for ever, whose end its destructor
  // would wait for.
  void leave_to_parent() noexcept { (void)thread_.release(); }
  // errno's value since the device has failed; 0: it has not. May be called beside all.
  [[nodiscard]] int failure() const noexcept { return failure_.load(std::memory_order_acquire); }

 private:
  struct sleeper {
    std::mutex sleep;
    std::condition_variable_any wake;
    std::jthread thread;
  };
  void run(const std::stop_token& stopped, sleeper& own, redo_log& of, std::chrono::milliseconds every);

  std::atomic<int> failure_ = 0;
  std::unique_ptr<sleeper> thread_;  // null: it was not started
};

}  // namespace situ::detail
