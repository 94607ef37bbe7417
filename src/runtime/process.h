// State that belongs to a process, while programs think in places: the places that run in this process, its signal
// handlers for faults, and its forks.
//
// When a fault (SIGSEGV, SIGBUS) occurs, a handler on its own stack checks for causes that Situ knows: one that a
// module above explains (`explain_fault`: an array of a checked task graph); a task or main has used up its stack; the
// access is to memory of another host's place; the kernel has no memory for a page of the job; a forked child went on
// as the place. In these cases the handler prints a line and, except for the child, marks the place lost with that
// reason; then the handler that was installed before runs, and the process ends as it would have. Faults of other
// causes are only passed on. If a program installs its own handler later, that one gets the faults, and may pass them
// on to ours.
//
// A forked child is no place: other places cannot tell its messages from its parent's. From the fork on it has no
// runtime (`current`), and it can read but not write the job's memory, so that it cannot affect the job. It may exec,
// leave by _exit or exit, return from main, or make a situ::runtime of its own.
#pragma once

#include <situ/memory/detail/place_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fault_text.h"
#include "os/thread_stacks.h"

namespace situ::detail {

// A place of this process, from joining to leaving; provides the above for it.
class place_in_process {
 public:
  // pre: runs on the place's thread; the context is complete but for its scheduler.
  place_in_process(place_context& context, std::size_t slices_bytes, std::size_t control_bytes);
  ~place_in_process();
  place_in_process(const place_in_process&) = delete;
  place_in_process& operator=(const place_in_process&) = delete;

  // Returns whether this process is a child that the place's process has forked.
  [[nodiscard]] bool is_in_forked_child() const noexcept;

  place_context* const context;
  const std::uintptr_t slices;
  const std::size_t slices_bytes;
  const std::uintptr_t control;
  const std::size_t control_bytes;
  place_in_process* next = nullptr;  // the next in the list of all in this process
  std::uintptr_t stack_low = 0;  // of the thread's own stack; 0: the process's first stack, which the kernel extends
  std::uintptr_t stack_top = 0;

 private:
  fault_stack fault_stack_;  // of the place's thread
  int process_;
};

// Returns the places of this process, newest first; in a forked child, those of its parent. Callable from a signal
// handler.
[[nodiscard]] place_in_process* places_of_process() noexcept;

// Returns only on the first thread that is about to end this process by an error. Threads of other places, which hear
// of the error, would mix their messages with its own, or give the process another exit code. Callable from a signal
// handler.
void let_only_first_end_process() noexcept;

// Install and remove the handlers of faults. They count their users: the first user (for example the first place)
// installs the handlers, and the last removes them.
void install_fault_handlers() noexcept;
void remove_fault_handlers() noexcept;

// An additional cause, checked first for a SIGSEGV: returns whether it explains the access, and writes the message.
// Called in a signal handler.
using fault_explainer = bool (*)(std::uintptr_t address, bool is_write, fault_text& to) noexcept;
extern std::atomic<fault_explainer> explain_fault;

}  // namespace situ::detail
