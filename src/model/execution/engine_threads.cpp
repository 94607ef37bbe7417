// The life of threads: the choice of their first core, devices' threads, the end of threads, and the list of all
// threads at a deadlock.
#include <algorithm>
#include <utility>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/object_log.h"
#include "model/execution/openmp.h"
#include "model/execution/stacks.h"
#include "model/execution/start.h"

namespace situ::model {
namespace {

constexpr std::size_t device_stack_bytes = std::size_t{256} << 10;

}  // namespace

core& engine::emptiest_core_of_tile(std::uint32_t tile) noexcept {
  core* best = nullptr;
  for (core& c : cores_)
    if (c.tile == tile && (best == nullptr || is_emptier(c, *best))) best = &c;
  return *best;
}

void engine::move_to_tile(std::uint32_t tile) {
  core& on = *self_->on;
  if (on.tile != tile || on.threads_here > 1) move_to(emptiest_core_of_tile(tile));
}

thread* engine::find(std::uintptr_t fs_base) noexcept {
  for (thread* const t : threads_)
    if (t->host != nullptr && t->host->fs_base() == fs_base) return t;
  return nullptr;
}

thread& engine::make_thread(core& on, std::size_t stack_bytes) {
  auto* const made = new thread;
  made->index = static_cast<std::uint32_t>(threads_.size());
  made->on = &on;
  made->host = lent_thread::park(stack_bytes);
  made->host->prepare(&thread_entry);
  ++on.threads_here;
  threads_.push_back(made);
  if (objects_) objects_->threads_changed();
  return *made;
}

void engine::thread_entry() {
  engine& here = *the_engine;
  thread& me = *here.self_;
  here.release_ended();
  running = me.on;
  me.has_begun = true;
  void* const result = me.body(me.argument);
  end_openmp_of(me);
  here.end_thread(result);
}

namespace {
void (*first_body)() = nullptr;
}

void engine::begin(void (*body)()) {
  first_body = body;
  thread& first = make_thread(cores_[0], usual_stack_bytes());
  first.body = [](void*) -> void* {
    first_body();
    return nullptr;
  };
  make_ready(first, 0);
  self_ = &first;
  set_horizon(cores_[0]);
  leave_first_thread(*first.host);
  __builtin_unreachable();
}

thread& engine::start_thread(void* (*body)(void*), void* argument, std::size_t stack_bytes) {
  core* const c = running;
  thread* made = nullptr;
  {
    const outside_time scope;
    made = &make_thread(emptiest_core_of_tile(self_->on->tile), stack_bytes);
    made->body = body;
    made->argument = argument;
    made->place = self_->place;
    inherit_signal_mask(*made);
    make_ready(*made, self_->on->clock + wake_cycles * self_->on->period_ps);
    found_at_ = std::max(found_at_, self_->on->clock);
    note_progress();
  }
  if (c != &nobody) set_horizon(*c);
  return *made;
}

core& engine::add_device_core() {
  core& made = device_cores_.emplace_back();
  made.index = static_cast<std::uint32_t>(cores_.size() + device_cores_.size() - 1);
  made.of_core = made.index;
  made.is_device = true;
  made.front = &no_front;
  made.period_ps = 0;  // so that cycles take no time
  if (device_cores_.size() == 1) {
    give_own_block_costs(made);
  } else {
    made.block_costs = device_cores_.front().block_costs;
    made.text_bytes = device_cores_.front().text_bytes;
  }
  return made;
}

thread& engine::start_device(void* (*body)(void*), void* argument) {
  core* const c = running;
  thread* made = nullptr;
  {
    const outside_time scope;
    made = &make_thread(add_device_core(), device_stack_bytes);
    made->body = body;
    made->argument = argument;
    make_ready(*made, self_->on->clock);
    note_progress();
  }
  if (c != &nobody) set_horizon(*c);
  return *made;
}

void engine::end_thread(void* result) {
  take_turn();
  thread& me = *self_;
  running = &nobody;
  me.result = result;
  me.state = thread_state::done;
  --me.on->threads_here;
  const time_ps when = me.on->clock;
  leave_core(*me.on);
  if (me.is_detached) ended_.push_back(&me);
  if (me.joiner != nullptr && me.joiner->state == thread_state::sleeping)
    make_ready(*me.joiner, when + wake_cycles * me.on->period_ps);
  note_progress();
  run(next_core());
  give_up("an ended thread runs on");
}

void* engine::join(thread& ended) {
  take_turn();
  if (ended.state == thread_state::done && running != &nobody)
    running->clock = std::max(running->clock, ended.on->clock);
  while (ended.state != thread_state::done) {  // a signal wakes it, too
    ended.joiner = self_;
    sleep(nullptr, never, "the end of a thread");
  }
  const outside_time scope;
  if (ended.host != nullptr) std::exchange(ended.host, nullptr)->release();
  return ended.result;
}

void engine::detach(thread& which) {
  which.is_detached = true;
  if (which.state != thread_state::done) return;
  const outside_time scope;
  std::exchange(which.host, nullptr)->release();
}

void engine::move_to(core& target) {
  thread& me = *self_;
  if (me.on == &target || running == &nobody) return;
  {
    const outside_time scope;
    core& before = *me.on;
    const time_ps when = before.clock + switch_cycles * before.period_ps;
    leave_core(before);
    --before.threads_here;
    ++target.threads_here;
    me.on = &target;
    make_ready(me, when);
    run(next_core());
  }
  running = me.on;
}

void engine::move(thread& which, core& target) {
  if (&which == self_) return move_to(target);
  if (which.on == &target || which.state == thread_state::done) return;
  core* const c = running;
  {
    const outside_time scope;
    core& before = *which.on;
    --before.threads_here;
    ++target.threads_here;
    which.on = &target;
    if (which.state == thread_state::ready) {
      if (before.current == &which)
        leave_core(before);
      else
        std::erase(before.waiting, &which);
      make_ready(which, before.clock + switch_cycles * before.period_ps);
    }
  }
  if (c != &nobody) set_horizon(*c);
}

// --- deadlock and thread list ----------------------------------------------------------------------------------------

void engine::print_threads() {
  asks_for_stacks_ = self_;
  for (thread* const t : threads_) {
    if (t->state == thread_state::done) continue;
    print_thread(*t);
    if (!t->has_begun) {
      say("    has not begun\n");
    } else if (t == self_) {
      print_stack(1);
    } else {
      t->shows_stack = true;
      switch_to(*self_->host, *t->host);
    }
  }
}

void engine::deadlock(const char* why) {
  say("situ model: ");
  say(why);
  say("\n");
  print_threads();
  host_exit_with_report(3);
}

}  // namespace situ::model
