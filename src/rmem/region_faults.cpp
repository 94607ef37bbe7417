#include "rmem/region_faults.h"

#include <situ/rmem/region.h>

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/host.h"

namespace situ::rmem {
namespace {

using detail::territory;

constexpr std::size_t most_regions = 256;
constexpr std::size_t most_failures = 4096;
// Read by the handler, without a lock: who takes a region out has no touch of it under way.
std::array<std::atomic<territory*>, most_regions> regions{};

// A call of guarded() that is under way in this thread.
struct guard {
  sigjmp_buf back;
  territory* failed = nullptr;
  const detail::region_failure* why = nullptr;
  guard* outer;
};
thread_local guard* innermost = nullptr;

struct sigaction handler_before;

void say(const std::string& text) noexcept {
  constexpr char begins[] = "situ: ";
  [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, begins, sizeof begins - 1);
  ignored = ::write(STDERR_FILENO, text.data(), text.size());
  ignored = ::write(STDERR_FILENO, "\n", 1);
}

void handle(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const std::atomic<territory*>& each : regions) {
    territory* const of = each.load(std::memory_order_acquire);
    if (of == nullptr || !of->has(address) || of->failure() == nullptr) continue;
    if (innermost != nullptr) {
      innermost->failed = of;
      innermost->why = of->failure();
      ::siglongjmp(innermost->back, 1);
    }
    say(of->failure()->text);
    break;
  }
  // What would have happened without us.
  if ((handler_before.sa_flags & SA_SIGINFO) != 0) return handler_before.sa_sigaction(signal, info, context);
  if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
    return handler_before.sa_handler(signal);
  ::sigaction(signal, &handler_before, nullptr);  // the touch is repeated
}

void install_handler() {
  static const bool is_installed = [] {
    struct sigaction ours{};
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    return ::sigaction(SIGSEGV, &ours, &handler_before) == 0;
  }();
  (void)is_installed;
}

}  // namespace

namespace detail {

territory::territory(std::byte* begin, std::size_t bytes, int protection)
    : begin_{begin}, bytes_{bytes}, protection_{protection} {
  install_handler();
  for (; number_ < most_regions; ++number_) {
    territory* expected = nullptr;
    if (regions[number_].compare_exchange_strong(expected, this)) return;
  }
  throw_error(errc::out_of_memory, "a process has at most 256 regions of remote memory at a time");
}

territory::~territory() { regions[number_].store(nullptr); }

void territory::fail(std::byte* page, region_failure why) {
  const std::lock_guard held{lock_};
  failures_.push_back(std::move(why));
  if (failures_.size() > most_failures) failures_.pop_front();  // whose readers have thrown it long ago
  latest_.store(&failures_.back(), std::memory_order_release);
  failed_pages_.insert(page);
  ::mprotect(page, situ::detail::page_bytes, PROT_NONE);
}

void territory::try_again() {
  const std::lock_guard held{lock_};
  for (std::byte* const each : std::exchange(failed_pages_, {}))
    ::mprotect(each, situ::detail::page_bytes, protection_);
}

void run_guarded(void (*call)(void*), void* with) {
  guard here;
  here.outer = std::exchange(innermost, &here);
  if (sigsetjmp(here.back, 1) == 0) {
    try {
      call(with);
    } catch (...) {
      innermost = here.outer;
      throw;
    }
    innermost = here.outer;
    return;
  }
  innermost = here.outer;
  here.failed->try_again();
  throw_error(here.why->code, here.why->text);
}

}  // namespace detail
}  // namespace situ::rmem
