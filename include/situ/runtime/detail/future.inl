// Bodies of future.h. Include that.
#pragma once

namespace situ {
namespace detail {

[[nodiscard]] std::exception_ptr broken_promise();
// Reports a failure to the finish scope of `context` (null: to the log), unless somebody holds a future for it: more
// references than the caller's own.
void report_unheard(future_state_base& state, task_context* context, std::uint32_t own_references = 1) noexcept;

template <class T, class Body>
void fulfil_with(future_state<T>& state, Body&& body) {
  using result = std::invoke_result_t<Body>;
  try {
    if constexpr (is_future<result>) {
      if constexpr (std::is_void_v<T>) {
        body().get();
      } else {
        state.value.emplace(body().get());
      }
    } else if constexpr (std::is_void_v<T>) {
      body();
    } else {
      state.value.emplace(body());
    }
    state.fulfil();
  } catch (...) {
    state.fail(std::current_exception());
  }
}

// A continuation that calls run_(context) with its scope in place, then deletes itself.
template <class Run>
struct continuation_of final : continuation {
  Run run_;
  explicit continuation_of(Run&& r) : run_{std::move(r)} {
    run = [](ready_task* task) {
      std::unique_ptr<continuation_of> self{static_cast<continuation_of*>(task)};
      scheduler& here = *current->scheduler;
      task_context* const before = here.task();
      here.set_task(&self->context);
      self->run_(self->context);
      leave_scope(self->context);
      here.set_task(before);
    };
  }
};

// Has `run` called as a task, counted in the running finish scope, once `state` is ready.
template <class T, class Run>
void on_ready(const state_reference<T>& state, Run run) {
  auto task = std::make_unique<continuation_of<Run>>(std::move(run));
  adopt_into_scope(task->context);
  task->context.code_name = code_name_of<Run>();
  state->add_continuation(task.release());
}

}  // namespace detail

template <class T>
template <class F>
auto future<T>::then(F f) const
    -> future<typename detail::unwrap_future<typename detail::continuation_result<F, T>::type>::type> {
  using result = typename detail::unwrap_future<typename detail::continuation_result<F, T>::type>::type;
  check();
  auto outcome = detail::make_state<result>();
  detail::on_ready(state_, [source = state_, outcome, f = std::move(f)](detail::task_context& context) mutable {
    if (source->error) {
      outcome->fail(source->error);
    } else if constexpr (std::is_void_v<T>) {
      detail::fulfil_with(*outcome.get(), [&] { return f(); });
    } else {
      detail::fulfil_with(*outcome.get(), [&] { return f(static_cast<const T&>(*source->value)); });
    }
    detail::report_unheard(*outcome.get(), &context);
  });
  return future<result>{std::move(outcome)};
}

template <class T>
void future<T>::await_suspend(std::coroutine_handle<> coroutine) const {
  detail::on_ready(state_, [coroutine](detail::task_context&) { coroutine.resume(); });
}

template <class T>
promise<T>::~promise() {
  if (state_ && !state_->ready) state_->fail(detail::broken_promise());
}

namespace detail {

template <class T>
struct coroutine_promise_base {
  promise<T> outcome;
  future<T> get_return_object() { return outcome.get_future(); }
  std::suspend_never initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept { return {}; }
  void unhandled_exception() {
    outcome.set_exception(std::current_exception());
    const state_reference<T> state = outcome.get_future().state();
    report_unheard(*state.get(), current->scheduler != nullptr ? current->scheduler->task() : nullptr,
                   2);  // the promise's and this one
  }
};

template <class T>
struct coroutine_promise : coroutine_promise_base<T> {
  template <class U>
  void return_value(U&& value) {
    this->outcome.set_value(std::forward<U>(value));
  }
};
template <>
struct coroutine_promise<void> : coroutine_promise_base<void> {
  void return_void() { outcome.set_value(); }
};

template <class T>
std::tuple<T> value_tuple(const state_reference<T>& state) {
  return std::tuple<T>{*state->value};
}
inline std::tuple<> value_tuple(const state_reference<void>&) { return {}; }

// Counts down as its inputs arrive; the last one delivers.
template <class Result, class... Ts>
struct gathering {
  std::tuple<state_reference<Ts>...> inputs;
  state_reference<Result> outcome = make_state<Result>();
  std::size_t missing = sizeof...(Ts);

  void arrived(task_context& context) {
    if (--missing != 0) return;
    std::exception_ptr error;
    std::apply([&](const auto&... input) { ((error = error ? error : input->error), ...); }, inputs);
    if (error) return fail(std::move(error), context);
    if constexpr (!std::is_void_v<Result>)
      outcome->value.emplace(
          std::apply([](const auto&... input) { return std::tuple_cat(value_tuple(input)...); }, inputs));
    outcome->fulfil();
  }
  void fail(std::exception_ptr error, task_context& context) {
    outcome->fail(std::move(error));
    report_unheard(*outcome.get(), &context);
  }
};

template <class Result, class T>
struct vector_gathering {
  std::vector<state_reference<T>> inputs;
  state_reference<Result> outcome = make_state<Result>();
  std::size_t missing = 0;

  void arrived(task_context& context) {
    if (--missing != 0) return;
    for (const auto& input : inputs) {
      if (!input->error) continue;
      outcome->fail(input->error);
      return report_unheard(*outcome.get(), &context);
    }
    if constexpr (!std::is_void_v<Result>) {
      outcome->value.emplace();
      outcome->value->reserve(inputs.size());
      for (const auto& input : inputs) outcome->value->push_back(*input->value);
    }
    outcome->fulfil();
  }
};

template <class Tuple>
using tuple_or_void = std::conditional_t<std::tuple_size_v<Tuple> == 0, void, Tuple>;

}  // namespace detail

template <class T>
struct future<T>::promise_type : detail::coroutine_promise<T> {};

template <class... Ts>
auto when_all(future<Ts>... futures) {
  using result = detail::tuple_or_void<decltype(std::tuple_cat(
      detail::value_tuple(std::declval<const detail::state_reference<Ts>&>())...))>;
  auto gather = std::make_shared<detail::gathering<result, Ts...>>();
  gather->inputs = std::tuple{futures.state()...};
  auto outcome = gather->outcome;
  if constexpr (sizeof...(Ts) == 0) {
    outcome->fulfil();
  } else {
    (detail::on_ready(futures.state(), [gather](detail::task_context& context) { gather->arrived(context); }), ...);
  }
  return future<result>{std::move(outcome)};
}

template <class T>
auto when_all(std::vector<future<T>> futures) {
  using result =
      std::conditional_t<std::is_void_v<T>, void, std::vector<std::conditional_t<std::is_void_v<T>, char, T>>>;
  auto gather = std::make_shared<detail::vector_gathering<result, T>>();
  auto outcome = gather->outcome;
  gather->missing = futures.size();
  for (const auto& f : futures) gather->inputs.push_back(f.state());
  if (futures.empty()) {
    if constexpr (!std::is_void_v<result>) outcome->value.emplace();
    outcome->fulfil();
  }
  for (const auto& f : futures)
    detail::on_ready(f.state(), [gather](detail::task_context& context) { gather->arrived(context); });
  return future<result>{std::move(outcome)};
}

}  // namespace situ
