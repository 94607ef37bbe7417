// The stacks that tasks run on.
//
//   low - guard_bytes            low                                     top
//   | guard: no access           | mapped, a page exists once touched     |      grows down <-
//
// A stack is mapped whole and committed as it is touched, so its size costs addresses only: a task that needs 64 MiB
// once is no dearer than one that needs 64 KiB, and touched pages are given back while the worker is idle. The guard is
// larger than a page because code may write anywhere in a frame: a frame with an array of half a MiB would step over a
// page. With -fstack-clash-protection, which Situ is built with and which comes with situ::runtime, frames are entered
// page by page, and none can step over the guard.
#pragma once

#include <situ/runtime/detail/scheduler.h>

#include <boost/context/stack_context.hpp>

#include <cstddef>
#include <cstdint>

#include "base/stack_size.h"

namespace situ::detail {

constexpr std::size_t guard_bytes = std::size_t{1} << 20;
constexpr std::size_t default_stack_bytes = std::size_t{256} << 10;

// Returns the stack size of tasks: the job's value (situ run --stack, launch_options), else SITU_STACK in the
// environment, else the program's value, else the default; 0 means "not set". Throws bad_argument.
[[nodiscard]] std::size_t choose_stack_bytes(std::uint64_t of_job, std::uint64_t of_program);

// Maps stacks; has the interface of boost::context's allocators. Throws std::bad_alloc if the kernel refuses. cost: two
// system calls each.
struct stack_mapper {
  std::size_t bytes;
  [[nodiscard]] boost::context::stack_context allocate() const;
  void deallocate(boost::context::stack_context& stack) const noexcept;
};

// Gives back the pages of [low, end) of a stack that is in use only above `end`. cost: a system call.
void give_back_pages(const void* low, const void* end) noexcept;

// The bounds of a stack; unknown if `top` is 0. Callable from a signal handler.
struct stack_bounds {
  std::uintptr_t low = 0;
  std::uintptr_t top = 0;
  [[nodiscard]] bool is_known() const noexcept { return top != 0; }
};

}  // namespace situ::detail
