// Tasks and finish scopes.
//
//   situ::finish([&] {
//     for (situ::place p : situ::places()) situ::async_at(p, work); // at.h
//     situ::async([&] { ... });                                 // at this place
//   });                                                         // all done, with all they started anywhere
//
// A task is a function that a place runs on a fiber: it may wait, and the place runs other tasks in the meantime.
// Tasks of a place never run at the same time, so they need no locks against each other; the place switches tasks only
// when one waits. finish() waits for every task started in its body, at any place, and for the tasks that those start.
// Termination detection follows Dijkstra and Scholten: each message is acknowledged once the work that it caused is
// done, so there are no global counters to poll. Errors: an exception that leaves a task goes to its future; if no
// handle of the future is left, finish() throws it (remote_error for tasks of other places). finish() throws
// place_lost_error if a place is lost during the wait. Main itself has a finish scope, which ends in ~runtime.
#pragma once

#include <situ/runtime/future.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ {

namespace detail {

// This place's part of one finish scope.
class finish_scope {
 public:
  finish_scope();  // opens a scope of the running task
  ~finish_scope();
  finish_scope(const finish_scope&) = delete;
  finish_scope& operator=(const finish_scope&) = delete;
  // Waits for everything in the scope; throws the exceptions of tasks that no future took.
  void wait(const std::source_location& where);
  // Waits without throwing; the next wait reports a loss that happened in this one.
  void settle(const std::source_location& where) noexcept;

 private:
  std::unique_ptr<finish_node> node_;
  task_context context_;
  task_context* enclosing_;
};

}  // namespace detail

// Runs body() and waits for all tasks that it starts, transitively, at any place. An exception from body is thrown
// after the wait; otherwise the first exception of a task without a future, and the others are logged. Throws
// no_runtime outside a runtime. cost: an allocation; and for each other place that ran tasks of the scope, one
// acknowledgement each time that it ran out of them.
template <std::invocable Body>
void finish(Body&& body, std::source_location where = std::source_location::current()) {
  detail::finish_scope scope;
  std::exception_ptr thrown;
  try {
    std::forward<Body>(body)();
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown) {
    scope.settle(where);  // the body's own exception came first
    std::rethrow_exception(thrown);
  }
  scope.wait(where);
}

// A task's request for the size of its stack; see with_stack.
struct stack_request {
  std::uint64_t bytes;  // the least size of the stack
};

// Requests a stack for one task that needs more than the job's tasks have (situ run --stack, launch_options,
// runtime_options; 256 KiB unless given):
//
//   situ::async(situ::with_stack(16 << 20), parse_deeply, text).get();
//   situ::at(p, [](int n) { return situ::async(situ::with_stack(64 << 20), deep, n); }, n);   // and for a call
//
// Pages are taken as they are touched, and given back when the task is done. cost: a switch of stacks; the first time
// the reservation of a new stack.
[[nodiscard]] constexpr stack_request with_stack(std::uint64_t bytes) noexcept { return {bytes}; }

namespace detail {

[[nodiscard]] std::exception_ptr cancelled_error();
[[noreturn]] void throw_cancelled();

// Returns the request in pages. Throws bad_argument if no stack can have that size.
[[nodiscard]] std::uint32_t stack_pages_of(const stack_request& request);
[[noreturn]] void throw_no_stack();

template <bool HasOwnStack, class F, class... Arguments>
auto start_task(std::uint32_t stack_pages, F&& f, Arguments&&... arguments)
    -> future<typename unwrap_future<std::invoke_result_t<F, Arguments...>>::type>;

}  // namespace detail

// Starts f(args...) as a task of this place, to run later; f and args are moved or copied into it. Returns the future
// of its result. Throws no_runtime outside a runtime. cost: an allocation for the task and one for the future; no
// switch of stacks if f does not wait.
template <class F, class... Arguments>
auto async(F f, Arguments... arguments)
    -> future<typename detail::unwrap_future<std::invoke_result_t<F, Arguments...>>::type> {
  return detail::start_task<false, F, Arguments...>(0, std::move(f), std::move(arguments)...);
}
// As above, on a stack of at least the requested size. Throws bad_argument if no stack can have that size; the future
// fails with out_of_memory if none could be reserved. cost: in addition, with_stack's.
template <class F, class... Arguments>
auto async(stack_request stack, F f, Arguments... arguments)
    -> future<typename detail::unwrap_future<std::invoke_result_t<F, Arguments...>>::type> {
  return detail::start_task<true, F, Arguments...>(detail::stack_pages_of(stack), std::move(f),
                                                   std::move(arguments)...);
}

// As above, unless a stop is requested by `stop` before the task begins: then f is not called, and the future has
// errc::cancelled, which no finish scope takes for a failure. A task that has begun goes on; f may look at the token
// itself.
template <class F, class... Arguments>
auto async(std::stop_token stop, F f, Arguments... arguments)
    -> future<typename detail::unwrap_future<std::invoke_result_t<F, Arguments...>>::type> {
  auto unless_stopped = [stop = std::move(stop), f = std::move(f)](Arguments&&... given) mutable {
    if (stop.stop_requested()) detail::throw_cancelled();
    return std::move(f)(std::move(given)...);
  };
  return detail::start_task<false, decltype(unless_stopped), Arguments...>(0, std::move(unless_stopped),
                                                                           std::move(arguments)...);
}

template <bool HasOwnStack, class F, class... Arguments>
auto detail::start_task([[maybe_unused]] std::uint32_t stack_pages, F&& f, Arguments&&... arguments)
    -> future<typename unwrap_future<std::invoke_result_t<F, Arguments...>>::type> {
  using result = typename detail::unwrap_future<std::invoke_result_t<F, Arguments...>>::type;
  struct task final : detail::continuation {
    F f;
    std::tuple<Arguments...> arguments;
    detail::state_reference<result> outcome = detail::make_state<result>();
    task(F&& function, Arguments&&... given) : f{std::move(function)}, arguments{std::move(given)...} {
      run = [](detail::ready_task* ready) {
        std::unique_ptr<task> self{static_cast<task*>(ready)};
        detail::scheduler& here = *detail::current->scheduler;
        detail::task_context* const before = here.task();
        here.set_task(&self->context);
        detail::fulfil_with(*self->outcome.get(), [&]() -> decltype(auto) {
          if constexpr (HasOwnStack)
            if (self->stack_pages == no_stack) throw_no_stack();
          return std::apply(std::move(self->f), std::move(self->arguments));
        });
        detail::report_unheard(*self->outcome.get(), &self->context);
        detail::leave_scope(self->context);
        here.set_task(before);
      };
    }
  };
  auto ready = std::make_unique<task>(std::forward<F>(f), std::forward<Arguments>(arguments)...);
  future<result> outcome{ready->outcome};
  detail::adopt_into_scope(ready->context);
  ready->context.code_name = ready->name = code_name_of<F>();
  if constexpr (is_function_pointer<F>) ready->context.code = code_of(ready->f);
  if constexpr (HasOwnStack) ready->stack_pages = stack_pages;
  detail::current->scheduler->spawn(ready.release());
  return outcome;
}

// Runs the messages and tasks of this place that are ready, once. Long computations should call it now and then if
// other places send work. Throws no_runtime outside a runtime. cost: some loads for each other place if nothing has
// arrived.
void progress();

}  // namespace situ
