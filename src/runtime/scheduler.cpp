#include <situ/runtime/detail/scheduler.h>

#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/memory/detail/place_context.h>

#include <immintrin.h>

#include <utility>

#include "base/host.h"
#include "fabric/observe.h"
#include "memory/liveness.h"
#include "runtime/fiber_pool.h"
#include "runtime/idle_policy.h"
#include "runtime/runtime_state.h"
#include "runtime/waiter_lists.h"

namespace situ::detail {
namespace {

// Before a switch to a worker: about half a microsecond, the longest that a request may then wait to be seen.
constexpr std::uint32_t spin_turns_alone = 256;
constexpr std::uint32_t ready_tasks_a_turn = 64;
constexpr std::uint32_t turns_without_a_look = 16;  // at the channels, while what waits can go on without them
#if defined(SITU_TEST_POINTS)
constexpr std::int64_t idle_before_give_back_ns = -1;  // tests/death: nothing but a wake-up ends a sleep
#else
// a place that sleeps as long gives back what idle stacks have touched
constexpr std::int64_t idle_before_give_back_ns = 100'000'000;
#endif
constexpr std::uint32_t places_to_spin_on = 16;  // with more, one look at all channels takes too long

std::int64_t monotonic_ns() noexcept { return static_cast<std::int64_t>(steady_ns()); }

}  // namespace

struct scheduler::implementation {
  scheduler& outer;
  endpoint& fabric;
  job_control& control;
  fiber_pool fibers;
  waiter_lists waits;
  ready_task* ready_first = nullptr;
  ready_task* ready_last = nullptr;
  ready_task* handed_over = nullptr;  // to the next worker that begins a turn: its stack is large enough
  std::uint64_t turns = 0;
  bool turn_is_open = false;         // its worker waits before it asked the others that wait
  std::uint32_t turns_finished = 0;  // for such workers, since the last look at the channels
  std::uint32_t seen_failures = 0;   // ends of places for which the waits of that time have been ended
  bool late_wait = false;            // a task waits that has not been told of one of those
  bool is_ending = false;            // no further wait begins
  bool stopping = false;
  idle_policy idling;
  std::uint32_t spin_turns;  // of a place that is not crowded

  implementation(scheduler& scheduler_, std::size_t bytes)
      : outer{scheduler_},
        fabric{*current->endpoint},
        control{*current->job},
        fibers{bytes, [this] { return begin_worker(); }},
        idling{control.oversubscribed, monotonic_ns()},
        spin_turns{!control.oversubscribed && current->place_count <= places_to_spin_on ? spin_turns_alone : 0} {
    seen_failures = fabric.failure_epoch();
  }

  void switch_to(fiber& target) {
    task_context* const task = outer.task_;
    const std::uint32_t told_of = current->told_of;
    fibers.switch_to(target);
    outer.task_ = task;
    current->told_of = told_of;
  }

  // --- A worker ------------------------------------------------------------------------------------------------------

  fiber* begin_worker() {
    outer.task_ = nullptr;
    SITU_POINT(worker_takes_over);
    return work();
  }

  // Returns who is to go on with this worker's place; null where it was stopped.
  fiber* work() {
    std::uint32_t idle_turns = 0;
    bool about_to_sleep = false;
    while (!stopping) {
      if (handed_over != nullptr) [[unlikely]]
        run_task(std::exchange(handed_over, nullptr));
      // Where a call or task of a turn waits, the next worker finishes the turn: else, while such calls keep coming,
      // nobody would ask the waiting.
      bool worked = true;
      if (!std::exchange(turn_is_open, false) || ++turns_finished > turns_without_a_look) {
        turns_finished = 0;
        ++turns;
        worked = take_in(about_to_sleep);
        worked |= run_ready_tasks();
      }
      ask_waiting();
      if ((SITU_LOSS_CHECK(waits_in_progress) && fabric.failure_epoch() != seen_failures) || late_wait) [[unlikely]]
        end_waits_by_failure();
      if (waits.has_resumable() || worked) {
        if (std::exchange(about_to_sleep, false)) fabric.cancel_sleep();
        idle_turns = 0;
        if (handed_over != nullptr) [[unlikely]] {
          hand_over();
          continue;
        }
        if (!waits.has_resumable()) continue;
        if (!fibers.keeps_another()) return &take_resumable();
        fibers.make_idle();
        switch_to(take_resumable());
        continue;
      }
      if (std::exchange(about_to_sleep, false)) {
        sleep();
        idle_turns = 0;
      } else {
        about_to_sleep = step_aside(++idle_turns);
      }
    }
    return nullptr;
  }

  bool take_in(bool all) {
    return give_up_if_damaged([&] { return fabric.poll(all); });
  }

  // A damaged message leaves no way to go on with its channel: the place gives itself up, which ends every wait.
  template <class Poll>
  bool give_up_if_damaged(Poll poll) {
    try {
      return poll();
    } catch (const error& damage) {
      log(log_level::error, damage.what());
      mark_lost(control, current->place, damage.message());
      return true;
    }
  }

  // Returns true where the place should sleep unless one more look finds something.
  bool step_aside(std::uint32_t idle_turns) {
    const idle_policy::step step = idling.next(idle_turns, monotonic_ns);
    adapt_spinning();
    switch (step) {
      case idle_policy::step::look: return false;
      case idle_policy::step::pause: _mm_pause(); return false;
      case idle_policy::step::give_way: let_others_run(); return false;
      case idle_policy::step::sleep: break;
    }
    fabric.prepare_sleep();
    return true;
  }

  void let_others_run() {
    const std::uint64_t begin = __rdtsc();
    give_way();
    idling.came_back(__rdtsc() - begin);
  }

  // Who answers cannot run while a place looks on that shares its processor.
  void adapt_spinning() noexcept { outer.spin_turns_ = idling.is_crowded() ? 0 : spin_turns; }

  void sleep() {
    if (fabric.sleep(fibers.is_touched() ? idle_before_give_back_ns : -1)) return fibers.give_back_idle_stacks();
    const std::uint32_t waker = control.slot(current->place).woken_from.load(std::memory_order_relaxed);
    idling.woken(waker == running_processor(), monotonic_ns);
    adapt_spinning();
  }

  bool run_ready_tasks() {
    std::uint32_t count = 0;
    while (ready_first != nullptr && count++ < ready_tasks_a_turn) {
      ready_task* const task = ready_first;
      ready_first = task->next;
      if (ready_first == nullptr) ready_last = nullptr;
      if (task->stack_bytes() > fibers.running().stack_bytes) [[unlikely]] {
        handed_over = task;
        break;
      }
      run_task(task);
    }
    return count != 0;
  }

  void run_task(ready_task* task) {
    outer.task_ = nullptr;
    current->told_of = task->told_of;
    SITU_POINT(task_begins);
    task->run(task);
    SITU_POINT(task_ended);
  }

  // Goes on, with the task that asks for it, on a larger stack.
  void hand_over() {
    fiber* larger = nullptr;
    try {
      larger = &fibers.take(handed_over->stack_bytes());
    } catch (const std::exception&) {
      handed_over->stack_pages = ready_task::no_stack;  // the task says so in its future
      return;
    }
    fibers.make_idle();
    switch_to(*larger);
  }

  void ask_waiting() {
    waits.end_if([](waiter& w) { return w.is_done != nullptr && w.is_done(&w); });
  }

  void end_waits_by_failure() {
    seen_failures = fabric.failure_epoch();
    late_wait = false;
    take_in_what_is_no_call();
    ask_waiting();
    end_calls_to_lost_places(*current->runtime);
    SITU_POINT(waits_ended);
    waits.end_if([this](waiter& w) { return w.failed = is_ended_by_loss(w); });
  }

  [[nodiscard]] bool is_ended_by_loss(const waiter& w) const noexcept {
    if (w.whom.place != waits_for::anybody && fabric.is_lost(w.whom.place)) return true;
    return w.told_of < seen_failures && !w.whom.outlives_losses;
  }

  // What the lost place sent before its end still counts, as far as it lies before the next call: a call may take any
  // time, and even wait.
  void take_in_what_is_no_call() {
    for (std::uint32_t looks = 0; looks < channel::cell_count / endpoint::messages_a_turn; ++looks)
      if (!give_up_if_damaged([&] { return fabric.poll_handlers() == endpoint::found::messages; })) return;
  }

  fiber& take_resumable() noexcept { return *static_cast<fiber*>(waits.take_resumable().fiber); }

  void stop_workers() {
    stopping = true;
    while (fiber* const idle = fibers.take_idle()) switch_to(*idle);
    fibers.delete_ended();
  }

  // Tasks that still wait when the runtime ends, because a place was lost: their waits throw, as does any further one,
  // until all have ended. pre: runs on main, with a lost place.
  void end_tasks() {
    is_ending = true;
    waits.end_if([](waiter& w) { return w.failed = true; });
    struct all_ended : waiter {
      implementation* self;
    } w;
    w.self = this;
    w.whom.outlives_losses = true;
    w.is_done = [](waiter* each) {
      const implementation& here = *static_cast<all_ended*>(each)->self;
      return !here.waits.has_resumable() && here.ready_first == nullptr && !here.waits.has_waiting_beside(*each);
    };
    wait(w);
  }

  void wait(waiter& w) {
    SITU_POINT(wait_begins);
    fiber& next = fibers.take();
    w.fiber = &fibers.running();
    w.told_of = current->told_of;
    late_wait |= SITU_LOSS_CHECK(late_waits) && is_ended_by_loss(w);
    waits.add(w);
    if (!fibers.is_main_running()) turn_is_open = true;
    switch_to(next);
  }

  [[nodiscard]] bool has_tasks() const noexcept {
    return ready_first != nullptr || waits.has_waiting() || waits.has_resumable();
  }
};

stack_bounds scheduler::running_stack() const noexcept { return self_->fibers.running_stack(); }

scheduler::scheduler(std::size_t stack_bytes) : self_{std::make_unique<implementation>(*this, stack_bytes)} {
  self_->adapt_spinning();
}

scheduler::~scheduler() {
  SITU_ASSERT(1, self_->fibers.is_main_running(),
              "a situ::runtime ends on the stack it was made on, not inside a task");
  if (self_->has_tasks() && self_->control.failure_epoch.load() != 0) self_->end_tasks();
  self_->stop_workers();
}

void scheduler::spawn(ready_task* task) noexcept {
  task->next = nullptr;
  if (task->told_of == ready_task::as_its_maker)
    task->told_of = self_->fabric.in_handler() ? self_->fabric.failure_epoch() : current->told_of;
  if (self_->ready_last == nullptr) {
    self_->ready_first = task;
  } else {
    self_->ready_last->next = task;
  }
  self_->ready_last = task;
}

bool scheduler::wait_unless_lost(waiter& w) {
  SITU_ASSERT(1, !self_->fabric.in_handler(),
              "a handler of an active message, and a call that takes a situ::payload, must not wait: start an async "
              "task, or use situ::at with a std::vector");
  if (!self_->is_ending) self_->wait(w);
  return !w.failed && !self_->is_ending;
}

void scheduler::wait(waiter& w) {
  if (!wait_unless_lost(w)) [[unlikely]]
    throw_place_lost(self_->control, current->place);
}

void scheduler::make_resumable(waiter& w) noexcept {
  if (!w.resumable) self_->waits.make_resumable(w);
}

void scheduler::progress() {
  // Without calls and tasks there is nothing for a worker to do.
  if (spin_turns_ == 0 || !may_spin_on() || self_->waits.has_waiting()) take_a_turn();
  // A turn always comes: a loop of turns is told between them.
  if (SITU_LOSS_CHECK(turns) && current->told_of < self_->fabric.failure_epoch()) [[unlikely]]
    throw_place_lost(self_->control, current->place);
}

void scheduler::take_a_turn() {
  struct one_turn : waiter {
    std::uint64_t* turns;
    std::uint64_t end;
  } w;
  w.turns = &self_->turns;
  w.end = self_->turns + 1;
  w.is_done = [](waiter* each) { return *static_cast<one_turn*>(each)->turns >= static_cast<one_turn*>(each)->end; };
  wait(w);
  if (self_->control.oversubscribed) give_way();
}

bool scheduler::may_spin_on() {
  // Before the look, which would find the message that is being handled again.
  SITU_ASSERT(1, !self_->fabric.in_handler(),
              "a handler of an active message, and a call that takes a situ::payload, must not wait: start an async "
              "task, or use situ::at with a std::vector");
  if (self_->fabric.poll_handlers() == endpoint::found::call) return false;
  return self_->ready_first == nullptr && !self_->waits.has_resumable() &&
         self_->fabric.failure_epoch() == self_->seen_failures;
}

}  // namespace situ::detail
