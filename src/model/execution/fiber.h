// Stacks and thread-local storage of modelled threads.
//
// A modelled thread runs on the stack, and with the thread-local storage, of a parked host thread: that thread has
// slept since its creation and only lends its FS base. So errno, thread_local variables, exceptions and
// pthread_getattr_np need no care, and all addresses are fixed, because the executor provides the stack.
//
//   low            top of the fiber          frame of park()      end
//   | <- grows down |  kept free: 8 KiB      | sleeps here | TLS  |
#pragma once

#include <cstddef>
#include <cstdint>

namespace situ::model {

// Returns the stack size of a modelled thread that asks for no other size: that of the host's threads
// (os/thread_stacks.h), but at least the usual limit, so that addresses, and with them times, are the same under
// lower limits.
[[nodiscard]] std::size_t usual_stack_bytes() noexcept;

class lent_thread {
 public:
  // Parks a thread with a stack of `stack_bytes` bytes. Ends the process with a message if the host has no room.
  static lent_thread* park(std::size_t stack_bytes);
  // Lets the host's thread end, which runs the destructors of its thread-local variables, and waits for its end. pre:
  // no modelled thread runs on it.
  void release();

  [[nodiscard]] std::uintptr_t fs_base() const noexcept { return fs_base_; }
  // The memory that holds the stack, and the thread-local storage behind it.
  [[nodiscard]] std::uintptr_t stack_begin() const noexcept { return reinterpret_cast<std::uintptr_t>(stack_); }
  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_bytes_; }
  // Makes the first switch to the thread call entry(), which never returns.
  void prepare(void (*entry)()) noexcept;

  void* stack_pointer = nullptr;  // the stack pointer while the thread is not running

 private:
  static void* sleep_in(void* self);
  std::uintptr_t fs_base_ = 0;
  std::uintptr_t top_ = 0;
  unsigned long handle_ = 0;
  std::uint32_t is_parked_ = 0;
  std::uint32_t may_end_ = 0;
  std::size_t stack_bytes_ = 0;
  char* stack_ = nullptr;
  lent_thread* next_free_ = nullptr;
};

// Switches from the running stack, of `from`, to the stack and FS base of `to`.
void switch_to(lent_thread& from, lent_thread& to) noexcept;
// Moves the process's first thread to a fiber for good: exit() is called on fibers.
void leave_first_thread(lent_thread& to) noexcept;

}  // namespace situ::model
