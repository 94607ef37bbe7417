// Signals of modelled time: those of the program's timers (timer_calls.cpp), which a modelled thread takes when it gets
// its turn, by an ordinary call of the program's handler.
//
// Invariants
//   1. As soon as the program has a timer, the host's one thread has the signal mask of the modelled thread that runs: a
//      switch exchanges the masks. So handlers, and siglongjmp out of them, may change the mask as natively.
//   2. A signal goes to the first thread that does not block it, by number; if all block it, it waits for the first that
//      does not, or for a call of sigwait. A thread that sleeps is woken for it, at the time of the signal.
//   3. A handler runs on its thread's core and stack, with the mask that sigaction has given, and takes modelled time.
//   4. `signals_are_due` is set while a signal waits for a handler.
//
// Signals from outside, and those that the program sends itself (raise, kill), are the host's.
#pragma once

#include <signal.h>

#include <cstdint>

#include "model/parts/time.h"

namespace situ::model {

struct thread;

// A signal that waits for a thread.
struct waiting_signal {
  int number = 0;
  int code = 0;  // siginfo_t's si_code
  int timer = 0;
  sigval value{};
  void* source = nullptr;  // the timer that caused it, or null
};

// A thread's part of the state. Masks and sets have bit n - 1 for signal n, as the kernel's.
struct thread_signals {
  static constexpr std::uint32_t most_waiting = 64;
  enum class interruption : std::uint8_t { none, restarts, ends_wait };

  std::uint64_t mask = 0;     // while the thread does not run
  std::uint64_t awaited = 0;  // the set of its sigwait
  waiting_signal taken;       // by its sigwait
  std::uint32_t waiting_count = 0;
  waiting_signal waiting[most_waiting];
  interruption interrupted_by = interruption::none;  // a handler that ran during its last sleep
};

extern constinit bool signals_are_due;

// Begins to exchange masks; called before the program has its first timer. pre: modelled time passes.
void begin_signals();
// Gives a new thread the mask of the running one.
void inherit_signal_mask(thread& made) noexcept;
// Exchanges the masks of two threads, between which the host's thread switches.
void exchange_signal_masks(thread& from, thread& to) noexcept;
// Runs the handlers of signals that the running thread does not block. pre: modelled time passes.
void take_signals();
// Raises a signal at a time, outside of modelled time. Returns false if the same one waits already.
bool raise_signal(const waiting_signal& what, time_ps when);
// Withdraws the signals of a source.
void withdraw_signals(const void* source) noexcept;
// Called when a source's signal is about to be handled, or taken by sigwait.
extern void (*signal_is_taken)(void* source);

}  // namespace situ::model
