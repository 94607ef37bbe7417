// Threads of a pool. They block all signals, which belong to the program's threads.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace situ::detail {

// Runs body(const std::stop_token&) in a new thread. Throws std::system_error if no thread can be started.
template <class Body>
[[nodiscard]] std::jthread start_quiet_thread(Body body) {
  struct quiet {
    sigset_t before{};
    quiet() {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~quiet() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  const quiet inherited;
  return std::jthread{std::move(body)};
}

}  // namespace situ::detail
