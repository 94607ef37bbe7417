#include "model/execution/fiber.h"

#include <asm/prctl.h>
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <new>

#include "model/execution/host_calls.h"
#include "os/thread_stacks.h"
#include "os/worker.h"

// Saves callee-saved registers and the floating-point modes on the old stack; the caller switches FS.
asm(R"(
  .text
  .p2align 4
  .globl situ_model_switch_stack
  .hidden situ_model_switch_stack
  .type situ_model_switch_stack, @function
situ_model_switch_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  pushq %r12
  .cfi_adjust_cfa_offset 8
  pushq %r13
  .cfi_adjust_cfa_offset 8
  pushq %r14
  .cfi_adjust_cfa_offset 8
  pushq %r15
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r15
  .cfi_adjust_cfa_offset -8
  popq %r14
  .cfi_adjust_cfa_offset -8
  popq %r13
  .cfi_adjust_cfa_offset -8
  popq %r12
  .cfi_adjust_cfa_offset -8
  popq %rbx
  .cfi_adjust_cfa_offset -8
  popq %rbp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size situ_model_switch_stack, .-situ_model_switch_stack
)");

extern "C" [[gnu::visibility("hidden")]] void situ_model_switch_stack(void** from, void* to);

namespace situ::model {
namespace {

constexpr std::size_t kept_free_bytes = 8192;  // below park()'s frame: for futex's callees and the red zone
constexpr std::size_t registers_bytes = 7 * 8;

const bool has_fsgsbase = (getauxval(AT_HWCAP2) & 2) != 0;  // HWCAP2_FSGSBASE: user code may write FS

[[nodiscard]] std::uintptr_t get_fs() noexcept {
  std::uintptr_t base = 0;
  host_call(SYS_arch_prctl, ARCH_GET_FS, reinterpret_cast<long>(&base));
  return base;
}
void set_fs(std::uintptr_t base) noexcept {
  if (has_fsgsbase)
    asm volatile("wrfsbase %0" : : "r"(base) : "memory");
  else
    host_call(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(base));
}

void sleep_on(std::uint32_t& word, std::uint32_t expected) noexcept {
  while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == expected)
    host_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, expected);
}
void set_and_wake(std::uint32_t& word) noexcept {
  __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
  host_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, 1);
}

// The C library identifies its caller by thread-local storage, so this scope calls it with the storage of the process's
// own first thread.
class as_first_thread {
 public:
  as_first_thread() noexcept : before_{get_fs()} {
    if (first_ == 0) first_ = before_;
    set_fs(first_);
  }
  ~as_first_thread() { set_fs(before_); }
  as_first_thread(const as_first_thread&) = delete;
  as_first_thread& operator=(const as_first_thread&) = delete;

 private:
  static inline std::uintptr_t first_ = 0;
  std::uintptr_t before_;
};

lent_thread* free_list = nullptr;

}  // namespace

std::size_t usual_stack_bytes() noexcept {
  constexpr std::size_t least = std::size_t{8} << 20, most = std::size_t{64} << 30;
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0) return least;
  if (limit.rlim_cur == RLIM_INFINITY) return detail::stack_bytes_without_limit;
  return std::clamp<std::size_t>(limit.rlim_cur, least, most) & ~std::size_t{4095};
}

void* lent_thread::sleep_in(void* self) {
  auto& here = *static_cast<lent_thread*>(self);
  here.fs_base_ = get_fs();
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  here.top_ = (frame & ~std::uintptr_t{4095}) - kept_free_bytes;
  set_and_wake(here.is_parked_);
  sleep_on(here.may_end_, 0);
  return nullptr;
}

lent_thread* lent_thread::park(std::size_t stack_bytes) {
  lent_thread* made = nullptr;
  for (lent_thread** each = &free_list; *each != nullptr; each = &(*each)->next_free_)
    if ((*each)->stack_bytes_ == stack_bytes) {
      made = *each;
      *each = made->next_free_;
      break;
    }
  if (made == nullptr) {
    made = new (fixed_pages(sizeof(lent_thread), false)) lent_thread;
    made->stack_bytes_ = stack_bytes;
    made->stack_ = static_cast<char*>(fixed_pages(stack_bytes, true));
  }
  made->is_parked_ = made->may_end_ = 0;
  const as_first_thread scope;
  using create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto start = reinterpret_cast<create>(dlsym(RTLD_NEXT, "pthread_create"));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, made->stack_, stack_bytes);
  {
    const os::signals_blocked inherited;
    if (start == nullptr || start(&made->handle_, &attributes, &sleep_in, made) != 0)
      give_up("the host cannot start another thread to lend its storage; see ulimit -u");
    sleep_on(made->is_parked_, 0);
  }
  pthread_attr_destroy(&attributes);
  return made;
}

void lent_thread::release() {
  const as_first_thread scope;
  using join = int (*)(pthread_t, void**);
  static const auto await = reinterpret_cast<join>(dlsym(RTLD_NEXT, "pthread_join"));
  set_and_wake(may_end_);
  if (await == nullptr || await(handle_, nullptr) != 0) give_up("a lent thread of the host does not end");
  next_free_ = free_list;
  free_list = this;
}

void lent_thread::prepare(void (*entry)()) noexcept {
  auto* const top = reinterpret_cast<std::uintptr_t*>(top_);
  top[-1] = 0;  // entry() has no caller, so that unwinding ends
  top[-2] = reinterpret_cast<std::uintptr_t>(entry);
  for (int i = 3; i <= 8; ++i) top[-i] = 0;
  top[-9] = 0;
  auto* const modes = reinterpret_cast<std::uint32_t*>(&top[-9]);
  asm volatile("stmxcsr %0" : "=m"(modes[0]));
  asm volatile("fnstcw %0" : "=m"(*reinterpret_cast<std::uint16_t*>(&modes[1])));
  static_assert(registers_bytes == 7 * sizeof(std::uintptr_t));
  stack_pointer = &top[-9];
}

void switch_to(lent_thread& from, lent_thread& to) noexcept {
  set_fs(to.fs_base());
  situ_model_switch_stack(&from.stack_pointer, to.stack_pointer);
}

void leave_first_thread(lent_thread& to) noexcept {
  void* unused = nullptr;
  set_fs(to.fs_base());
  situ_model_switch_stack(&unused, to.stack_pointer);
}

}  // namespace situ::model
