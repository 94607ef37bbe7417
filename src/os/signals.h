// The signals that a person or a batch system sends to end, reload or query a program, for a program that passes them
// on to another.
#pragma once

#include <signal.h>

#include <optional>

#include "os/descriptor.h"

namespace situ::os {

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
