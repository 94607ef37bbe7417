// What is one a process, while places are what a program thinks of: the places that run in this process, its signal
// handlers for faults, and its forks.
//
// A fault (SIGSEGV, SIGBUS) is looked at for causes of ours, on a stack of its own: one that a module above knows
// (`explain_fault`: an array of a checked task graph); a task or main has used up
// its stack; the kernel has no memory for a page of the job; a forked child went on as the place. Then the place is
// marked lost with that reason, a line says so, and the handler that stood before goes on: the process ends as it would
// have. Faults of other causes are only passed on. If a program installs its own handler later, that one gets the
// faults, and may pass them on to ours.
//
// A forked child is no place: others cannot tell its words from its parent's. From the fork on it has no runtime
// (`current`), and the job's memory can be read there but not written, so that nothing it does reaches the job. It may
// exec, leave by _exit or exit, return from main, or make a situ::runtime of its own.
#pragma once

#include <situ/memory/detail/place_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fault_text.h"

namespace situ::detail {

// A place of this process, from joining to leaving. Makes what it says above happen for it.
class place_in_process {
 public:
  // pre: on the place's thread; the context is complete but for its scheduler.
  place_in_process(place_context& context, std::size_t slices_bytes, std::size_t control_bytes);
  ~place_in_process();
  place_in_process(const place_in_process&) = delete;
  place_in_process& operator=(const place_in_process&) = delete;

  // Whether this process is a child that the place's process has forked.
  [[nodiscard]] bool is_in_forked_child() const noexcept;

  place_context* const context;
  const std::uintptr_t slices;
  const std::size_t slices_bytes;
  const std::uintptr_t control;
  const std::size_t control_bytes;
  place_in_process* next = nullptr;  // of all in this process
  std::uintptr_t stack_low = 0;      // of the thread's own stack; 0: the process's first, which the kernel extends
  std::uintptr_t stack_top = 0;

 private:
  void give_thread_a_fault_stack();
  void* fault_stack_ = nullptr;  // null: the thread had one
  std::size_t fault_stack_bytes_ = 0;
  int process_;
};

// The places of this process, newest first; of its parent's in a forked child. Callable from a signal handler.
[[nodiscard]] place_in_process* places_of_process() noexcept;

// Returns on the first thread that is about to end this process by an error, and on no other: those of other places,
// which hear of it, would mix their words with its own, or give the process another exit code. Callable from a signal
// handler.
void let_only_first_end_process() noexcept;

// For the handlers of faults: they are installed with the first who wants them (the first place, for one) and removed
// with the last.
void install_fault_handlers() noexcept;
void remove_fault_handlers() noexcept;

// A further cause that is looked for in a SIGSEGV, first of all: whether the access is such, with words for it. Called
// in a signal handler.
using fault_explainer = bool (*)(std::uintptr_t address, bool is_write, fault_text& to) noexcept;
extern std::atomic<fault_explainer> explain_fault;

}  // namespace situ::detail
