// Stacks and thread-local storage of modelled threads.
//
// A modelled thread runs on the stack, and with the thread-local storage, of a thread of the host that is parked: it
// has slept since its creation and only lends its FS base. So errno, thread_local variables, exceptions and
// pthread_getattr_np need no care, and all addresses are fixed, because the stack is ours.
//
//   low            top of the fiber          frame of park()      end
//   | <- grows down |  kept free: 8 KiB      | sleeps here | TLS  |
#pragma once

#include <cstddef>
#include <cstdint>

namespace situ::model {

// Of a modelled thread that asks for no other: as threads of the host have (base/thread_stacks.h), but no less than the
// usual limit, so that addresses, and with them times, are the same under lower ones.
[[nodiscard]] std::size_t usual_stack_bytes() noexcept;

class lent_thread {
 public:
  // A parked thread with a stack of so many bytes. Ends the process with a message where the host has no room.
  static lent_thread* park(std::size_t stack_bytes);
  // Lets the host's thread end, which runs the destructors of its thread-local variables, and waits for that.
  // pre: nothing runs on it.
  void release();

  [[nodiscard]] std::uintptr_t fs_base() const noexcept { return fs_base_; }
  // Makes the first switch to it call entry(), which never returns.
  void prepare(void (*entry)()) noexcept;

  void* stack_pointer = nullptr;  // while it is set aside

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

// From the running stack to another; `fs` is the FS base of who runs there.
void switch_to(lent_thread& from, lent_thread& to) noexcept;
// The process's first thread goes to a fiber and comes back never: exit() is called on fibers.
void leave_first_thread(lent_thread& to) noexcept;

}  // namespace situ::model
