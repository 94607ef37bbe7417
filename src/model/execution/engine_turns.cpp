// The choice of the next turn: cores in the order of their clocks, timers, events, threads that sleep and are woken.
#include <algorithm>
#include <utility>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/stacks.h"
#include "model/execution/start.h"
#include "model/execution/time_profile.h"

namespace situ::model {
namespace {

constexpr std::uint64_t yield_cycles = 50;           // assumed
constexpr time_ps slice_ps = 1'000'000'000;          // 1 ms, if several threads share a core
constexpr std::uint64_t part_of_time = 64;           // so a core runs ahead for 1/64 of a time that has new sharing
constexpr std::uint64_t most_lonely_wakes = 20'000;  // then threads only poll, and nothing can change

}  // namespace

time_ps engine::next_due() const noexcept {
  time_ps due = timers_.empty() ? never : timers_.begin()->first;
  if (!events_.empty()) due = std::min(due, events_.top().when);
  return due;
}

time_ps engine::lead(time_ps when) const noexcept {
  const time_ps since = when > found_at_ ? when - found_at_ : 0;
  return std::clamp(since / part_of_time, options_.quantum_ps / part_of_time, options_.quantum_ps);
}

void engine::set_horizon(core& c) {
  time_ps horizon = next_due();
  for (const core* const other : busy_)
    if (other != &c) horizon = std::min(horizon, other->clock);
  if (!c.waiting.empty()) horizon = std::min(horizon, c.slice_begin + slice_ps);
  c.horizon = horizon;
  c.turn_end = options_.is_strict ? horizon : horizon > never - options_.quantum_ps ? never : horizon + lead(horizon);
  c.quantum_end = std::min(c.turn_end, watch_at_.load(std::memory_order_relaxed));
}

// Handles the earliest timer or event.
void engine::handle_due() {
  const time_ps timer = timers_.empty() ? never : timers_.begin()->first;
  if (!events_.empty() && events_.top().when <= timer) {
    const std::function<void()> what = events_.top().what;
    events_.pop();
    note_progress();
    handles_event_ = true;
    what();
    handles_event_ = false;
    return;
  }
  thread& woken = *threads_[timers_.begin()->second];
  if (woken.word == nullptr) note_progress();  // the thread only waits for time to pass
  if (busy_.empty() && ++lonely_wakes_ - progress_at_ > most_lonely_wakes && !may_yet_change())
    deadlock("nothing has changed for long, all threads look and sleep in turn");
  woken.timed_out = true;
  make_ready(woken, timer);
}

bool engine::may_yet_change() const noexcept {
  return !events_.empty() || std::ranges::any_of(sleepers_, [&](const thread* t) {
    return t->wake_at != never && (t->word == nullptr || t->slept_at <= progress_at_);
  });
}

core& engine::next_core() {
  for (;;) {
    core* best = nullptr;
    for (core* const c : busy_)
      if (best == nullptr || c->clock < best->clock) best = c;
    const time_ps due = next_due();
    const time_ps earliest = best == nullptr ? due : std::min(best->clock, due);
    if (earliest != never && earliest >= watch_at_.load(std::memory_order_relaxed)) call_watcher(earliest);
    if (best != nullptr && best->clock < due) return *best;
    if (due == never) {
      if (best != nullptr) return *best;
      deadlock("deadlock: every thread sleeps, and nothing is left that could wake one");
    }
    handle_due();
  }
}

void engine::wait_for_turn() {
  core* const c = running;
  if (c == &nobody || held_ != 0) return;
  if (c->clock >= watch_at_.load(std::memory_order_relaxed)) [[unlikely]]
    look(*c);
  if (c->clock <= c->horizon) return;
  const std::uint64_t switches = switches_;
  {
    const outside_time scope;
    if (!c->waiting.empty() && c->clock - c->slice_begin > slice_ps) give_core_on(*c);
    run(next_core());
  }
  running = self_->on;
  if (signals_are_due) [[unlikely]]
    take_signals();
  const watched_read& again = self_->last_read;
  if (switches_ != switches && again.bytes != 0)
    access_at_once(again.address, again.bytes, access_kind::read, again.at);
}

// Switches to the current thread of that core; returns when the calling thread has its turn again.
void engine::run(core& next) {
  thread& from = *self_;
  thread& to = *next.current;
  set_horizon(next);
  if (&from == &to) return;
  ++switches_;
  ++next.switches;
  mix(next.clock * 64 + next.index);
  self_ = &to;
  exchange_signal_masks(from, to);
  switch_to(*from.host, *to.host);
  while (from.shows_stack) {
    print_stack(2);
    from.shows_stack = false;
    switch_to(*from.host, *asks_for_stacks_->host);
  }
  release_ended();
}

// Releases the hosts of ended threads, whose thread-local variables are destroyed here. pre: running on another
// thread's stack, outside of modelled time.
void engine::release_ended() {
  for (thread* const t : ended_) std::exchange(t->host, nullptr)->release();
  ended_.clear();
}

void engine::yield() {
  core* const c = running;
  if (c == &nobody) return;
  c->clock += yield_cycles * c->period_ps;
  if (c->waiting.empty()) return take_turn();
  {
    const outside_time scope;
    give_core_on(*c);
    run(next_core());
  }
  running = self_->on;
  if (signals_are_due) take_signals();
}

// Gives the core to its next ready thread.
void engine::give_core_on(core& c) {
  c.waiting.push_back(c.current);
  leave_core(c);
}

// Takes a core from its thread, which sleeps or has ended; the next ready thread gets the core, or it becomes idle.
void engine::leave_core(core& c) {
  if (c.waiting.empty()) {
    c.current = nullptr;
    c.idle_since = c.clock;
    change_active(c, false);
    busy_.erase(std::find(busy_.begin(), busy_.end(), &c));
    return;
  }
  c.current = c.waiting.front();
  c.waiting.erase(c.waiting.begin());
  c.clock += switch_cycles * c.period_ps;
  c.slice_begin = c.clock;
}

void engine::make_ready(thread& t, time_ps when) {
  if (t.state == thread_state::sleeping) {
    std::erase(sleepers_, &t);
    if (t.wake_at != never) timers_.erase({t.wake_at, t.index});
  }
  t.state = thread_state::ready;
  t.word = nullptr;
  t.wake_at = never;
  core& c = *t.on;
  if (c.current != nullptr) {
    c.waiting.push_back(&t);
  } else {
    const time_ps begin = std::max(c.clock, when);
    c.idle_ps += begin - c.idle_since;
    c.clock = begin;
    c.slice_begin = begin;
    if (profile_) profile_->begin(c);
    c.current = &t;
    change_active(c, true);
    busy_.insert(std::ranges::lower_bound(busy_, c.index, {}, &core::index), &c);
  }
}

bool engine::sleep(const void* word, time_ps wake_at, const char* waits_for) {
  if (running == &nobody) give_up("a thread would sleep where no modelled time passes: before main, or after the end");
  if (held_ != 0) give_up("a thread would wait within a function that the C library calls under its own lock");
  thread& me = *self_;
  {
    const outside_time scope;
    me.state = thread_state::sleeping;
    me.word = word;
    me.wake_at = wake_at;
    me.waits_for = waits_for;
    me.last_read = {};
    me.timed_out = false;
    me.signals.interrupted_by = thread_signals::interruption::none;
    me.slept_at = lonely_wakes_;
    sleepers_.push_back(&me);
    if (wake_at != never) timers_.insert({wake_at, me.index});
    leave_core(*me.on);
    run(next_core());
  }
  running = me.on;
  const bool is_woken = !me.timed_out;
  if (signals_are_due) take_signals();
  return is_woken;
}

std::uint32_t engine::wake(const void* word, std::uint32_t count) {
  return running == &nobody ? 0 : wake_at(word, count, running->clock + wake_cycles * running->period_ps);
}

void engine::interrupt(thread& sleeper, time_ps when) {
  make_ready(sleeper, when + wake_cycles * sleeper.on->period_ps);
  note_progress();
}

std::uint32_t engine::wake_at(const void* word, std::uint32_t count, time_ps when) {
  core* const c = running;
  std::uint32_t woken = 0;
  {
    const outside_time scope;
    for (std::size_t i = 0; i < sleepers_.size() && woken < count;)
      if (sleepers_[i]->word == word) {
        make_ready(*sleepers_[i], when);
        ++woken;
      } else {
        ++i;
      }
    if (woken != 0) note_progress();
  }
  if (woken != 0 && c != &nobody) set_horizon(*c);
  return woken;
}

void engine::at(time_ps when, std::function<void()> what) {
  core* const c = running;
  {
    const outside_time scope;
    events_.push({when, next_event_++, std::move(what)});
  }
  if (c != &nobody) set_horizon(*c);
}

}  // namespace situ::model
