#include <situ/runtime/future.h>

#include <situ/base/error.h>

#include "memory/liveness.h"

namespace situ::detail {

void future_state_base::wait() {
  const auto done = [this] { return ready; };
  if (ready) return;
  if (current->scheduler == nullptr) throw_no_runtime("a future is waited for");
  scheduler& here = *current->scheduler;
  if (here.spin_until_done(done)) return;
  // In the list of those that wake_all ends, until the wait is over in whatever way: it may also fail for want of
  // another stack.
  struct listed : waiter {
    future_state_base& state;
    explicit listed(future_state_base& s) noexcept : waiter{.chain = s.waiters}, state{s} { s.waiters = this; }
    ~listed() {
      for (waiter** link = &state.waiters; *link != nullptr; link = &(*link)->chain) {
        if (*link != this) continue;
        *link = chain;
        return;
      }
    }
  } self{*this};
  if (!here.wait_unless_lost(self) && !ready) throw_place_lost(*current->job, current->place);
}

void rethrow(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const place_lost_error&) {
    note_told();
    throw;
  }
}

void future_state_base::wake_all() noexcept {
  if (current->scheduler == nullptr) return;  // in a forked child: who waits is its parent's
  for (waiter* w = std::exchange(waiters, nullptr); w != nullptr;) {
    waiter* const next = w->chain;  // w is gone as soon as its stack runs
    current->scheduler->make_resumable(*w);
    w = next;
  }
  ready_task* in_order = nullptr;
  for (ready_task* task = std::exchange(continuations, nullptr); task != nullptr;) {
    ready_task* const next = std::exchange(task->next, in_order);
    in_order = task;
    task = next;
  }
  while (in_order != nullptr) {
    ready_task* const next = in_order->next;
    current->scheduler->spawn(in_order);
    in_order = next;
  }
}

void future_state_base::add_continuation(ready_task* task) {
  if (ready) return current->scheduler->spawn(task);
  task->told_of = current->told_of;  // who asks for it, not who sets the value
  task->next = std::exchange(continuations, task);
}

void future_state_base::dispose() noexcept { delete this; }

std::exception_ptr broken_promise() {
  return std::make_exception_ptr(
      error{errc::bad_argument,
            "the promise of this future was destroyed without a value: set a value or an exception on every path"});
}

}  // namespace situ::detail
