// Fibers, ready tasks and waiting: how a place goes on working while its code waits.
//
// Tasks run inline, as plain calls, on the stack of a worker: a fiber whose loop polls the channels, runs ready tasks
// and checks the waiting code. Code that must wait is suspended with the whole stack that it runs on, and another
// worker takes over:
//
//   main ---- wait ------------------------------ resumed ----
//                \ worker 1: poll, task ------------ task goes on ...
//                                     \ wait: worker 2 takes over, polls, finds the answer that main waits for
//
// So code that never blocks costs no switch, and a nested `at` cannot deadlock. Invariants
//   1. At any moment exactly one fiber of a place runs; all others are in `waiting`, `resumable` or idle workers.
//   2. Only a worker at the top of its loop takes in calls and runs tasks, so no task ever runs on top of waiting
//      code's stack. Handlers of active messages, which cannot wait, run on any stack.
//   3. A task is told of each end of a place once: by place_lost_error out of the wait that it is in, or else out of
//      its next one, unless the awaited condition holds (docs/design/runtime.md, "How a wait learns of a loss").
// Not thread-safe: everything belongs to the place's thread.
#pragma once

#include <situ/memory/detail/wait_note.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace situ::detail {

// AddressSanitizer finds uses of freed memory only if the memory is given back to it.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_address_checked = true;
#else
inline constexpr bool is_address_checked = false;
#endif

struct finish_node;
template <class T>
struct future_state;
struct stack_bounds;  // src/runtime/stack.h

// The context of a running task. `finish_key` names the finish scope that counts the task, 0 for none; `node` is this
// place's record of that scope, made when the task first spawns another.
struct task_context {
  std::uint64_t finish_key = 0;
  finish_node* node = nullptr;
  std::uint32_t source = 0;  // the place that sent the task
  bool engaging = false;     // the task's own message is acknowledged only when the node is done (finish.h)
  // The code that the task runs, for error messages: text with the type's name in it, and the function if the type is
  // only a function pointer.
  const char* code_name = nullptr;
  const void* code = nullptr;
};

// Returns the compiler's text that names F: "... [with F = main()::<lambda(int)>]". It is a constant, so that a task
// carries one pointer.
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
  const char* name = nullptr;            // code_name_of() its function, for a trace
  std::uint32_t told_of = as_its_maker;  // ends of places (place_context::told_of) when it begins
  // the least size of its stack (task.h: with_stack); no_stack if none could be reserved
  std::uint32_t stack_pages = 0;
  static constexpr std::uint32_t no_stack = ~std::uint32_t{0};
  static constexpr std::size_t stack_page_bytes = 4096;
  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_pages * stack_page_bytes; }
};

// The place that a wait depends on, and further conditions that end the wait.
struct waits_for {
  static constexpr std::uint32_t anybody = ~std::uint32_t{0};
  static constexpr std::int64_t no_deadline = INT64_MAX;
  // A deadline that never comes, of a wait that a host's server ends: a job with such a wait does not stand still, even
  // if all of its places sleep.
  static constexpr std::int64_t ended_by_server = INT64_MAX - 1;
  std::uint32_t place = anybody;  // the only place that can end the wait: its end, at any time, ends the wait, too
  bool outlives_losses = false;   // losses of other places do not end the wait: its condition comes true
  std::int64_t deadline_ns = no_deadline;  // of steady_ns(): ends the wait in any case
  std::uint64_t words = 0;                 // lines of the words that its condition reads (awaited_bit)
  wait_note note{};                        // for reports
};

// Code that waits; the object lives on the waiting stack. If is_done is set, the worker asks is_done(this) in each
// turn; otherwise make_resumable ends the wait.
struct waiter {
  bool (*is_done)(waiter*) = nullptr;
  waiter* next = nullptr;
  waiter* previous = nullptr;
  void* fiber = nullptr;      // the detail::fiber that is suspended
  std::uint32_t told_of = 0;  // ends of places that the waiting task knew of when it began to wait
  bool resumable = false;
  bool failed = false;  // ended by the loss of a place, not by its condition
  bool late = false;    // ended by its deadline
  waits_for whom;
};

// Blocks for the states of futures: a state often lives for one call only. Up to `most_kept` freed blocks are kept.
class state_blocks {
 public:
  static constexpr std::size_t block_bytes = 128;

  state_blocks() noexcept = default;
  ~state_blocks();
  state_blocks(const state_blocks&) = delete;
  state_blocks& operator=(const state_blocks&) = delete;

  // Returns a kept block, or null.
  [[nodiscard]] void* take() noexcept {
    kept* const block = first_;
    if (block == nullptr) return nullptr;
    first_ = block->next;
    --count_;
    return block;
  }
  // Keeps a block of block_bytes; returns false if enough are kept.
  [[nodiscard]] bool keep(void* block) noexcept {
    if (count_ == most_kept) return false;
    first_ = ::new (block) kept{first_};
    ++count_;
    return true;
  }

 private:
  struct kept {
    kept* next;
  };
  static constexpr std::uint32_t most_kept = is_address_checked ? 0 : 64;
  kept* first_ = nullptr;
  std::uint32_t count_ = 0;
};

class scheduler {
 public:
  explicit scheduler(std::size_t stack_bytes);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  // Queues `task`; a worker runs it, in order, when the running code waits or ends.
  void spawn(ready_task* task) noexcept;

  // Suspends the running stack until `w` is resumable. Throws place_lost_error if a place is lost during the wait, or
  // was lost before without the running task having been told.
  void wait(waiter& w);
  // As wait, but returns false instead of throwing. The task counts as told only if its caller throws.
  [[nodiscard]] bool wait_unless_lost(waiter& w);
  // Ends a wait; the code resumes in the worker's next turn. pre: w is waiting.
  void make_resumable(waiter& w) noexcept;

  // Waits until done() holds; returns false if the deadline passed first. This place's thread calls done() often: it
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

  // Polls for a short time for an event that usually comes soon, before paying for a switch; ends at once if a call or
  // a task is ready to run. `looks` is the number of calls of done() per poll of the channels; more than one if done()
  // does not depend on messages only.
  template <class Done>
  bool spin_until_done(Done& done, std::uint32_t looks = 1) {
    for (std::uint32_t turn = 0; turn < spin_turns_; ++turn) {
      if (!may_spin_on()) return done();  // the poll that found work may have brought the answer, too
      for (std::uint32_t look = 0; look < looks; ++look)
        if (done()) return true;
    }
    return false;
  }

  // Returns the bounds of the running code's stack; those of main's stack are unknown. Callable from a signal handler.
  [[nodiscard]] stack_bounds running_stack() const noexcept;

  // The state of make_ready_future(): one for all, ready from the start.
  [[nodiscard]] future_state<void>* ready_end() const noexcept { return ready_end_; }

  [[nodiscard]] state_blocks& blocks() noexcept { return blocks_; }

  [[nodiscard]] task_context* task() const noexcept { return task_; }
  void set_task(task_context* task) noexcept { task_ = task; }

 private:
  struct implementation;
  friend struct implementation;

  bool may_spin_on();
  void take_a_turn();

  state_blocks blocks_;
  std::unique_ptr<implementation> self_;
  task_context* task_ = nullptr;
  future_state<void>* const ready_end_;
  std::uint32_t spin_turns_ = 0;
};

}  // namespace situ::detail
