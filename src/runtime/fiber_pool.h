// The stacks of a place, and switching between them.
//
// Main runs on the thread's own stack; workers have stacks of their own, and an idle worker is kept for later tasks.
// Exactly one fiber runs. A fiber that is switched to continues after its last switch, or begins with the pool's body.
// The pool belongs to the place's thread, as does everything here.
#pragma once

#include <cxxabi.h>
#include <boost/context/fiber.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/stack.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace situ::detail {

// A stack, running or suspended. The sanitizers must hear of each switch; otherwise they would take the other stack for
// an overflow or a race.
struct fiber {
  boost::context::fiber context;  // valid while the fiber is suspended
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;    // of AddressSanitizer
  void* race_context = nullptr;  // of ThreadSanitizer
  bool is_ended = false;         // its function is about to return
};

class fiber_pool {
 public:
  // The function that each worker runs once. It returns the fiber that continues after the worker's end; null: the
  // fiber that last switched to the worker.
  using body = std::function<fiber*()>;

  // Makes the pool. stack_bytes: the size of a worker's stack unless a task asks for another. pre: runs on main's
  // stack.
  fiber_pool(std::size_t stack_bytes, body work);
  fiber_pool(const fiber_pool&) = delete;
  fiber_pool& operator=(const fiber_pool&) = delete;

  [[nodiscard]] fiber& running() noexcept { return *running_; }
  [[nodiscard]] bool is_main_running() const noexcept { return running_ == &main_; }
  // Returns the bounds of the running stack, unknown for main.
  [[nodiscard]] stack_bounds running_stack() const noexcept;

  // Suspends the running fiber, with its exceptions in flight, until another fiber switches to it.
  void switch_to(fiber& target) {
    fiber& self = *running_;
    const exceptions_in_flight exceptions = std::exchange(*thread_exceptions_, {});
    came_from_ = &self;
    running_ = &target;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&self.fake_stack, target.stack_bottom, target.stack_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(target.race_context, 0);
#endif
    arrive(std::move(target.context).resume());
    *thread_exceptions_ = exceptions;
  }

  // Returns a worker to switch to: an idle one, or a new one. Throws out_of_memory.
  fiber& take() {
    is_touched_ = true;
    if (idle_.empty()) return make(stack_bytes_);
    return *take_idle();
  }
  // Returns a worker whose stack has at least `bytes` bytes.
  fiber& take(std::size_t bytes);
  // Returns the worker that became idle last, or null.
  fiber* take_idle() noexcept {
    if (idle_.empty()) return nullptr;
    fiber* const last = idle_.back();
    idle_.pop_back();
    return last;
  }

  // Returns whether the pool keeps one more idle worker; if not, the worker ends.
  [[nodiscard]] bool keeps_another() const noexcept { return idle_.size() < most_idle; }
  // Adds the running worker, which is about to switch away, to the idle ones. If idle stacks are many or large, the
  // worker's stack gives its pages back, except those at the top.
  void make_idle() {
    idle_.push_back(running_);
    if (idle_.size() * running_->stack_bytes > most_idle_bytes) [[unlikely]]
      give_back(*running_);
  }

  // Returns whether workers have run since idle stacks gave their pages back.
  [[nodiscard]] bool is_touched() const noexcept { return is_touched_; }
  void give_back_idle_stacks() noexcept;

  // Frees the stacks of workers that have ended.
  void delete_ended();

 private:
  // The state of the C++ runtime for the exceptions in flight on a stack (Itanium C++ ABI, 2.2.2); each fiber has its
  // own.
  struct exceptions_in_flight {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static constexpr std::size_t most_idle = 64;                           // further idle workers end
  static constexpr std::size_t most_idle_bytes = std::size_t{64} << 20;  // of idle stacks that keep their touched pages
  // Bytes at the top of a stack that are never given back: the next task touches them again.
  static constexpr std::size_t kept_bytes = std::size_t{64} << 10;

  // Runs on the fiber that was switched to: stores the context of the fiber that it came from.
  void arrive(boost::context::fiber&& from) noexcept {
    if (from) came_from_->context = std::move(from);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(running_->fake_stack, nullptr, nullptr);
#endif
  }
  fiber& make(std::size_t bytes);
  boost::context::fiber leave(fiber* successor);
  static void give_back(const fiber& worker) noexcept;

  const std::size_t stack_bytes_;
  const body work_;
  exceptions_in_flight* const thread_exceptions_ = reinterpret_cast<exceptions_in_flight*>(abi::__cxa_get_globals());
  fiber main_;
  fiber* running_ = &main_;
  fiber* came_from_ = nullptr;  // the fiber that switched to the running one, until its context is stored
  std::vector<fiber*> idle_;
  std::vector<std::unique_ptr<fiber>> workers_;
  bool has_ended_ = false;  // a worker has ended, and its stack is still there
  bool is_touched_ = false;
};

}  // namespace situ::detail
