// System calls without the C library, for a thread that it does not know.
//
// The watcher (watcher.h) runs on a thread made by clone alone. The C library must not know the thread: with a second
// thread it would lock each stream and each larger malloc, and libstdc++ would count shared pointers atomically. So
// the watcher's thread has no thread-local memory of its own: it must not touch errno, and so calls no function of the
// C library.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#error "written for x86-64"
#endif

namespace situ::preload {

// Returns the kernel's result: -errno if the call failed.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}
inline long address_of(const void* pointer) noexcept {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

// Starts a thread that runs `entry` on this stack and ends when `entry` returns. It shares memory and signal handlers
// with the process, but has descriptors and a working folder of its own. `*number` is the thread's number, and 0 once
// the thread has ended. Returns -errno if no thread could be started. pre: `stack_end` is aligned to 16 bytes.
inline long start_thread(void (*entry)(), std::uint64_t* stack_end, std::atomic<std::int32_t>* number) noexcept {
  constexpr long flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  std::uint64_t* const stack = stack_end - 2;
  stack[0] = reinterpret_cast<std::uint64_t>(entry);
  register long r10 asm("r10") = address_of(number);
  register long r8 asm("r8") = 0;
  long result = SYS_clone;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"  // the end of its frames, for debuggers
      "pop %%rax\n\t"
      "add $8, %%rsp\n\t"
      "call *%%rax\n\t"
      "xor %%edi, %%edi\n\t"
      "mov %[leave], %%eax\n\t"
      "syscall\n\t"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack), "d"(number), "r"(r10), "r"(r8), [leave] "i"(SYS_exit)
      : "rcx", "r11", "memory");
  return result;
}

inline void wait_while(const std::atomic<std::int32_t>& word, std::int32_t value, const void* timeout) noexcept {
  system_call(SYS_futex, address_of(&word), FUTEX_WAIT, value, address_of(timeout));  // not private: the kernel's wake
}
inline void wake_all(const std::atomic<std::int32_t>& word) noexcept {
  system_call(SYS_futex, address_of(&word), FUTEX_WAKE, 1 << 30);
}

// Blocks all signals of the calling thread while it exists; a thread that is started meanwhile has them blocked
// forever.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    const std::uint64_t all = ~std::uint64_t{0};
    system_call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, address_of(&all), address_of(&before_), sizeof before_);
  }
  ~signals_blocked() { system_call(SYS_rt_sigprocmask, 2, address_of(&before_), 0, sizeof before_); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace situ::preload
