// Function bodies of future.h. Include future.h instead.
#pragma once

namespace situ {
namespace detail {

[[nodiscard]] std::exception_ptr broken_promise();
// Reports a failure to the finish scope of `context` (nullptr: to the log), unless a future for it exists: that is,
// unless the state has more references than `own_references`.
void report_unheard(future_state_base& state, task_context* context, std::uint32_t own_references = 1) noexcept;

template <class T, class Body>
void fulfil_with(future_state<T>& state, Body&& body) {
  using result = std::invoke_result_t<Body>;
  try {
    if constexpr (is_future<result>) {
      if constexpr (std::is_void_v<T>) {
        body().get(std::source_location{});  // without a line: Situ's own code means nothing to the reader of a report
      } else {
        state.value.emplace(body().get(std::source_location{}));
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

// A continuation that calls run_(context) within its finish scope, then deletes itself.
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

// Calls `run` as a task, counted in the running finish scope, once `state` is ready.
template <class T, class Run>
void on_ready(const state_reference<T>& state, Run run) {
  auto task = std::make_unique<continuation_of<Run>>(std::move(run));
  adopt_into_scope(task->context);
  task->context.code_name = task->name = code_name_of<Run>();
  if (!state->ready) task->told_of = current->told_of;  // known to the caller, not to the setter of the value
  state->watch(*task.release());
}

// A continuation of several futures: runs as a task once `missing` of them have become ready.
struct gathering : continuation {
  struct arrival : watcher {
    gathering* of = nullptr;
    std::size_t index = 0;
  };
  std::size_t missing = 0;
  std::size_t last = 0;  // index of the future that was the last of these

  void watch(future_state_base& state, arrival& by, std::size_t index) noexcept {
    by.of = this;
    by.index = index;
    by.notify = [](watcher* w) noexcept {
      const auto& arrived = *static_cast<arrival*>(w);
      gathering& self = *arrived.of;
      if (self.missing == 0 || --self.missing != 0) return;
      self.last = arrived.index;
      self.notify(&self);
    };
    state.watch(by);
  }
};

template <class T, class Visit>
void for_each_state(const std::vector<future<T>>& futures, Visit visit) {
  std::size_t index = 0;
  for (const future<T>& each : futures) visit(static_cast<future_state_base&>(*each.state().get()), index++);
}
template <class... Ts, class Visit>
void for_each_state(const std::tuple<future<Ts>...>& futures, Visit visit) {
  std::size_t index = 0;
  std::apply([&](const auto&... each) { (visit(static_cast<future_state_base&>(*each.state().get()), index++), ...); },
             futures);
}
template <class T>
[[nodiscard]] auto arrivals_for(const std::vector<future<T>>& futures) {
  return std::vector<gathering::arrival>(futures.size());
}
template <class... Ts>
[[nodiscard]] auto arrivals_for(const std::tuple<future<Ts>...>&) {
  return std::array<gathering::arrival, sizeof...(Ts)>{};
}

// Holds the futures, and unregisters from those that are not ready yet.
template <class Futures, class Run>
struct gathering_of final : gathering {
  Futures futures;
  Run run_;
  decltype(arrivals_for(std::declval<const Futures&>())) arrivals = arrivals_for(futures);

  gathering_of(Futures&& f, Run&& r) : futures{std::move(f)}, run_{std::move(r)} {
    run = [](ready_task* task) {
      const std::unique_ptr<gathering_of> self{static_cast<gathering_of*>(task)};
      scheduler& here = *current->scheduler;
      task_context* const before = here.task();
      here.set_task(&self->context);
      self->run_(*self);
      leave_scope(self->context);
      here.set_task(before);
    };
  }
  ~gathering_of() {
    for_each_state(futures, [this](future_state_base& state, std::size_t i) { state.unwatch(arrivals[i]); });
  }
};

// Calls run(gathering) as a task, counted in the running finish scope, once `enough` of the futures are ready.
template <class Futures, class Run>
void on_ready_of(Futures futures, std::size_t enough, Run run) {
  auto made = std::make_unique<gathering_of<Futures, Run>>(std::move(futures), std::move(run));
  adopt_into_scope(made->context);
  made->context.code_name = made->name = code_name_of<Run>();
  made->told_of = current->told_of;
  made->missing = enough;
  auto& task = *made.release();
  for_each_state(task.futures,
                 [&](future_state_base& state, std::size_t i) { task.watch(state, task.arrivals[i], i); });
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
                   2);  // the promise's reference and this one
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

template <class T>
void deliver_error(const state_reference<T>& outcome, std::exception_ptr error, task_context& context) {
  outcome->fail(std::move(error));
  report_unheard(*outcome.get(), &context);
}

template <class Tuple>
using tuple_or_void = std::conditional_t<std::tuple_size_v<Tuple> == 0, void, Tuple>;

}  // namespace detail

template <class T>
struct future<T>::promise_type : detail::coroutine_promise<T> {};

template <class... Ts>
auto when_all(future<Ts>... futures) {
  using result = detail::tuple_or_void<decltype(std::tuple_cat(
      detail::value_tuple(std::declval<const detail::state_reference<Ts>&>())...))>;
  auto outcome = detail::make_state<result>();
  if constexpr (sizeof...(Ts) == 0) {
    outcome->fulfil();
  } else {
    detail::on_ready_of(std::tuple{std::move(futures)...}, sizeof...(Ts), [outcome](auto& all) {
      std::exception_ptr error;
      std::apply([&](const auto&... each) { ((error = error ? error : each.state()->error), ...); }, all.futures);
      if (error) return detail::deliver_error(outcome, std::move(error), all.context);
      if constexpr (!std::is_void_v<result>)
        outcome->value.emplace(std::apply(
            [](const auto&... each) { return std::tuple_cat(detail::value_tuple(each.state())...); }, all.futures));
      outcome->fulfil();
    });
  }
  return future<result>{std::move(outcome)};
}

template <class T>
auto when_all(std::vector<future<T>> futures) {
  using result =
      std::conditional_t<std::is_void_v<T>, void, std::vector<std::conditional_t<std::is_void_v<T>, char, T>>>;
  auto outcome = detail::make_state<result>();
  if (futures.empty()) {
    if constexpr (!std::is_void_v<result>) outcome->value.emplace();
    outcome->fulfil();
    return future<result>{std::move(outcome)};
  }
  const std::size_t count = futures.size();
  detail::on_ready_of(std::move(futures), count, [outcome](auto& all) {
    for (const future<T>& each : all.futures)
      if (each.state()->error) return detail::deliver_error(outcome, each.state()->error, all.context);
    if constexpr (!std::is_void_v<result>) {
      outcome->value.emplace();
      outcome->value->reserve(all.futures.size());
      for (const future<T>& each : all.futures) outcome->value->push_back(*each.state()->value);
    }
    outcome->fulfil();
  });
  return future<result>{std::move(outcome)};
}

namespace detail {

template <class Futures>
[[nodiscard]] future<std::size_t> first_of(Futures futures) {
  auto outcome = make_state<std::size_t>();
  on_ready_of(std::move(futures), 1, [outcome](auto& first) {
    outcome->value.emplace(first.last);
    outcome->fulfil();
  });
  return future<std::size_t>{std::move(outcome)};
}

}  // namespace detail

template <class... Ts>
future<std::size_t> when_any(future<Ts>... futures) {
  static_assert(sizeof...(Ts) != 0, "situ: when_any of no futures would never be ready");
  return detail::first_of(std::tuple{std::move(futures)...});
}

template <class T>
future<std::size_t> when_any(std::vector<future<T>> futures) {
  SITU_ASSERT(1, !futures.empty(), "when_any of no futures would never be ready");
  return detail::first_of(std::move(futures));
}

template <class... Ts>
std::size_t wait_any(const future<Ts>&... futures) {
  static_assert(sizeof...(Ts) != 0, "situ: wait_any of no futures would wait for ever");
  const std::array<detail::future_state_base*, sizeof...(Ts)> states{futures.state().get()...};
  return detail::wait_for_any(states, deadline::never());
}

template <class T>
std::size_t wait_any(const std::vector<future<T>>& futures) {
  return *wait_any(futures, deadline::never());
}

template <class T>
std::optional<std::size_t> wait_any(const std::vector<future<T>>& futures, deadline until) {
  return detail::wait_for_any(
      futures.size(), &futures,
      [](const void* all, std::size_t index) -> detail::future_state_base* {
        return (*static_cast<const std::vector<future<T>>*>(all))[index].state().get();
      },
      until);
}

}  // namespace situ
