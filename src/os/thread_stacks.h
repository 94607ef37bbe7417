// The stacks of threads that Situ starts and that run the program's code: their size, and an error message when one
// is used up.
//
// A thread's stack is as large as the limit says (ulimit -s, when the program starts). If the limit is "unlimited", the
// C library gives threads 2 MiB, less than with any usual limit; threads of Situ then have 64 MiB. A stack takes
// addresses when it is made, and memory as it is touched.
#pragma once

#include <cstddef>

#include "os/mapping.h"

namespace situ::detail {

inline constexpr std::size_t stack_bytes_without_limit = std::size_t{64} << 20;

// Threads that the calling thread starts within the scope have stacks as above. If other threads start threads at
// the same time, these may have them, too. Thread-safe.
class program_stacks {
 public:
  program_stacks() noexcept;
  ~program_stacks();
  program_stacks(const program_stacks&) = delete;
  program_stacks& operator=(const program_stacks&) = delete;

 private:
  bool has_raised_ = false;
};

// Gives the thread that makes it a stack for handlers of signals (sigaltstack), with a page without access below it; the
// same thread ends it. A thread that has such a stack already, the program's or a sanitizer's, keeps it; and without
// memory for one, the thread stays without. cost: some system calls.
class fault_stack {
 public:
  fault_stack() noexcept;
  ~fault_stack();
  fault_stack(const fault_stack&) = delete;
  fault_stack& operator=(const fault_stack&) = delete;

 private:
  os::mapping range_;
};

// While it lives on the stack of a thread, a fault for want of stack prints the thread's name (`what`, of static
// storage), the size of its stack and what to do, before the process ends by the fault. A thread that has an alternate
// stack for signals keeps it. cost: some system calls.
class watched_stack {
 public:
  explicit watched_stack(const char* what) noexcept;
  ~watched_stack();
  watched_stack(const watched_stack&) = delete;
  watched_stack& operator=(const watched_stack&) = delete;

 private:
  fault_stack fault_stack_;
};

}  // namespace situ::detail
