// The program's timers: alarm, setitimer and timer_create, by the C library's names. All of them count modelled time,
// those of the process's or a thread's processor time, too, as clock() does. A timer's expiry is an event of the engine,
// which raises a signal (signals.h).
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/modelled_clock.h"
#include "model/execution/signals.h"

namespace situ::model {
namespace {

constexpr time_ps ps_a_second = 1'000'000'000'000;
constexpr time_ps ps_a_microsecond = 1'000'000;
constexpr std::int64_t most_seconds = 9'000'000;  // a hundred days; later ones count as never

struct timer {
  bool is_used = false;
  int signal = SIGALRM;
  int code = SI_KERNEL;
  int id = 0;
  sigval value{};
  clockid_t clock = CLOCK_REALTIME;
  time_ps next = never;  // never: not set
  time_ps interval = 0;
  std::uint64_t setting = 0;  // number of times that it was set: events of earlier settings are void
  int overrun = 0;            // expiries since its signal was raised
  int last_overrun = 0;       // the same of the signal that was handled last
};

constexpr int most_timers = 1024;
constinit timer itimers[3];  // by ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF
constinit timer timers[most_timers];

void schedule(timer& of);

void expire(timer& of) {
  const time_ps when = of.next;
  if (of.signal != 0 &&
      !raise_signal({.number = of.signal, .code = of.code, .timer = of.id, .value = of.value, .source = &of}, when))
    of.overrun = std::min(of.overrun + 1, INT32_MAX - 1);
  of.next = of.interval == 0 ? never : when + of.interval;
  if (of.next != never) schedule(of);
}

void schedule(timer& of) {
  the_engine->at(of.next, [&of, setting = of.setting] {
    if (of.setting == setting) expire(of);
  });
}

void note_taken(void* source) {
  auto& of = *static_cast<timer*>(source);
  of.last_overrun = of.overrun;
  of.overrun = 0;
}

void set(timer& of, time_ps next, time_ps interval) {
  if (running == &nobody) {
    if (next == never) return;
    give_up("a timer is set where no modelled time passes: before main, or after the program's end");
  }
  signal_is_taken = &note_taken;
  begin_signals();
  ++of.setting;
  of.next = next;
  of.interval = interval;
  of.overrun = 0;
  if (next != never) schedule(of);
}

time_ps left_of(const timer& of) noexcept {
  if (of.next == never || running == &nobody) return 0;
  return std::max<time_ps>(of.next - std::min(of.next, running->clock), 1000);  // a timer that is set has time left
}

time_ps ps_of(std::int64_t seconds, std::int64_t rest, time_ps unit) noexcept {
  return static_cast<time_ps>(std::min(seconds, most_seconds)) * ps_a_second + static_cast<time_ps>(rest) * unit;
}
timeval timeval_of(time_ps time) noexcept {
  const time_ps us = (time + ps_a_microsecond - 1) / ps_a_microsecond;
  return {static_cast<std::time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
}
timespec timespec_of(time_ps time) noexcept {
  return {static_cast<std::time_t>(time / ps_a_second), static_cast<long>(time % ps_a_second / 1000)};
}

void show(const timer& of, itimerval& shown) noexcept {
  shown = {.it_interval = timeval_of(of.interval), .it_value = timeval_of(left_of(of))};
}
void show(const timer& of, itimerspec& shown) noexcept {
  shown = {.it_interval = timespec_of(of.interval), .it_value = timespec_of(left_of(of))};
}

bool is_time(const timeval& time) { return time.tv_sec >= 0 && time.tv_usec >= 0 && time.tv_usec < 1'000'000; }
bool is_time(const timespec& time) { return time.tv_sec >= 0 && time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000; }

timer* find(timer_t id) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(id);
  return number < most_timers && timers[number].is_used ? &timers[number] : nullptr;
}

// The time after which the real interval timer expires, and its interval, in microseconds.
time_ps set_alarm(std::uint64_t after_us, std::uint64_t interval_us) {
  timer& of = itimers[ITIMER_REAL];
  const time_ps left = left_of(of);
  set(of, after_us == 0 ? never : running->clock + after_us * ps_a_microsecond, interval_us * ps_a_microsecond);
  return left;
}

}  // namespace
}  // namespace situ::model

using namespace situ::model;

extern "C" {

unsigned alarm(unsigned seconds) noexcept {
  const std::int64_t bounded = std::min<std::int64_t>(seconds, most_seconds);
  return static_cast<unsigned>((set_alarm(static_cast<std::uint64_t>(bounded) * 1'000'000, 0) + ps_a_second - 1) /
                               ps_a_second);
}
useconds_t ualarm(useconds_t after, useconds_t interval) noexcept {
  return static_cast<useconds_t>(set_alarm(after, interval) / ps_a_microsecond);
}

int getitimer(__itimer_which_t which, itimerval* now) noexcept {
  if (which < ITIMER_REAL || which > ITIMER_PROF) return errno = EINVAL, -1;
  show(itimers[which], *now);
  return 0;
}
int setitimer(__itimer_which_t which, const itimerval* wanted, itimerval* before) noexcept {
  constexpr int signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
  if (which < ITIMER_REAL || which > ITIMER_PROF || !is_time(wanted->it_value) || !is_time(wanted->it_interval))
    return errno = EINVAL, -1;
  timer& of = itimers[which];
  if (before != nullptr) show(of, *before);
  of.signal = signals[which];
  const time_ps after = ps_of(wanted->it_value.tv_sec, wanted->it_value.tv_usec, ps_a_microsecond);
  set(of, after == 0 ? never : running->clock + after,
      ps_of(wanted->it_interval.tv_sec, wanted->it_interval.tv_usec, ps_a_microsecond));
  return 0;
}

int timer_create(clockid_t clock, sigevent* event, timer_t* made) noexcept {
  const int how = event == nullptr ? SIGEV_SIGNAL : event->sigev_notify;
  if (how != SIGEV_SIGNAL && how != SIGEV_NONE)
    give_up("timer_create: SIGEV_THREAD and SIGEV_THREAD_ID are not modelled; use SIGEV_SIGNAL");
  timer* const of = std::ranges::find(timers, false, &timer::is_used);
  if (of == std::end(timers)) return errno = EAGAIN, -1;
  const int id = static_cast<int>(of - timers);
  const std::uint64_t setting = of->setting + 1;  // events of the timer that had this number are void
  *of = {.is_used = true, .signal = SIGALRM, .code = SI_TIMER, .id = id, .clock = clock, .setting = setting};
  of->value.sival_int = id;
  if (event != nullptr) of->value = event->sigev_value;
  if (event != nullptr) of->signal = how == SIGEV_NONE ? 0 : event->sigev_signo;
  if (of->signal < 0 || of->signal > 64) return of->is_used = false, errno = EINVAL, -1;
  *made = reinterpret_cast<timer_t>(static_cast<std::uintptr_t>(id));
  return 0;
}
int timer_settime(timer_t id, int flags, const itimerspec* wanted, itimerspec* before) noexcept {
  timer* const of = find(id);
  if (of == nullptr || !is_time(wanted->it_value) || !is_time(wanted->it_interval)) return errno = EINVAL, -1;
  if (before != nullptr) show(*of, *before);
  const time_ps after = ps_of(wanted->it_value.tv_sec, wanted->it_value.tv_nsec, 1000);
  const bool is_date = (flags & TIMER_ABSTIME) != 0;
  withdraw_signals(of);
  set(*of,
      after == 0 ? never
      : is_date  ? modelled_time(of->clock, wanted->it_value)
                 : running->clock + after,
      ps_of(wanted->it_interval.tv_sec, wanted->it_interval.tv_nsec, 1000));
  return 0;
}
int timer_gettime(timer_t id, itimerspec* now) noexcept {
  const timer* const of = find(id);
  if (of == nullptr) return errno = EINVAL, -1;
  show(*of, *now);
  return 0;
}
int timer_getoverrun(timer_t id) noexcept {
  const timer* const of = find(id);
  return of == nullptr ? (errno = EINVAL, -1) : of->last_overrun;
}
int timer_delete(timer_t id) noexcept {
  timer* const of = find(id);
  if (of == nullptr) return errno = EINVAL, -1;
  withdraw_signals(of);
  ++of->setting;
  of->is_used = false;
  of->next = never;
  return 0;
}
}
