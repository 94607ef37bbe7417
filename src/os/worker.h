// Threads that Situ starts: places within a process, agents, servers, pools of threads.
#pragma once

#include <signal.h>

#include <functional>
#include <new>
#include <thread>
#include <utility>

namespace situ::os {

// While it lives, the calling thread blocks all signals, and so do threads and processes that it starts.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_{};
};

// Tag of a worker that takes no signals: those sent to the process then reach the program's own threads.
struct without_signals_t {};
inline constexpr without_signals_t without_signals;

// A thread. It ends when its body returns; the destructor requests it to stop (std::stop_token), and waits for that.
// Constructors throw std::system_error if the system has no room for another thread. Movable.
class worker {
 public:
  worker() = default;
  // The thread has the caller's signal mask.
  explicit worker(std::function<void()> body) : thread_{std::move(body)} {}
  explicit worker(std::function<void(const std::stop_token&)> body) : thread_{std::move(body)} {}
  worker(without_signals_t, std::function<void()> body) {
    const signals_blocked inherited;
    thread_ = std::jthread{std::move(body)};
  }
  worker(without_signals_t, std::function<void(const std::stop_token&)> body) {
    const signals_blocked inherited;
    thread_ = std::jthread{std::move(body)};
  }
  void request_stop() noexcept { thread_.request_stop(); }
  // Waits until the thread has ended; does nothing if it was never started, or was joined before.
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  // In a forked child, which does not have the parent's thread: abandons the thread's object, so that it is neither
  // stopped nor joined. The object is freed when the child ends.
  void leave_to_parent() noexcept {
    if (thread_.joinable()) (void)new (std::nothrow) std::jthread{std::move(thread_)};
  }

 private:
  std::jthread thread_;
};

}  // namespace situ::os
