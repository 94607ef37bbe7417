#include <situ/runtime/detail/scheduler.h>

#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/awaited.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/fabric/detail/far.h>
#include <situ/fabric/detail/observed.h>
#include <situ/memory/detail/losses.h>
#include <situ/memory/detail/place_context.h>
#include <situ/runtime/future.h>

#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "base/float_settings.h"
#include "launch/standstill.h"
#include "memory/job.h"
#include "os/host.h"
#include "runtime/fiber_pool.h"
#include "runtime/idle_policy.h"
#include "runtime/runtime_state.h"
#include "runtime/settings_of_tasks.h"
#include "runtime/status_writer.h"
#include "runtime/waiter_lists.h"

namespace situ::detail {
namespace {

// Before a switch to a worker: about half a microsecond, the longest that a request then waits to be seen.
constexpr std::uint32_t spin_turns_alone = idle_looks(256);
constexpr std::uint32_t ready_tasks_a_turn = 64;
// at the clock, for the waits that have begun since; an idle place looks before it sleeps
constexpr std::uint64_t turns_between_stamps = 1024;
constexpr std::uint32_t turns_without_a_look = 16;  // at the channels, while waits can end without them
#if defined(SITU_TEST_POINTS)
constexpr bool looks_by_itself = false;  // tests/death: only a wake-up or a deadline ends a sleep
#else
constexpr bool looks_by_itself = true;
#endif
// a place that sleeps this long gives back the touched pages of idle stacks
constexpr std::int64_t idle_before_give_back_ns = 100'000'000;
constexpr std::uint32_t places_to_spin_on = 16;  // with more, one look at all channels takes too long

// Shows a wait to the other places while it lives.
class shown_wait {
 public:
  shown_wait(const waiter& w, const task_context* task, bool is_main) noexcept
      : note_{w.whom.note},
        has_deadline_{w.whom.deadline_ns != waits_for::no_deadline},
        record_{
            current->status->begin_wait(note_, task != nullptr ? task->code_name : nullptr, is_main, has_deadline_)},
        begin_ns_{current->observed ? observed_span::begin(*current) : 0} {}
  ~shown_wait() {
    current->status->end_wait(record_, note_.kind, has_deadline_);
    if (current->observed && note_.kind != wait_kind::turn) observe();
  }
  shown_wait(const shown_wait&) = delete;
  shown_wait& operator=(const shown_wait&) = delete;

 private:
  void observe() const noexcept {
    const std::uint64_t end_ns = steady_ns();
    const std::uint32_t peer = note_.peer == wait_note::nobody ? current->place : note_.peer;
    pair_counts& counts = counts_towards(*current, peer);
    ++counts.waits;
    counts.wait_ns += end_ns - begin_ns_;
    record_event(*current, {.begin_ns = begin_ns_,
                            .end_ns = end_ns,
                            .peer = peer,
                            .name = note_.where.line() == 0 ? 0 : current->status->file_name(note_.where.file_name()),
                            .line = note_.where.line(),
                            .kind = event_kind::wait,
                            .waits_for = note_.kind});
  }

  const wait_note& note_;
  const bool has_deadline_;
  wait_record* const record_;
  const std::uint64_t begin_ns_;
};

std::int64_t monotonic_ns() noexcept { return static_cast<std::int64_t>(steady_ns()); }

}  // namespace

struct scheduler::implementation {
  scheduler& outer;
  endpoint& fabric;
  job_control& control;
  runtime_state& state;
  fiber_pool fibers;
  waiter_lists waits;
  ready_task* ready_first = nullptr;
  ready_task* ready_last = nullptr;
  settings_of_tasks settings;
  ready_task* handed_over = nullptr;  // to the next worker that begins a turn, whose stack is large enough
  std::uint64_t turns = 0;
  std::uint32_t workers_begun = 0;
  bool turn_is_open = false;         // its worker waits, and has not yet asked the other waiters
  std::uint32_t turns_finished = 0;  // by such workers, since the last look at the channels
  std::uint32_t seen_failures = 0;   // ends of places for which the waits of that time have been ended
  bool late_wait = false;            // a waiting task has not been told of one of these ends
  std::int64_t next_deadline_ns = waits_for::no_deadline;  // no wait has an earlier deadline
  std::uint64_t awaited = 0;                               // the words for which the place sleeps
  std::int64_t slept_ns = 0;                               // length of the current sleep so far
  bool is_ending = false;                                  // no further wait begins
  bool stopping = false;
  idle_policy idling;
  std::uint32_t spin_turns;  // the value if the place is not crowded

  implementation(scheduler& scheduler_, std::size_t bytes)
      : outer{scheduler_},
        fabric{*current->endpoint},
        control{*current->job},
        state{*current->runtime},
        fibers{bytes, [this] { return begin_worker(); }},
        idling{control.oversubscribed, monotonic_ns()},
        spin_turns{!control.oversubscribed && current->place_count <= places_to_spin_on ? spin_turns_alone : 0} {
    seen_failures = fabric.failure_epoch();
  }

  void switch_to(fiber& target) {
    task_context* const task = outer.task_;
    const std::uint32_t told_of = current->told_of;
    const std::uint32_t track = current->track;
    if (fibers.is_main_running()) state.main_settings = float_settings::of_this_thread();
    fibers.switch_to(target);
    outer.task_ = task;
    current->told_of = told_of;
    current->track = track;
  }

  // --- A worker ------------------------------------------------------------------------------------------------------

  fiber* begin_worker() {
    outer.task_ = nullptr;
    current->track = ++workers_begun;
    SITU_POINT(worker_takes_over);
    return work();
  }

  // Returns the fiber that continues in this worker's place; null if the worker was stopped.
  fiber* work() {
    std::uint32_t idle_turns = 0;
    bool about_to_sleep = false;
    state.main_settings.apply_unless_own();  // and after each switch to this worker
    while (!stopping) {
      if (handed_over != nullptr) [[unlikely]]
        run_task(std::exchange(handed_over, nullptr));
      // If a call or task of a turn waits, the next worker finishes the turn. Otherwise, while such calls keep coming,
      // no worker would ask the waiters.
      bool worked = true;
      if (!std::exchange(turn_is_open, false) || ++turns_finished > turns_without_a_look) {
        turns_finished = 0;
        ++turns;
        worked = take_in(about_to_sleep);
        worked |= run_ready_tasks();
        if (worked) current->status->count_step();
        if (turns % turns_between_stamps == 0) [[unlikely]]
          current->status->stamp_waits();
      }
      ask_waiting();
      if (next_deadline_ns != waits_for::no_deadline) [[unlikely]]
        end_late_waits();
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
        state.main_settings.apply_unless_own();
        continue;
      }
      if (about_to_sleep) {
        about_to_sleep = sleep();
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

  // Polls with main's floating-point settings, whichever task polls: handlers compute as main does.
  endpoint::found poll_handlers() {
    if (fibers.is_main_running()) return fabric.poll_handlers();
    const float_settings_scope as{state.main_settings};
    return fabric.poll_handlers();
  }

  // Gives the place up if a message is damaged, because the channel cannot be read any further; this ends every wait.
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

  // Returns true if the place should sleep unless one more look finds work.
  bool step_aside(std::uint32_t idle_turns) {
    // A message of another host arrives only once this host's server has run, perhaps on this processor.
    const bool is_for_others = current->far != nullptr && current->far->is_outstanding();
    const idle_policy::step step = is_for_others ? idle_policy::step::sleep : idling.next(idle_turns, monotonic_ns);
    adapt_spinning();
    switch (step) {
      case idle_policy::step::look: return false;
      case idle_policy::step::pause: _mm_pause(); return false;
      case idle_policy::step::give_way: let_others_run(); return false;
      case idle_policy::step::sleep: break;
    }
    awaited = 0;
    slept_ns = 0;
    waits.for_each([this](const waiter& w) { awaited |= w.whom.words; });
    fabric.prepare_sleep(awaited);
    return true;
  }

  void let_others_run() {
    const std::uint64_t begin = processor_cycles();
    give_way();
    idling.came_back(processor_cycles() - begin);
  }

  // The answering place cannot run while a place polls on the same processor.
  void adapt_spinning() noexcept { outer.spin_turns_ = idling.is_crowded() ? 0 : spin_turns; }

  // Returns true if no other thread has woken the place: after another look it may sleep on.
  bool sleep() {
    current->status->stamp_waits();
    // A single place, without a launcher that would see the standstill.
    if (current->place_count == 1 && !current->status->has_open_waits() && fabric.failure_epoch() == 0) [[unlikely]] {
      fabric.cancel_sleep();
      mark_lost(control, current->place, summary_of_standstill(control));
      return false;
    }
    const std::int64_t time = longest_sleep();
    current->status->begin_rest();
    const bool slept_on = fabric.sleep(time);
    current->status->end_rest();
    if (slept_on) {
      slept_ns += time;
      if (fibers.is_touched() && slept_ns >= idle_before_give_back_ns) fibers.give_back_idle_stacks();
      return true;
    }
    const std::uint32_t waker = control.slot(current->place).woken_from.load(std::memory_order_relaxed);
    idling.woken(waker == running_processor(), monotonic_ns);
    adapt_spinning();
    return false;
  }

  // Returns the time until there is work without a wake-up; negative: no limit.
  [[nodiscard]] std::int64_t longest_sleep() const noexcept {
    std::int64_t time = waits_for::no_deadline;
    if (looks_by_itself && fibers.is_touched()) time = idle_before_give_back_ns;
    if (looks_by_itself && awaited != 0) time = awaited_look_ns;  // to notice plain puts
    if (next_deadline_ns != waits_for::no_deadline)
      time = std::min(time, std::max(next_deadline_ns - monotonic_ns(), std::int64_t{0}));
    return time == waits_for::no_deadline ? -1 : time;
  }

  bool run_ready_tasks() {
    std::uint32_t count = 0;
    while (ready_first != nullptr && count++ < ready_tasks_a_turn) {
      ready_task* const task = ready_first;
      ready_first = task->next;
      if (ready_first == nullptr) ready_last = nullptr;
      settings.taken(task);
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
    settings.of_taken().apply_unless_own();
    SITU_POINT(task_begins);
    if (current->observed) [[unlikely]]
      run_observed(task);
    else
      task->run(task);
    state.main_settings.apply_unless_own();
    SITU_POINT(task_ended);
  }

  static void run_observed(ready_task* task) {
    const char* const name = task->name;  // the task is destroyed by running
    const std::uint64_t begin_ns = observed_span::begin(*current);
    task->run(task);
    record_event(*current, {.begin_ns = begin_ns,
                            .peer = current->place,
                            .name = current->status->code_name(name),
                            .kind = event_kind::task});
  }

  // Continues on a larger stack, with the task that asks for it.
  void hand_over() {
    fiber* larger = nullptr;
    try {
      larger = &fibers.take(handed_over->stack_bytes());
    } catch (const std::exception&) {
      handed_over->stack_pages = ready_task::no_stack;  // the task reports this in its future
      return;
    }
    fibers.make_idle();
    switch_to(*larger);
    state.main_settings.apply_unless_own();
  }

  void ask_waiting() {
    waits.end_if([](waiter& w) { return w.is_done != nullptr && w.is_done(&w); });
  }

  void end_late_waits() {
    const std::int64_t now = monotonic_ns();
    if (now < next_deadline_ns) return;
    next_deadline_ns = waits_for::no_deadline;
    waits.end_if([&](waiter& w) {
      w.late = w.whom.deadline_ns <= now;
      if (!w.late) next_deadline_ns = std::min(next_deadline_ns, w.whom.deadline_ns);
      return w.late;
    });
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

  // Messages that a lost place sent before its end still count, up to the next call: a call may take any time, and even
  // wait.
  void take_in_what_is_no_call() {
    for (std::uint32_t looks = 0; looks < channel::cell_count / endpoint::messages_a_turn; ++looks)
      if (!give_up_if_damaged([&] { return poll_handlers() == endpoint::found::messages; })) return;
  }

  fiber& take_resumable() noexcept { return *static_cast<fiber*>(waits.take_resumable().fiber); }

  void stop_workers() {
    stopping = true;
    while (fiber* const idle = fibers.take_idle()) switch_to(*idle);
    fibers.delete_ended();
  }

  // Ends tasks that still wait when the runtime ends, because a place was lost: their waits throw, as does any further
  // wait, until all have ended. pre: runs on main, with a lost place.
  void end_tasks() {
    is_ending = true;
    waits.end_if([](waiter& w) { return w.failed = true; });
    struct all_ended : waiter {
      implementation* self;
    } w;
    w.self = this;
    w.whom.note.kind = wait_kind::leave;
    w.whom.outlives_losses = true;
    w.is_done = [](waiter* each) {
      const implementation& here = *static_cast<all_ended*>(each)->self;
      return !here.waits.has_resumable() && here.ready_first == nullptr && !here.waits.has_waiting_beside(*each);
    };
    wait(w);
  }

  void wait(waiter& w) {
    SITU_POINT(wait_begins);
    const shown_wait shown{w, outer.task_, fibers.is_main_running()};
    fiber& next = fibers.take();
    w.fiber = &fibers.running();
    w.told_of = current->told_of;
    next_deadline_ns = std::min(next_deadline_ns, w.whom.deadline_ns);
    late_wait |= SITU_LOSS_CHECK(late_waits) && is_ended_by_loss(w);
    waits.add(w);
    if (!fibers.is_main_running()) turn_is_open = true;
    switch_to(next);
  }

  [[nodiscard]] bool has_tasks() const noexcept {
    return ready_first != nullptr || waits.has_waiting() || waits.has_resumable();
  }
};

state_blocks::~state_blocks() {
  while (void* const block = take()) ::operator delete(block);
}

stack_bounds scheduler::running_stack() const noexcept { return self_->fibers.running_stack(); }

scheduler::scheduler(std::size_t stack_bytes)
    : self_{std::make_unique<implementation>(*this, stack_bytes)}, ready_end_{new future_state<void>} {
  ready_end_->ready = true;
  self_->adapt_spinning();
}

scheduler::~scheduler() {
  SITU_ASSERT(1, self_->fibers.is_main_running(),
              "a situ::runtime ends on the stack it was made on, not inside a task");
  if (self_->has_tasks() && self_->control.failure_epoch.load() != 0) self_->end_tasks();
  self_->stop_workers();
  ready_end_->release();  // handles of it may live on
}

void scheduler::spawn(ready_task* task) noexcept {
  task->next = nullptr;
  self_->settings.added(task);
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
  current->status->count_poll();
  // Without calls and tasks, a worker has no work.
  if (spin_turns_ == 0 || !may_spin_on() || self_->waits.has_waiting()) take_a_turn();
  // A turn always ends, so a loop of turns hears of losses between them.
  if (SITU_LOSS_CHECK(turns) && current->told_of < self_->fabric.failure_epoch()) [[unlikely]]
    throw_place_lost(self_->control, current->place);
}

void scheduler::take_a_turn() {
  struct one_turn : waiter {
    std::uint64_t* turns;
    std::uint64_t end;
  } w;
  w.whom.note.kind = wait_kind::turn;
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
  if (self_->poll_handlers() == endpoint::found::call) return false;
  return self_->ready_first == nullptr && !self_->waits.has_resumable() &&
         self_->fabric.failure_epoch() == self_->seen_failures;
}

}  // namespace situ::detail
