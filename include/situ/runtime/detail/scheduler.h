// Fibers, ready tasks and waiting: how a place goes on working while its code waits.
//
// Tasks run inline, as plain calls, on the stack of a worker: a fiber whose loop polls the channels, runs ready tasks
// and looks after those that wait. Code that must wait is set aside with the whole stack it runs on, and another worker
// takes over:
//
//   main ---- wait ------------------------------ resumed ----
//                \ worker 1: poll, task ------------ task goes on ...
//                                     \ wait: worker 2 takes over, polls, finds what main waits for
//
// So what never blocks costs no switch, and a nested `at` cannot deadlock. Invariants
//   1. At any moment exactly one fiber of a place runs; all others are in `waiting`, `resumable` or idle workers.
//   2. Only a worker at the top of its loop takes in calls and runs tasks, so none ever runs on top of waiting code's
//      stack. Handlers of active messages, which cannot wait, run on any stack.
//   3. A task is told of each end of a place once: by place_lost_error out of the wait that it is in, or else out of
//      its next one, unless what that wait is for has come (docs/design/runtime.md, "How a wait learns of a loss").
// Not thread-safe: everything belongs to the place's thread.
#pragma once

#include <situ/memory/detail/wait_note.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace situ::detail {

struct finish_node;
template <class T>
struct future_state;
struct stack_bounds;  // src/runtime/stack.h

// What a running task knows of itself. `finish_key` names the finish scope that it is counted in, 0 for none; `node` is
// this place's record of that scope, made when the task first spawns something.
struct task_context {
  std::uint64_t finish_key = 0;
  finish_node* node = nullptr;
  std::uint32_t source = 0;  // the place that sent the task
  bool engaging = false;     // the task's own message is acknowledged only when the node is done (finish.h)
  // What it runs, for whoever tells of its end: text with the type's name in it, and the function where the type is
  // only a pointer.
  const char* code_name = nullptr;
  const void* code = nullptr;
};

// Names F in what the compiler writes: "... [with F = main()::<lambda(int)>]". A constant, so that a task carries one
// pointer.
template <class F>
[[nodiscard]] constexpr const char* code_name_of() noexcept {
  return __PRETTY_FUNCTION__;
}
template <class F>
inline constexpr bool is_function_pointer = std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>;
template <class F>
  requires is_function_pointer<F>
[[nodiscard]] const void* code_of(F f) noexcept {
  return reinterpret_cast<const void*>(f);
}

// A task that is ready to run: run(task) is called once, on a worker, and owns it from then on.
struct ready_task {
  static constexpr std::uint32_t as_its_maker = ~std::uint32_t{0};

  void (*run)(ready_task*) = nullptr;
  ready_task* next = nullptr;
  const char* name = nullptr;            // code_name_of() what it runs, for a trace
  std::uint32_t told_of = as_its_maker;  // ends of places (place_context::told_of) when it begins
  // that its stack has at least (task.h: with_stack); no_stack once there is none to be had
  std::uint32_t stack_pages = 0;
  static constexpr std::uint32_t no_stack = ~std::uint32_t{0};
  static constexpr std::size_t stack_page_bytes = 4096;
  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_pages * stack_page_bytes; }
};

// Who a wait is for, and what, besides the condition that ends it.
struct waits_for {
  static constexpr std::uint32_t anybody = ~std::uint32_t{0};
  static constexpr std::int64_t no_deadline = INT64_MAX;
  std::uint32_t place = anybody;           // alone can bring it: the wait ends with that place, whenever that was
  bool outlives_losses = false;            // losses of others do not end it: what it waits for comes
  std::int64_t deadline_ns = no_deadline;  // of steady_ns(): then it ends, come or not
  std::uint64_t words = 0;                 // lines of the words that it looks at (awaited_bit)
  wait_note note{};                        // for reports
};

// Code that waits. Lives on the waiting stack. is_done(this) is asked in each turn where it is set; else make_resumable
// ends the wait.
struct waiter {
  bool (*is_done)(waiter*) = nullptr;
  waiter* next = nullptr;
  waiter* previous = nullptr;
  void* fiber = nullptr;      // the detail::fiber that is set aside
  std::uint32_t told_of = 0;  // ends of places that the waiting task knew of when it began to wait
  bool resumable = false;
  bool failed = false;  // ended by the loss of a place, not by what it waits for
  bool late = false;    // ended by its deadline
  waits_for whom;
};

class scheduler {
 public:
  explicit scheduler(std::size_t stack_bytes);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  // Runs `task` on a worker, in order, when the running code waits or ends.
  void spawn(ready_task* task) noexcept;

  // Sets the running stack aside until `w` is resumable. Throws place_lost_error when a place is lost meanwhile, or was
  // lost without the running task having been told.
  void wait(waiter& w);
  // The same; false in place of the exception. The task counts as told only where its caller throws.
  [[nodiscard]] bool wait_unless_lost(waiter& w);
  // Ends a wait; the code runs when the worker next comes round. pre: w is waiting.
  void make_resumable(waiter& w) noexcept;

  // Waits until done() holds; false where the deadline came first. done() is asked often, by this place's thread: it
  // must be quick and must not throw or wait.
  template <class Done>
  bool wait_until(Done done, const waits_for& whom = {}) {
    if (done() || spin_until_done(done, 16)) return true;
    struct condition : waiter {
      Done& done;
      explicit condition(Done& d)
          : waiter{.is_done = [](waiter* w) { return static_cast<condition*>(w)->done(); }}, done{d} {}
    } w{done};
    w.whom = whom;
    wait(w);
    return !w.late;
  }

  // Lets messages and tasks run once.
  void progress();

  // A short look for what usually comes soon, before the price of a switch; ends at once where a call or a task wants
  // to run. `looks`: how often to ask done() for each look into the channels; more than once where something else than
  // messages decides.
  template <class Done>
  bool spin_until_done(Done& done, std::uint32_t looks = 1) {
    for (std::uint32_t turn = 0; turn < spin_turns_; ++turn) {
      if (!may_spin_on()) return done();  // the look that found something to run may have brought the answer, too
      for (std::uint32_t look = 0; look < looks; ++look)
        if (done()) return true;
    }
    return false;
  }

  // Where the running code's stack lies; nothing is known of main's. Callable from a signal handler.
  [[nodiscard]] stack_bounds running_stack() const noexcept;

  // What make_ready_future() returns: one state for all, which has been ready from the start.
  [[nodiscard]] future_state<void>* ready_end() const noexcept { return ready_end_; }

  [[nodiscard]] task_context* task() const noexcept { return task_; }
  void set_task(task_context* task) noexcept { task_ = task; }

 private:
  struct implementation;
  friend struct implementation;

  bool may_spin_on();
  void take_a_turn();

  std::unique_ptr<implementation> self_;
  task_context* task_ = nullptr;
  future_state<void>* const ready_end_;
  std::uint32_t spin_turns_ = 0;
};

}  // namespace situ::detail
