// The stacks of a place, and switching between them.
//
// Main has the thread's own stack; workers have stacks of their own, which are kept for the next when they have nothing
// to do. Exactly one runs; who is switched to goes on where it switched away, or begins with the pool's body. Belongs
// to the place's thread, as everything here.
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

// A stack, running or set aside. Sanitizers are told of each switch, or they would take the other stack for an overflow
// or a race.
struct fiber {
  boost::context::fiber context;  // set while it is set aside
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;    // AddressSanitizer's
  void* race_context = nullptr;  // ThreadSanitizer's
  bool is_ended = false;         // its function is about to return
};

class fiber_pool {
 public:
  // What a worker runs, once. Returns who goes on after its end; null: whoever switched to it last.
  using body = std::function<fiber*()>;

  // pre: on main's stack. Stacks have so many bytes where nothing else is asked for.
  fiber_pool(std::size_t stack_bytes, body work);
  fiber_pool(const fiber_pool&) = delete;
  fiber_pool& operator=(const fiber_pool&) = delete;

  [[nodiscard]] fiber& running() noexcept { return *running_; }
  [[nodiscard]] bool is_main_running() const noexcept { return running_ == &main_; }
  // Unknown for main.
  [[nodiscard]] stack_bounds running_stack() const noexcept;

  // Sets the running fiber aside, with its exceptions in flight, until somebody switches to it.
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

  // A worker to switch to: an idle one, or a new one. Throws out_of_memory.
  fiber& take() {
    is_touched_ = true;
    if (idle_.empty()) return make(stack_bytes_);
    return *take_idle();
  }
  // One whose stack has so many bytes.
  fiber& take(std::size_t bytes);
  // The last that became idle; null where there is none.
  fiber* take_idle() noexcept {
    if (idle_.empty()) return nullptr;
    fiber* const last = idle_.back();
    idle_.pop_back();
    return last;
  }

  // Whether a further idle worker is to be kept; else it ends.
  [[nodiscard]] bool keeps_another() const noexcept { return idle_.size() < most_idle; }
  // The running worker, which is about to switch away. The stacks of many, or large ones, keep nothing that they have
  // touched below the top.
  void make_idle() {
    idle_.push_back(running_);
    if (idle_.size() * running_->stack_bytes > most_idle_bytes) [[unlikely]]
      give_back(*running_);
  }

  // Whether workers have run since idle stacks gave their pages back.
  [[nodiscard]] bool is_touched() const noexcept { return is_touched_; }
  void give_back_idle_stacks() noexcept;

  // Frees the stacks of workers that have ended.
  void delete_ended();

 private:
  // What the C++ runtime keeps for the exceptions in flight on a stack (Itanium C++ ABI, 2.2.2); it belongs to the
  // fiber.
  struct exceptions_in_flight {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static constexpr std::size_t most_idle = 64;                           // further ones give their stacks back
  static constexpr std::size_t most_idle_bytes = std::size_t{64} << 20;  // of idle stacks that keep what they touched
  // At the top of a stack: touched again by whatever runs next.
  static constexpr std::size_t kept_bytes = std::size_t{64} << 10;

  // Runs on the fiber that was switched to: puts aside the one that it came from.
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
  fiber* came_from_ = nullptr;  // who switched to the running fiber, until it has put it aside
  std::vector<fiber*> idle_;
  std::vector<std::unique_ptr<fiber>> workers_;
  bool has_ended_ = false;  // a worker, whose stack is still there
  bool is_touched_ = false;
};

}  // namespace situ::detail
