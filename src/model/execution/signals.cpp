#include "model/execution/signals.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/host_samples.h"
#include "model/execution/modelled_clock.h"
#include "model/execution/start.h"

namespace situ::model {

constinit bool signals_are_due = false;
void (*signal_is_taken)(void* source) = nullptr;

namespace {

constexpr std::uint64_t delivery_cycles = 1000;  // the kernel's way to a handler and back; assumed

bool masks_are_known = false;                   // each thread's `mask` is set, if it does not run
bool masks_differ = false;                      // invariant 1
thread_signals& process = *new thread_signals;  // `waiting`: signals that all threads block

constexpr std::uint64_t bit_of(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

std::uint64_t host_mask() noexcept {
  std::uint64_t mask = 0;
  host_call(SYS_rt_sigprocmask, SIG_SETMASK, 0, reinterpret_cast<long>(&mask), sizeof mask);
  return mask;
}
void set_host_mask(std::uint64_t mask) noexcept {
  host_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0, sizeof mask);
}

// Until a program has a timer, masks are only noted: its threads share the host's.
std::uint64_t mask_of_running() noexcept { return masks_differ ? host_mask() : the_engine->self().signals.mask; }
void know_masks() {
  if (std::exchange(masks_are_known, true)) return;
  for (thread* const each : the_engine->threads()) each->signals.mask = host_mask();
}

// The kernel's form of struct sigaction.
struct host_action {
  std::uintptr_t handler = 0;
  std::uint64_t flags = 0;
  std::uintptr_t restorer = 0;
  std::uint64_t mask = 0;
};
constexpr std::uintptr_t default_action = 0;
constexpr std::uintptr_t ignored = 1;

host_action action_of(int signal) noexcept {
  host_action now;
  host_call(SYS_rt_sigaction, signal, 0, reinterpret_cast<long>(&now), sizeof now.mask);
  return now;
}
bool is_dropped(int signal) noexcept {
  const std::uintptr_t handler = action_of(signal).handler;
  const bool is_harmless = signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
  return handler == ignored || (handler == default_action && is_harmless);
}

// Takes the first waiting signal of this set out of a list. Returns false if there is none.
bool take_from(thread_signals& list, std::uint64_t set, waiting_signal& taken) noexcept {
  waiting_signal* const end = list.waiting + list.waiting_count;
  waiting_signal* const found =
      std::find_if(list.waiting, end, [&](const waiting_signal& each) { return (bit_of(each.number) & set) != 0; });
  if (found == end) return false;
  taken = *found;
  std::copy(found + 1, end, found);
  --list.waiting_count;
  return true;
}

void note_taken(const waiting_signal& taken) {
  if (taken.source != nullptr && signal_is_taken != nullptr) signal_is_taken(taken.source);
}

bool take_for(thread& me, std::uint64_t set, waiting_signal& taken) {
  if (!take_from(me.signals, set, taken) && !take_from(process, set, taken)) return false;
  const auto has_some = [](const thread* each) { return each->signals.waiting_count != 0; };
  signals_are_due = process.waiting_count != 0 || std::ranges::any_of(the_engine->threads(), has_some);
  note_taken(taken);
  return true;
}

bool is_waiting(const thread_signals& list, const waiting_signal& what) noexcept {
  return std::any_of(list.waiting, list.waiting + list.waiting_count, [&](const waiting_signal& each) {
    return each.number == what.number && (what.number < SIGRTMIN || each.source == what.source);
  });
}

[[noreturn]] void end_by(int signal) {
  const time_ps now = running->clock;
  const outside_time scope;
  say(fmt::format("situ model: the program was ended by its own signal ({}) at {} ns of modelled time\n",
                  ::sigdescr_np(signal), now / 1000)
          .c_str());
  host_exit_with_report(128 + signal);
}

// Runs a signal's handler on the running thread, as the kernel would. A handler may leave by siglongjmp: nothing here
// needs to be destroyed.
void handle(const waiting_signal& what) {
  const host_action action = action_of(what.number);
  if (action.handler == default_action && !is_dropped(what.number)) end_by(what.number);
  if (is_dropped(what.number)) return;
  thread& me = the_engine->self();
  if ((action.flags & static_cast<std::uint64_t>(SA_RESETHAND)) != 0) {
    host_action reset = action;
    reset.handler = default_action;
    host_call(SYS_rt_sigaction, what.number, reinterpret_cast<long>(&reset), 0, sizeof reset.mask);
  }
  running->clock += delivery_cycles * running->period_ps;
  const std::uint64_t before = host_mask();
  const bool blocks_itself = (action.flags & static_cast<std::uint64_t>(SA_NODEFER)) == 0;
  set_host_mask(before | action.mask | (blocks_itself ? bit_of(what.number) : 0));
  const watched_read read_before = me.last_read;
  if ((action.flags & SA_SIGINFO) != 0) {
    siginfo_t info{};
    info.si_signo = what.number;
    info.si_code = what.code;
    if (what.code == SI_TIMER) info.si_timerid = what.timer;
    info.si_value = what.value;
    ucontext_t context{};
    reinterpret_cast<void (*)(int, siginfo_t*, void*)>(action.handler)(what.number, &info, &context);
  } else {
    reinterpret_cast<void (*)(int)>(action.handler)(what.number);
  }
  me.last_read = read_before;
  const bool restarts =
      (action.flags & SA_RESTART) != 0 && me.signals.interrupted_by != thread_signals::interruption::ends_wait;
  me.signals.interrupted_by =
      restarts ? thread_signals::interruption::restarts : thread_signals::interruption::ends_wait;
  set_host_mask(before);
}

thread* find_target(std::uint64_t signal, bool awaits) {
  for (thread* const each : the_engine->threads()) {
    if (each->state == thread_state::done || each->on->is_device) continue;
    const std::uint64_t blocked = each == &the_engine->self() ? host_mask() : each->signals.mask;
    if (awaits ? (each->signals.awaited & signal) != 0 : (blocked & signal) == 0) return each;
  }
  return nullptr;
}

}  // namespace

void begin_signals() {
  know_masks();
  if (masks_differ) return;
  masks_differ = true;
  set_host_mask(the_engine->self().signals.mask);
}

void inherit_signal_mask(thread& made) noexcept {
  if (masks_are_known) made.signals.mask = mask_of_running();
}

void exchange_signal_masks(thread& from, thread& to) noexcept {
  if (!masks_differ) return;
  from.signals.mask = host_mask();
  if (to.signals.mask != from.signals.mask) set_host_mask(to.signals.mask);
}

void take_signals() {
  waiting_signal taken;
  while (running != &nobody && take_for(the_engine->self(), ~host_mask(), taken)) handle(taken);
}

bool raise_signal(const waiting_signal& what, time_ps when) {
  const std::uint64_t signal = bit_of(what.number);
  if (thread* const waits = find_target(signal, true)) {
    waits->signals.awaited = 0;
    waits->signals.taken = what;
    note_taken(what);
    the_engine->interrupt(*waits, when);
    return true;
  }
  if (is_dropped(what.number)) return true;
  for (const thread* const each : the_engine->threads())
    if (is_waiting(each->signals, what)) return false;
  if (is_waiting(process, what)) return false;
  thread* const target = find_target(signal, false);
  thread_signals& list = target == nullptr ? process : target->signals;
  if (list.waiting_count == thread_signals::most_waiting) return false;
  list.waiting[list.waiting_count++] = what;
  signals_are_due = true;
  if (target != nullptr && target->state == thread_state::sleeping) the_engine->interrupt(*target, when);
  return true;
}

void withdraw_signals(const void* source) noexcept {
  const auto withdraw = [&](thread_signals& from) {
    waiting_signal* const end = from.waiting + from.waiting_count;
    waiting_signal* const left =
        std::remove_if(from.waiting, end, [&](const waiting_signal& each) { return each.source == source; });
    from.waiting_count = static_cast<std::uint32_t>(left - from.waiting);
  };
  withdraw(process);
  for (thread* const each : the_engine->threads()) withdraw(each->signals);
}

namespace {

using interruption = thread_signals::interruption;

// Sleeps until a handler has run. pre: modelled time passes.
void wait_for_handler() {
  thread& me = the_engine->self();
  me.signals.interrupted_by = interruption::none;
  take_signals();
  while (me.signals.interrupted_by == interruption::none) the_engine->sleep(&me.signals, never, "a signal");
}

std::uint64_t set_of(const sigset_t* set) noexcept {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, set, sizeof bits);
  return bits;
}

// Waits for a signal of the set; returns false if none has come by then.
bool wait_for_one_of(std::uint64_t set, time_ps until, waiting_signal& taken) {
  begin_signals();
  thread& me = the_engine->self();
  if (take_for(me, set, taken)) return true;
  me.signals.awaited = set;
  while (me.signals.awaited != 0)
    if (!the_engine->sleep(&me.signals, until, "a signal") && me.signals.awaited != 0) {
      me.signals.awaited = 0;
      return false;
    }
  taken = me.signals.taken;
  return true;
}

void require_time(const char* what) {
  if (running == &nobody) give_up((std::string{what} + " before main, or after the program's end").c_str());
}

std::uint64_t changed(std::uint64_t mask, int how, std::uint64_t by) noexcept {
  if (how == SIG_BLOCK) return mask | by;
  return how == SIG_UNBLOCK ? mask & ~by : by;
}

int change_mask(int how, const sigset_t* set, sigset_t* before) noexcept {
  if (set != nullptr && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
  const bool is_of_thread = running != &nobody;
  if (is_of_thread) know_masks();
  const std::uint64_t old = is_of_thread ? mask_of_running() : host_mask();
  if (set != nullptr) {
    std::uint64_t bits = set_of(set);
    if (how != SIG_UNBLOCK)
      for (const int unblockable : {32, 33, sampling_signal()}) bits &= ~bit_of(unblockable);  // the C library's own
    const std::uint64_t wanted = changed(old, how, bits);
    set_host_mask(wanted);
    if (is_of_thread) the_engine->self().signals.mask = wanted;
  }
  if (before != nullptr) {
    ::sigemptyset(before);
    __builtin_memcpy(before, &old, sizeof old);
  }
  if (signals_are_due && is_of_thread) take_signals();
  return 0;
}

}  // namespace
}  // namespace situ::model

using namespace situ::model;

extern "C" {

int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept { return change_mask(how, set, before); }
int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  const int failed = change_mask(how, set, before);
  return failed == 0 ? 0 : (errno = failed, -1);
}

int pause() {
  require_time("pause");
  begin_signals();
  wait_for_handler();
  errno = EINTR;
  return -1;
}
int sigsuspend(const sigset_t* mask) {
  require_time("sigsuspend");
  begin_signals();
  sigset_t before;
  thread& me = the_engine->self();
  me.signals.interrupted_by = interruption::none;
  change_mask(SIG_SETMASK, mask, &before);  // handlers of signals that wait run here
  if (me.signals.interrupted_by == interruption::none) wait_for_handler();
  change_mask(SIG_SETMASK, &before, nullptr);
  errno = EINTR;
  return -1;
}
int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* limit) {
  require_time("sigtimedwait");
  const time_ps until = limit == nullptr ? never : time_after(*limit);
  waiting_signal taken;
  if (!wait_for_one_of(set_of(set), until, taken)) return errno = EAGAIN, -1;
  if (info != nullptr) {
    *info = {};
    info->si_signo = taken.number;
    info->si_code = taken.code;
    info->si_value = taken.value;
  }
  return taken.number;
}
int sigwaitinfo(const sigset_t* set, siginfo_t* info) { return sigtimedwait(set, info, nullptr); }
int sigwait(const sigset_t* set, int* number) {
  *number = sigtimedwait(set, nullptr, nullptr);
  return 0;
}
}
