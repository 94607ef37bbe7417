#include "os/thread_stacks.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/fault_text.h"
#include "os/fault_chain.h"
#include "os/host.h"

namespace situ::detail {
namespace {

bool has_stack_limit() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

// --- how large -------------------------------------------------------------------------------------------------------

constexpr std::size_t librarys_bytes_without_limit = std::size_t{2} << 20;  // glibc: ARCH_STACK_DEFAULT_SIZE
std::mutex scopes_mutex;
int scopes = 0;  // scopes that have raised the size

// The size of a thread's stack if its maker asks for none; 0 if the C library does not tell.
std::size_t usual_stack_bytes() noexcept {
  pthread_attr_t usual;
  if (::pthread_getattr_default_np(&usual) != 0) return 0;
  std::size_t bytes = 0;
  ::pthread_attr_getstacksize(&usual, &bytes);
  ::pthread_attr_destroy(&usual);
  return bytes;
}

void set_usual_stack_bytes(std::size_t bytes) noexcept {
  pthread_attr_t usual;
  if (::pthread_getattr_default_np(&usual) != 0) return;
  ::pthread_attr_setstacksize(&usual, bytes);
  ::pthread_setattr_default_np(&usual);
  ::pthread_attr_destroy(&usual);
}

// --- when one is used up ---------------------------------------------------------------------------------------------

constexpr std::size_t least_fault_stack_bytes = std::size_t{64} << 10;
constexpr std::uintptr_t near_the_end = std::uintptr_t{1} << 20;

struct bounds {
  std::uintptr_t low = 0;
  std::uintptr_t top = 0;
  const char* what = nullptr;
};
constinit thread_local bounds own_stack;

bool is_overflow(std::uintptr_t address, std::uintptr_t stack_pointer) noexcept {
  const std::uintptr_t low = own_stack.low;
  const bool is_at_the_end = stack_pointer < low + near_the_end && stack_pointer + near_the_end > low - near_the_end;
  return own_stack.what != nullptr && is_at_the_end && address < low + page_bytes &&
         address + near_the_end > std::min(stack_pointer, low);
}

void tell_overflow() noexcept {
  fault_text line;
  (line << "situ: " << own_stack.what << " has used up its stack of ").bytes(own_stack.top - own_stack.low);
  if (has_stack_limit())
    line << ". Raise the limit that such stacks follow (ulimit -s) before the program starts\n";
  else
    (line << ", which it has where no limit is set. Set one that is larger (ulimit -s ")
        << 4 * (own_stack.top - own_stack.low) / 1024 << ") before the program starts\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.text().data(), line.text().size());
}

bool explain_overflow(const os::fault_event& fault) noexcept {
  if (!fault.is_sent() && is_overflow(fault.address(), fault.stack_pointer())) tell_overflow();
  return false;
}
constinit os::fault_link overflow_link{os::fault_rank::explains, {SIGSEGV}, &explain_overflow};

// Whole pages; a processor with large registers needs more for a signal's frame.
std::size_t fault_stack_bytes() noexcept {
  const auto for_frame = static_cast<std::size_t>(std::max(0L, ::sysconf(_SC_MINSIGSTKSZ)));
  return std::max(least_fault_stack_bytes, (4 * for_frame + page_bytes - 1) & ~(page_bytes - 1));
}

}  // namespace

fault_stack::fault_stack() noexcept {
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  const std::size_t bytes = fault_stack_bytes();
  os::mapping made = os::mapping::anywhere(bytes + page_bytes, PROT_READ | PROT_WRITE, os::backing::zeros());
  if (!made) return;  // a fault for want of stack then ends the process without a message
  os::protect(made.begin(), page_bytes, PROT_NONE);
  stack_t ours{};
  ours.ss_sp = made.begin() + page_bytes;
  ours.ss_size = bytes;
  if (::sigaltstack(&ours, nullptr) == 0) range_ = std::move(made);
}

fault_stack::~fault_stack() {
  if (!range_) return;
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || now.ss_sp != range_.begin() + page_bytes) return;
  now = {};
  now.ss_flags = SS_DISABLE;
  ::sigaltstack(&now, nullptr);
}

program_stacks::program_stacks() noexcept {
  const std::lock_guard held{scopes_mutex};
  if (scopes == 0 && (has_stack_limit() || usual_stack_bytes() != librarys_bytes_without_limit)) return;
  if (scopes++ == 0) set_usual_stack_bytes(stack_bytes_without_limit);
  has_raised_ = true;
}

program_stacks::~program_stacks() {
  if (!has_raised_) return;
  const std::lock_guard held{scopes_mutex};
  if (--scopes == 0) set_usual_stack_bytes(librarys_bytes_without_limit);
}

watched_stack::watched_stack(const char* what) noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  ::pthread_attr_getstack(&attributes, &lowest, &bytes);
  ::pthread_attr_destroy(&attributes);
  const auto low = reinterpret_cast<std::uintptr_t>(lowest);
  own_stack = {low, low + bytes, what};
  [[maybe_unused]] static const bool once = (os::fault_chain::add(overflow_link), true);
}

watched_stack::~watched_stack() { own_stack = {}; }

}  // namespace situ::detail
