// Tasks and finish scopes.
//
//   situ::finish([&] {
//     for (situ::place p : situ::places()) situ::async_at(p, work); // at.h
//     situ::async([&] { ... });                                 // at this place
//   });                                                         // all done, with all they started anywhere
//
// A task is a fiber's worth of work at its place: it may wait, and the place goes on with others meanwhile. Tasks of a
// place never run at the same time, so they need no locks against each other; they are switched only where one waits.
// finish() waits for every task started in its body, at any place, and for those that they started. Termination
// detection is Dijkstra and Scholten's: each message is acknowledged once what it caused is done, so there are no
// global counters to poll. Errors: an exception that leaves a task goes to its future; where nobody holds that,
// finish() throws it (remote_error for tasks of other places). place_lost_error when a place is lost meanwhile. Main
// itself stands in a finish scope, which ends in ~runtime.
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

// One finish scope as this place sees it.
class finish_scope {
 public:
  finish_scope();  // opens a scope of the running task
  ~finish_scope();
  finish_scope(const finish_scope&) = delete;
  finish_scope& operator=(const finish_scope&) = delete;
  // Waits for everything in the scope; throws what its tasks threw and nobody took.
  void wait(const std::source_location& where);
  // The same, without throwing; a loss that it meets is told by the next wait.
  void settle(const std::source_location& where) noexcept;

 private:
  std::unique_ptr<finish_node> node_;
  task_context context_;
  task_context* enclosing_;
};

}  // namespace detail

// Runs body() and waits for all tasks that it starts, transitively, anywhere. An exception from body is thrown after
// the wait; else the first that a task threw and nobody held a future for, and the others are logged. Throws no_runtime
// outside a runtime. cost: an allocation; for each other place that tasks went to, one acknowledgement for each time
// that it ran out of them.
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

// What a task asks of the stack that it runs on; see with_stack.
struct stack_request {
  std::uint64_t bytes;  // at least so many
};

// For one task that needs more stack than the job's tasks have (situ run --stack, launch_options, runtime_options; 256
// KiB unless given):
//
//   situ::async(situ::with_stack(16 << 20), parse_deeply, text).get();
//   situ::at(p, [](int n) { return situ::async(situ::with_stack(64 << 20), deep, n); }, n);   // and for a call
//
// Pages are taken as they are touched, and given back when the task is done. cost: a switch of stacks; the first time a
// new one.
[[nodiscard]] constexpr stack_request with_stack(std::uint64_t bytes) noexcept { return {bytes}; }

namespace detail {

[[nodiscard]] std::exception_ptr cancelled_error();
[[noreturn]] void throw_cancelled();

// Throws bad_argument where no stack has so many bytes.
[[nodiscard]] std::uint32_t stack_pages_of(const stack_request& request);
[[noreturn]] void throw_no_stack();

template <bool HasOwnStack, class F, class... Arguments>
auto start_task(std::uint32_t stack_pages, F&& f, Arguments&&... arguments)
    -> future<typename unwrap_future<std::invoke_result_t<F, Arguments...>>::type>;

}  // namespace detail

// Runs f(args...) as a task of this place, later; f and args are moved or copied into it. Returns its result to come.
// Throws no_runtime outside a runtime. cost: an allocation for the task and one for the future; no switch of stacks
// where f does not wait.
template <class F, class... Arguments>
auto async(F f, Arguments... arguments)
    -> future<typename detail::unwrap_future<std::invoke_result_t<F, Arguments...>>::type> {
  return detail::start_task<false, F, Arguments...>(0, std::move(f), std::move(arguments)...);
}
// The same, on a stack of at least so many bytes. Throws bad_argument for one that cannot be; the future has
// out_of_memory where there was none. cost: with_stack's besides.
template <class F, class... Arguments>
auto async(stack_request stack, F f, Arguments... arguments)
    -> future<typename detail::unwrap_future<std::invoke_result_t<F, Arguments...>>::type> {
  return detail::start_task<true, F, Arguments...>(detail::stack_pages_of(stack), std::move(f),
                                                   std::move(arguments)...);
}

// The same, unless `stop` is asked to before it begins: then f is not called, and the future has errc::cancelled, which
// no finish scope takes for a failure. A task that has begun goes on; f may look at the token itself.
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

// Lets messages and tasks of this place run once. Long computations that others send work to call it now and then.
// Throws no_runtime outside a runtime. cost: some loads for each other place where nothing has arrived.
void progress();

}  // namespace situ
