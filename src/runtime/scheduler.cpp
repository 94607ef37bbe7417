#include <situ/runtime/detail/scheduler.h>

#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/memory/detail/place_context.h>

#include <cxxabi.h>
#include <fmt/format.h>
#include <immintrin.h>
#include <pthread.h>
#include <boost/context/fiber.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/host.h"
#include "fabric/observe.h"
#include "memory/liveness.h"
#include "runtime/idle_policy.h"
#include "runtime/runtime_state.h"
#include "runtime/stack.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace situ::detail {
namespace {

namespace ctx = boost::context;

// Before a switch to a worker: about half a microsecond, the longest that a request may then wait to be seen.
constexpr std::uint32_t spin_turns_alone = 256;
constexpr std::uint32_t ready_tasks_a_turn = 64;
constexpr std::uint32_t turns_without_a_look = 16;  // at the channels, while what waits can go on without them
constexpr std::size_t most_idle_workers = 64;       // further ones give their stacks back
constexpr std::size_t most_idle_bytes = std::size_t{64} << 20;  // of idle stacks that keep the pages they have touched
constexpr std::size_t kept_stack_bytes = std::size_t{64}
                                         << 10;  // at the top of a stack: touched again by whatever runs next
#if defined(SITU_TEST_POINTS)
constexpr std::int64_t idle_before_give_back_ns = -1;  // tests/death: nothing but a wake-up ends a sleep
#else
// a place that sleeps as long gives back what idle stacks have touched
constexpr std::int64_t idle_before_give_back_ns = 100'000'000;
#endif
constexpr std::uint32_t places_to_spin_on = 16;  // with more, one look at all channels takes too long

std::int64_t monotonic_ns() noexcept { return static_cast<std::int64_t>(steady_ns()); }

// What the C++ runtime keeps for the exceptions in flight on a stack (Itanium C++ ABI, 2.2.2); it belongs to the fiber.
struct exceptions_in_flight {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

}  // namespace

// A stack, running or set aside. Sanitizers are told of each switch, or they would take the other stack for an overflow
// or a race.
struct scheduler::fiber {
  ctx::fiber context;  // set while it is set aside
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;    // AddressSanitizer's
  void* race_context = nullptr;  // ThreadSanitizer's
  bool is_ended = false;         // its function is about to return
};

struct scheduler::implementation {
  scheduler& outer;
  endpoint& fabric;
  job_control& control;
  std::size_t stack_bytes;
  exceptions_in_flight* const thread_exceptions = reinterpret_cast<exceptions_in_flight*>(abi::__cxa_get_globals());
  fiber main;
  fiber* running = &main;
  fiber* came_from = nullptr;  // who switched to the running fiber, until it has put it aside
  std::vector<fiber*> idle_workers;
  std::vector<std::unique_ptr<fiber>> workers;
  waiter waiting;                     // ring of all that wait
  waiter* resumable_first = nullptr;  // singly linked through `next`
  waiter* resumable_last = nullptr;
  ready_task* ready_first = nullptr;
  ready_task* ready_last = nullptr;
  fiber* heir = nullptr;              // where a worker that gives up its stack goes
  ready_task* handed_over = nullptr;  // to the next worker that begins a turn: its stack is large enough
  bool has_ended_workers = false;
  bool stacks_are_touched = false;  // since idle stacks gave back their pages
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
        stack_bytes{bytes},
        idling{control.oversubscribed, monotonic_ns()},
        spin_turns{!control.oversubscribed && current->place_count <= places_to_spin_on ? spin_turns_alone : 0} {
    waiting.next = waiting.previous = &waiting;
    seen_failures = fabric.failure_epoch();
#if defined(__SANITIZE_ADDRESS__)
    pthread_attr_t attributes;
    void* lowest = nullptr;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &lowest, &main.stack_bytes);
    pthread_attr_destroy(&attributes);
    main.stack_bottom = lowest;
#endif
#if defined(__SANITIZE_THREAD__)
    main.race_context = __tsan_get_current_fiber();
#endif
  }

  // Runs on the fiber that was switched to: puts aside the one that it came from.
  void arrive(ctx::fiber&& from) noexcept {
    if (from) came_from->context = std::move(from);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(running->fake_stack, nullptr, nullptr);
#endif
  }

  void switch_to(fiber& target) {
    fiber& self = *running;
    const exceptions_in_flight exceptions = std::exchange(*thread_exceptions, {});
    task_context* const task = outer.task_;
    const std::uint32_t told_of = current->told_of;
    came_from = &self;
    running = &target;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&self.fake_stack, target.stack_bottom, target.stack_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(target.race_context, 0);
#endif
    arrive(std::move(target.context).resume());
    outer.task_ = task;
    current->told_of = told_of;
    *thread_exceptions = exceptions;
  }

  fiber& next_worker() {
    stacks_are_touched = true;
    if (!idle_workers.empty()) {
      fiber* const worker = idle_workers.back();
      idle_workers.pop_back();
      return *worker;
    }
    return new_worker(stack_bytes);
  }

  // Whose stack has so many bytes.
  fiber& next_worker(std::size_t bytes) {
    stacks_are_touched = true;
    const auto found = std::find_if(idle_workers.rbegin(), idle_workers.rend(),
                                    [bytes](const fiber* each) { return each->stack_bytes >= bytes; });
    if (found == idle_workers.rend()) return new_worker(bytes);
    fiber& worker = **found;
    idle_workers.erase(std::next(found).base());
    return worker;
  }

  fiber& new_worker(std::size_t bytes) {
    bury_workers();
    auto owned = std::make_unique<fiber>();
    fiber& worker = *owned;
    try {
      const stack_mapper allocator{bytes};
      const ctx::stack_context stack = allocator.allocate();
      worker.stack_bottom = static_cast<char*>(stack.sp) - stack.size;
      worker.stack_bytes = stack.size;
      worker.context = ctx::fiber{std::allocator_arg, ctx::preallocated{stack.sp, stack.size, stack}, allocator,
                                  [this](ctx::fiber&& from) {
                                    arrive(std::move(from));
                                    outer.task_ = nullptr;
                                    SITU_POINT(worker_takes_over);
                                    work();
                                    return end_worker();
                                  }};
    } catch (const std::bad_alloc&) {
      throw_error(errc::out_of_memory,
                  fmt::format("place {}: no memory for the stack of another task: {} tasks of this place are waiting, "
                              "each on a stack of its own, this one of {} KiB; "
                              "start fewer at a time, or raise vm.max_map_count",
                              current->place, workers.size(), bytes / 1024));
    }
#if defined(__SANITIZE_THREAD__)
    worker.race_context = __tsan_create_fiber(0);
#endif
    workers.push_back(std::move(owned));
    return worker;
  }

  void bury_workers() {
    if (!has_ended_workers) return;
    has_ended_workers = false;
    std::erase_if(workers, [this]([[maybe_unused]] const std::unique_ptr<fiber>& worker) {
      if (!worker->is_ended) return false;
      if (worker.get() == running) {
        has_ended_workers = true;
        return false;
      }
#if defined(__SANITIZE_THREAD__)
      __tsan_destroy_fiber(worker->race_context);
#endif
      return true;
    });
  }

  // The last switch of a worker: to its heir, or to the fiber that stops it; not to return.
  ctx::fiber end_worker() {
    fiber& target = heir != nullptr ? *std::exchange(heir, nullptr) : *came_from;
    running->is_ended = true;
    has_ended_workers = true;
    running = &target;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(nullptr, target.stack_bottom, target.stack_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(target.race_context, 0);
#endif
    return std::move(target.context);
  }

  // --- A worker ------------------------------------------------------------------------------------------------------

  void work() {
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
      if (resumable_first != nullptr || worked) {
        if (std::exchange(about_to_sleep, false)) fabric.cancel_sleep();
        idle_turns = 0;
        if (handed_over != nullptr) [[unlikely]] {
          hand_over();
          continue;
        }
        if (resumable_first == nullptr) continue;
        if (idle_workers.size() >= most_idle_workers) {
          heir = &take_resumable();
          return;
        }
        become_idle();
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
    idling.came_back(__rdtsc() - begin, monotonic_ns);
  }

  // Who answers cannot run while a place looks on that shares its processor.
  void adapt_spinning() noexcept { outer.spin_turns_ = idling.is_crowded() ? 0 : spin_turns; }

  void sleep() {
    if (fabric.sleep(stacks_are_touched ? idle_before_give_back_ns : -1)) return give_back_idle_stacks();
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
      if (task->stack_bytes() > running->stack_bytes) [[unlikely]] {
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
    fiber* larger = running;
    try {
      larger = &next_worker(handed_over->stack_bytes());
    } catch (const std::exception&) {
      handed_over->stack_pages = ready_task::no_stack;  // the task says so in its future
      return;
    }
    become_idle();
    switch_to(*larger);
  }

  // The running worker. The stacks of many, or large ones, keep nothing that they have touched below the top.
  void become_idle() {
    idle_workers.push_back(running);
    if (idle_workers.size() * running->stack_bytes > most_idle_bytes) [[unlikely]]
      give_back(*running);
  }

  static void give_back(const fiber& worker) noexcept {
    const char* const low = static_cast<const char*>(worker.stack_bottom);
    give_back_pages(low, low + worker.stack_bytes - kept_stack_bytes);
  }

  void give_back_idle_stacks() noexcept {
    for (const fiber* each : idle_workers) give_back(*each);
    stacks_are_touched = false;
  }

  void ask_waiting() {
    for (waiter* w = waiting.next; w != &waiting;) {
      waiter* const next = w->next;
      if (w->is_done != nullptr && w->is_done(w)) make_resumable(*w);
      w = next;
    }
  }

  void end_waits_by_failure() {
    seen_failures = fabric.failure_epoch();
    late_wait = false;
    take_in_what_is_no_call();
    ask_waiting();
    end_calls_to_lost_places(*current->runtime);
    SITU_POINT(waits_ended);
    for (waiter* w = waiting.next; w != &waiting;) {
      waiter* const next = w->next;
      if (is_ended_by_loss(*w)) {
        w->failed = true;
        make_resumable(*w);
      }
      w = next;
    }
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

  void make_resumable(waiter& w) noexcept {
    w.previous->next = w.next;
    w.next->previous = w.previous;
    w.next = nullptr;
    w.resumable = true;
    if (resumable_last == nullptr) {
      resumable_first = &w;
    } else {
      resumable_last->next = &w;
    }
    resumable_last = &w;
  }

  fiber& take_resumable() noexcept {
    waiter* const w = resumable_first;
    resumable_first = w->next;
    if (resumable_first == nullptr) resumable_last = nullptr;
    return *static_cast<fiber*>(w->fiber);
  }

  void stop_workers() {
    stopping = true;
    while (!idle_workers.empty()) {
      fiber* const worker = idle_workers.back();
      idle_workers.pop_back();
      switch_to(*worker);
    }
    bury_workers();
    workers.clear();
  }

  // Tasks that still wait when the runtime ends, because a place was lost: their waits throw, as does any further one,
  // until all have ended. pre: runs on main, with a lost place.
  void end_tasks() {
    is_ending = true;
    for (waiter* w = waiting.next; w != &waiting;) {
      waiter* const next = w->next;
      w->failed = true;
      make_resumable(*w);
      w = next;
    }
    struct all_ended : waiter {
      implementation* self;
    } w;
    w.self = this;
    w.whom.outlives_losses = true;
    w.is_done = [](waiter* each) {
      const implementation& here = *static_cast<all_ended*>(each)->self;
      return here.resumable_first == nullptr && here.ready_first == nullptr && here.waiting.next == each &&
             each->next == &here.waiting;
    };
    wait(w);
  }

  void wait(waiter& w) {
    SITU_POINT(wait_begins);
    fiber& next = next_worker();
    w.fiber = running;
    w.told_of = current->told_of;
    late_wait |= SITU_LOSS_CHECK(late_waits) && is_ended_by_loss(w);
    w.previous = waiting.previous;
    w.next = &waiting;
    w.previous->next = &w;
    waiting.previous = &w;
    if (running != &main) turn_is_open = true;
    switch_to(next);
  }

  [[nodiscard]] bool has_tasks() const noexcept {
    return ready_first != nullptr || waiting.next != &waiting || resumable_first != nullptr;
  }
};

stack_bounds scheduler::running_stack() const noexcept {
  const fiber& running = *self_->running;
  if (&running == &self_->main) return {};
  const auto low = reinterpret_cast<std::uintptr_t>(running.stack_bottom);
  return {low, low + running.stack_bytes};
}

scheduler::scheduler(std::size_t stack_bytes) : self_{std::make_unique<implementation>(*this, stack_bytes)} {
  self_->adapt_spinning();
}

scheduler::~scheduler() {
  SITU_ASSERT(1, self_->running == &self_->main, "a situ::runtime ends on the stack it was made on, not inside a task");
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
  if (!w.resumable) self_->make_resumable(w);
}

void scheduler::progress() {
  // Without calls and tasks there is nothing for a worker to do.
  if (spin_turns_ == 0 || !may_spin_on() || self_->waiting.next != &self_->waiting) take_a_turn();
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
  return self_->ready_first == nullptr && self_->resumable_first == nullptr &&
         self_->fabric.failure_epoch() == self_->seen_failures;
}

}  // namespace situ::detail
