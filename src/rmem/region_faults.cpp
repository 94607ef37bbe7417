#include "rmem/region_faults.h"

#include <situ/rmem/region.h>

#include <fmt/format.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/racing_reads.h"
#include "os/fault_chain.h"
#include "os/host.h"
#include "os/mapping.h"
#include "os/signals.h"

namespace situ::rmem {
namespace {

using detail::territory;

constexpr std::size_t most_regions = 256;
constexpr std::size_t most_failures = 4096;
// The handler reads them without a lock: the thread that removes a region has no touch of it under way.
std::array<std::atomic<territory*>, most_regions> regions{};

// The state of a guarded() call in this thread.
struct guard {
  sigjmp_buf back;
  territory* failed = nullptr;
  const detail::region_failure* why = nullptr;
  guard* outer;
};
thread_local guard* innermost = nullptr;

// The state of this thread's try_look() calls.
thread_local sigjmp_buf* volatile looking = nullptr;  // of the current call; null: none
thread_local volatile std::sig_atomic_t looks = 0;

// A timer that limits looks at pages: while a thread looks now and then, it sends a signal every 20 ms. A signal that
// finds the same look as the previous signal ends that look; one that finds no look since then stops the timer. So a
// look costs no system call.
class look_timer {
 public:
  look_timer() {
    os::unblock_signal(SIGBUS);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGBUS;
    event.sigev_value.sival_ptr = this;
    event._sigev_un._tid = ::gettid();
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
      throw_error(errc::out_of_memory, fmt::format("no timer for the thread of regions: {}", std::strerror(errno)));
  }
  ~look_timer() {
    os::block_signal(SIGBUS);  // the thread ends, and a signal may still be pending
    ::timer_delete(timer_);
  }
  look_timer(const look_timer&) = delete;
  look_timer& operator=(const look_timer&) = delete;
  // Starts the timer if it is stopped. pre: the look is counted.
  void run() noexcept {
    if (!runs_) set(true);
  }
  // Called by the handler: returns true if the signal is to end the current look.
  [[nodiscard]] bool ends_look() noexcept {
    if (std::exchange(looks_then_, looks) != looks) return false;
    if (looking == nullptr) set(false);
    return looking != nullptr;
  }

 private:
  void set(bool runs) noexcept {
    itimerspec every{};
    if (runs) every.it_value.tv_nsec = every.it_interval.tv_nsec = 20'000'000;
    runs_ = runs;
    ::timer_settime(timer_, 0, &every, nullptr);
  }
  timer_t timer_{};
  volatile bool runs_ = false;
  std::sig_atomic_t looks_then_ = 0;
};
thread_local look_timer* timer_here = nullptr;

detail::user_fault fault_of(const os::fault_event& fault) noexcept {
  return {.address = fault.address() & ~(situ::detail::page_bytes - 1),
          .is_write = fault.is_write(),
          .is_protected = fault.is_protected()};
}

void say(const std::string& text) noexcept {
  constexpr char begins[] = "situ: ";
  [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, begins, sizeof begins - 1);
  ignored = ::write(STDERR_FILENO, text.data(), text.size());
  ignored = ::write(STDERR_FILENO, "\n", 1);
}

bool serve_touch(const os::fault_event& fault) noexcept {
  if (fault.signal == SIGBUS) {
    const bool is_timer =
        fault.info->si_code == SI_TIMER && timer_here != nullptr && fault.info->si_value.sival_ptr == timer_here;
    if (is_timer ? timer_here->ends_look() : looking != nullptr && fault.info->si_code == BUS_ADRERR) {
      os::set_signal_mask(fault.context->uc_sigmask);
      sigjmp_buf& back = *looking;
      looking = nullptr;
      ::siglongjmp(back, 1);
    }
    if (is_timer) return true;
  }
  for (const std::atomic<territory*>& each : regions) {
    territory* const of = each.load(std::memory_order_acquire);
    if (of == nullptr || !of->has(fault.address())) continue;
    if (fault.signal == SIGBUS) {
      os::unblock_signal(SIGBUS);  // the serving code looks at pages too
      return fault.info->si_code == BUS_ADRERR && of->serve(fault_of(fault));
    }
    if (of->failure() == nullptr) continue;
    if (innermost != nullptr) {
      innermost->failed = of;
      innermost->why = of->failure();
      ::siglongjmp(innermost->back, 1);
    }
    say(of->failure()->text);
    return false;
  }
  return false;
}
constinit os::fault_link region_link{os::fault_rank::serves, {SIGSEGV, SIGBUS}, &serve_touch};

bool ends(void (*look)(const void*), const void* with) {
  sigjmp_buf back;
  if (sigsetjmp(back, 0) != 0) return false;  // the handler restores the mask
  looking = &back;
  looks = looks + 1;
  if (timer_here != nullptr) timer_here->run();
  {
    const situ::detail::racing_reads reads;  // a jump out of a handler ends this for ThreadSanitizer, too
    look(with);
  }
  looking = nullptr;
  return true;
}

void install_handlers() { [[maybe_unused]] static const bool once = (os::fault_chain::add(region_link), true); }

}  // namespace

namespace detail {

territory::territory(std::byte* begin, std::size_t bytes, int protection, server serves)
    : begin_{begin}, bytes_{bytes}, protection_{protection}, serves_{std::move(serves)} {
  install_handlers();
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
  if (failures_.size() > most_failures) failures_.pop_front();  // its readers have thrown it long ago
  latest_.store(&failures_.back(), std::memory_order_release);
  failed_pages_.insert(page);
  os::protect(page, situ::detail::page_bytes, PROT_NONE);
}

void territory::try_again() {
  const std::lock_guard held{lock_};
  for (std::byte* const each : std::exchange(failed_pages_, {}))
    os::protect(each, situ::detail::page_bytes, protection_);
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

bool try_look(user_faults::told how, void (*look)(const void*), const void* with) {
  install_handlers();
  if (how == user_faults::told::by_descriptor) {
    static thread_local look_timer of_thread;
    timer_here = &of_thread;
  }
  return ends(look, with);
}

}  // namespace detail
}  // namespace situ::rmem
