// Clocks, sleeping, and sleeping on a word. These functions have the C library's names.
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <ctime>
#include <exception>

#include "model/execution/calls.h"
#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/modelled_clock.h"

namespace situ::model {
namespace {

constexpr std::uint64_t ps_a_ns = 1000;
constexpr std::uint64_t ns_a_second = 1'000'000'000;
constexpr std::uint64_t epoch_ns = 1'000'000'000 * ns_a_second;  // the calendar's clock at time 0: September 2001
constexpr std::uint64_t clock_cycles = 30;                       // to read a clock; assumed

bool shows_date(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

std::uint64_t now_ps() noexcept {
  if (running == &nobody) return the_engine == nullptr ? 0 : the_engine->self().on->clock;
  the_engine->wait_for_all();
  running->clock += clock_cycles * running->period_ps;
  return running->clock;
}

// Returns the time in ns. A negative time counts as 0; a time beyond the signed range counts as the largest.
std::int64_t ns_of(const timespec& time) {
  if (time.tv_sec < 0) return 0;
  std::int64_t ns = 0;
  const bool is_too_much = __builtin_mul_overflow(time.tv_sec, static_cast<std::int64_t>(ns_a_second), &ns) ||
                           __builtin_add_overflow(ns, std::max(time.tv_nsec, 0L), &ns);
  return is_too_much ? INT64_MAX : ns;
}
timespec timespec_of(std::uint64_t ns) {
  return {static_cast<std::time_t>(ns / ns_a_second), static_cast<long>(ns % ns_a_second)};
}

void sleep_until(time_ps when) {
  if (running == &nobody || running->clock >= when) return;
  the_engine->sleep(nullptr, when, "time to pass");
}

time_ps after(std::int64_t ns) noexcept {
  if (ns < 0 || static_cast<std::uint64_t>(ns) > (never - running->clock) / ps_a_ns) return never;
  return running->clock + static_cast<std::uint64_t>(ns) * ps_a_ns;
}

// A handler that has run ends the wait, unless its action restarts calls.
long wait_as_futex(std::uint32_t* word, std::uint32_t value, std::int64_t left_ns) {
  if (situ_model_wait(word, value, left_ns) != 0) return -1;
  if (the_engine->self().signals.interrupted_by != thread_signals::interruption::ends_wait) return 0;
  errno = EINTR;
  return -1;
}

long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* time) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT: return wait_as_futex(word, value, time == nullptr ? -1 : ns_of(*time));
    case FUTEX_WAIT_BITSET: {
      const bool is_date = (operation & FUTEX_CLOCK_REALTIME) != 0;
      std::int64_t left = -1;
      if (time != nullptr) {
        const time_ps until = modelled_time(is_date ? CLOCK_REALTIME : CLOCK_MONOTONIC, *time);
        left = until > running->clock ? static_cast<std::int64_t>((until - running->clock) / ps_a_ns) : 0;
      }
      return wait_as_futex(word, value, left);
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: return situ_model_wake(word, static_cast<int>(value));
    default: errno = ENOSYS; return -1;
  }
}

}  // namespace

time_ps modelled_time(clockid_t clock, const timespec& shown) noexcept {
  auto ns = static_cast<std::uint64_t>(ns_of(shown));
  if (shows_date(clock)) ns = ns > epoch_ns ? ns - epoch_ns : 0;
  return ns > never / ps_a_ns ? never : ns * ps_a_ns;
}

time_ps time_after(const timespec& time) noexcept { return after(ns_of(time)); }

}  // namespace situ::model

using namespace situ::model;

extern "C" {

// --- for the modelled build of Situ itself (host.cpp)
int situ_model_wait(const void* word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  if (running == &nobody) give_up("a wait before main, or after the program's end");
  the_engine->access(reinterpret_cast<std::uintptr_t>(word), 4, access_kind::atomic_read);
  if (__atomic_load_n(static_cast<const std::uint32_t*>(word), __ATOMIC_RELAXED) != expected) return errno = EAGAIN;
  return the_engine->sleep(word, after(timeout_ns), "a word to change") ? 0 : (errno = ETIMEDOUT);
}
int situ_model_wake(const void* word, int count) noexcept {
  if (running == &nobody) return 0;
  the_engine->take_turn();
  return static_cast<int>(the_engine->wake(word, count < 0 ? UINT32_MAX : static_cast<std::uint32_t>(count)));
}
std::uint64_t situ_model_now_ns() noexcept { return now_ps() / ps_a_ns; }
std::uint64_t situ_model_now_cycles() noexcept {
  if (running == &nobody) return 0;
  // a device has no cycles of its own, and uses those of the machine's first core
  return running->clock / (running->is_device ? the_engine->cores().front().period_ps : running->period_ps);
}
void situ_model_settle(std::uint32_t place) noexcept {
  if (running == &nobody) return;
  the_engine->take_turn();
  the_engine->self().place = place;
  the_engine->move_to_tile(the_engine->tile_of_place(place));
}
void situ_model_map_slice(std::uint32_t place, const void* begin, const void* heap, const void* end) noexcept {
  if (the_engine == nullptr) return;
  const outside_time scope;
  const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  try {
    the_engine->map_slice(place, address(begin), address(heap), address(end));
  } catch (const std::exception& failure) {
    give_up(failure.what());
  }
}
std::uint32_t situ_model_core_count() noexcept {
  return the_engine == nullptr ? 1 : static_cast<std::uint32_t>(the_engine->cores().size());
}

std::uint64_t situ_model_memory_bytes() noexcept {
  return the_engine == nullptr ? 0 : the_engine->machine().bytes_for_places();
}

// --- by the C library's names
int clock_gettime(clockid_t clock, timespec* now) noexcept {
  *now = timespec_of(now_ps() / ps_a_ns + (shows_date(clock) ? epoch_ns : 0));
  return 0;
}
int gettimeofday(timeval* now, void*) noexcept {
  const std::uint64_t ns = now_ps() / ps_a_ns + epoch_ns;
  *now = {static_cast<std::time_t>(ns / ns_a_second), static_cast<suseconds_t>(ns % ns_a_second / 1000)};
  return 0;
}
std::time_t time(std::time_t* now) noexcept {
  const auto seconds = static_cast<std::time_t>((now_ps() / ps_a_ns + epoch_ns) / ns_a_second);
  if (now != nullptr) *now = seconds;
  return seconds;
}
int timespec_get(timespec* now, int base) noexcept {
  if (base != TIME_UTC) return 0;
  clock_gettime(CLOCK_REALTIME, now);
  return base;
}
// The process's time is the running core's clock.
std::clock_t clock() noexcept { return static_cast<std::clock_t>(now_ps() / ps_a_ns / (ns_a_second / CLOCKS_PER_SEC)); }
int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (running == &nobody) return 0;
  const bool is_date = (flags & TIMER_ABSTIME) != 0;
  const time_ps until = is_date ? modelled_time(clock, *time) : after(ns_of(*time));
  sleep_until(until);
  if (running->clock >= until) return 0;  // else a handler has run
  if (!is_date && left != nullptr) *left = timespec_of((until - running->clock) / ps_a_ns);
  return EINTR;
}
int nanosleep(const timespec* time, timespec* left) {
  const int failed = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
  return failed == 0 ? 0 : (errno = failed, -1);
}
int usleep(useconds_t microseconds) {
  const timespec time = timespec_of(std::uint64_t{microseconds} * 1000);
  return nanosleep(&time, nullptr);
}
unsigned sleep(unsigned seconds) {
  const timespec time = timespec_of(seconds * ns_a_second);
  timespec left{};
  return nanosleep(&time, &left) == 0 ? 0 : static_cast<unsigned>(left.tv_sec + (left.tv_nsec != 0 ? 1 : 0));
}

long syscall(long number, ...) noexcept {
  std::va_list given;
  va_start(given, number);
  long a[6];
  for (long& each : a) each = va_arg(given, long);
  va_end(given);
  if (running != &nobody) {
    if (number == SYS_futex)
      return futex(reinterpret_cast<std::uint32_t*>(a[0]), static_cast<int>(a[1]), static_cast<std::uint32_t>(a[2]),
                   reinterpret_cast<const timespec*>(a[3]));
    if (number == SYS_membarrier)  // on one host thread all memory is in order
      return a[0] == MEMBARRIER_CMD_QUERY ? MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED
                                          : 0;
    if (number == SYS_sched_yield) return the_engine->yield(), 0;
  }
  const long result = host_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
}
