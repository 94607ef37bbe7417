// What this process does at a signal, and the signals that a thread blocks. Also the signals that a person or a batch
// system sends to end, reload or query a program, for a program that passes them on to another. Handlers of faults:
// fault_chain.h; threads without signals: worker.h.
#pragma once

#include <signal.h>

#include <optional>

#include "os/descriptor.h"

namespace situ::os {

// --- The process's actions. These are only system calls: a forked child, or a handler, may make them. ---

inline void ignore_signal(int signal) noexcept { ::signal(signal, SIG_IGN); }
// Gives the signal its default action.
inline void reset_signal(int signal) noexcept { ::signal(signal, SIG_DFL); }
[[nodiscard]] inline bool is_ignored(int signal) noexcept {
  struct sigaction now{};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}
// Has the handler called at the signal, and returns the action from before. flags: of sigaction; without SA_RESTART
// the signal ends a thread's wait in a system call (EINTR).
inline struct sigaction handle_signal(int signal, void (*handler)(int), int flags = 0) noexcept {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, &before);
  return before;
}
inline struct sigaction handle_signal(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0) noexcept {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_sigaction = handler;
  action.sa_flags = flags | SA_SIGINFO;
  ::sigaction(signal, &action, &before);
  return before;
}
inline void restore_action(int signal, const struct sigaction& before) noexcept {
  ::sigaction(signal, &before, nullptr);
}

// --- The calling thread's mask; system calls, too. ---

inline void block_signal(int signal) noexcept {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
}
inline void unblock_signal(int signal) noexcept {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}
inline void set_signal_mask(const sigset_t& mask) noexcept { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }

// --- Passing signals on ---

struct passed_signal {
  int number;
  bool is_from_kernel;  // a terminal, which has sent it to the whole foreground group
};

// Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 in the calling thread while it lives; they are read from
// it instead. Other threads must block them, too. The kernel handles the signals that stop and continue.
class passed_signals {
 public:
  // Throws bad_launch, with the mask as before, if the system has no descriptor for it.
  passed_signals();
  // Drops the signals that nobody has read: they were meant for the other program, and would end this one.
  ~passed_signals();
  passed_signals(const passed_signals&) = delete;
  passed_signals& operator=(const passed_signals&) = delete;
  // Becomes readable when a signal arrives.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }
  // Takes the next signal that has arrived; empty if there is none.
  [[nodiscard]] std::optional<passed_signal> next() const noexcept;
  // Returns the thread's mask from before, for child processes.
  [[nodiscard]] const sigset_t& mask_before() const noexcept { return before_; }

 private:
  sigset_t before_{};
  os::descriptor descriptor_;
};

}  // namespace situ::os
