// Futures and promises of one place: values that are not there yet.
//
//   situ::future<int> f = situ::async_at(p, work, 3);
//   int n = f.get();                       // waits; the place goes on working
//   auto g = f.then([](int n) { return 2 * n; });
//   int m = co_await g;                    // in a coroutine that returns situ::future<...>
//   if (!g.wait_for(20ms)) ...             // not yet; what it waits for goes on
//
// A future is a handle: copies share the value. It belongs to the place (thread) that made it and must not be sent. A
// value, or an exception, is set once. Errors: get() throws what the producer threw; place_lost_error when a place is
// lost while waiting; no_runtime where it would have to wait outside one. cost: an allocation for each value to come;
// waiting costs two switches of stacks, or none where the value comes within half a microsecond.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/memory/detail/place_context.h>
#include <situ/runtime/deadline.h>
#include <situ/runtime/detail/scheduler.h>
#include <situ/runtime/serialize.h>

#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

template <class T = void>
class future;
template <class T = void>
class promise;

namespace detail {

// Who is told once a value is there, by whoever sets it: often inside a message handler, so it only makes others go on.
struct watcher {
  void (*notify)(watcher*) noexcept = nullptr;
  watcher* next_watcher = nullptr;
};

// What to do once a value is there, as a task of its own (never inside a message handler).
struct continuation : ready_task, watcher {
  task_context context;
  continuation() noexcept;
};

// Throws what a task failed of; a loss among that counts as told to the running task.
[[noreturn]] void rethrow(const std::exception_ptr& failure, const std::source_location& where = {});
// What a body threw in a call of a place to itself, in the form in which it would have come from another.
[[noreturn]] void throw_as_remote(const std::exception_ptr& failure, const char* code_name, const void* code,
                                  const std::source_location& where);

struct future_state_base {
  static constexpr std::uint16_t no_place = 0xffff;  // places are at most 1 << 15
  std::uint32_t references = 1;
  bool ready = false;
  std::uint16_t answered_by = no_place;  // the place that a call for it went to
  std::exception_ptr error;
  watcher* watchers = nullptr;  // the last that came first

  virtual ~future_state_base() = default;
  // False where the deadline came first.
  bool wait(const std::source_location& where, wait_kind kind = wait_kind::future,
            std::int64_t deadline_ns = waits_for::no_deadline);
  void fulfil() noexcept {
    ready = true;
    if (watchers != nullptr) wake_all();
  }
  void fail(std::exception_ptr what) noexcept {
    error = std::move(what);
    fulfil();
  }
  void watch(watcher& w) noexcept;    // at once where the value is there
  void unwatch(watcher& w) noexcept;  // where it has not been told yet
  void release() noexcept {
    if (--references == 0) dispose();
  }

 private:
  void wake_all() noexcept;
  void dispose() noexcept;
};

template <class T>
struct future_state final : future_state_base {
  std::optional<T> value;
};
template <>
struct future_state<void> final : future_state_base {};

// A counted reference to a state.
template <class T>
class state_reference {
 public:
  state_reference() noexcept = default;
  explicit state_reference(future_state<T>* state) noexcept : state_{state} {}  // takes over one reference
  state_reference(const state_reference& other) noexcept : state_{other.state_} {
    if (state_ != nullptr) ++state_->references;
  }
  state_reference(state_reference&& other) noexcept : state_{std::exchange(other.state_, nullptr)} {}
  state_reference& operator=(state_reference other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~state_reference() {
    if (state_ != nullptr) state_->release();
  }
  [[nodiscard]] future_state<T>* get() const noexcept { return state_; }
  [[nodiscard]] future_state<T>* operator->() const noexcept { return state_; }
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  future_state<T>* state_ = nullptr;
};

template <class T>
[[nodiscard]] state_reference<T> make_state() {
  return state_reference<T>{new future_state<T>};
}

template <class F>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<future<T>> = true;
template <class F>
struct unwrap_future {
  using type = F;
};
template <class T>
struct unwrap_future<future<T>> {
  using type = T;
};

template <class F, class T>
struct continuation_result : std::invoke_result<F, const T&> {};
template <class F>
struct continuation_result<F, void> : std::invoke_result<F> {};

// Starts counting a task in the finish scope of the running one; ends it when the task is done.
void adopt_into_scope(task_context& context);
void leave_scope(task_context& context) noexcept;

// Waits until one of these is ready, and returns the index of the first that is; their number where the deadline came
// first. pre: there are some.
[[nodiscard]] std::size_t wait_for_any(std::span<future_state_base* const> states, deadline until);
// The same of `count` states, of which state_at(futures, i) gives the i-th; nothing where the deadline came first.
[[nodiscard]] std::optional<std::size_t> wait_for_any(std::size_t count, const void* futures,
                                                      future_state_base* (*state_at)(const void* futures,
                                                                                     std::size_t index),
                                                      deadline until);

// Runs `body` and hands what it returns, or throws, to `state`; waits for a future that it returns.
template <class T, class Body>
void fulfil_with(future_state<T>& state, Body&& body);

}  // namespace detail

// A value of type T to come, or, for void, an end to come. pre: of all but is_valid(): it is valid.
template <class T>
class future {
 public:
  using value_type = T;  // what get() gives
  struct promise_type;   // for coroutines that return future<T>

  future() noexcept = default;
  explicit future(detail::state_reference<T> state) noexcept : state_{std::move(state)} {}  // for Situ itself

  // Whether it was made by an operation or a promise, and has not been moved from.
  [[nodiscard]] bool is_valid() const noexcept { return static_cast<bool>(state_); }
  // Whether the value, or an exception, is there.
  [[nodiscard]] bool is_ready() const {
    check();
    return state_->ready;
  }
  // Waits, without looking at the outcome. `where` is for reports of who waits for what, here and below.
  void wait(std::source_location where = std::source_location::current()) const {
    check();
    if (!state_->ready) state_->wait(where);
  }
  // Waits until a deadline at most; whether the value, or an exception, is there. What is waited for goes on.
  [[nodiscard]] bool wait_until(deadline until, std::source_location where = std::source_location::current()) const {
    check();
    return state_->wait(where, detail::wait_kind::future, until.nanoseconds());
  }
  // The same with a duration.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time,
                              std::source_location where = std::source_location::current()) const {
    return wait_until(time, where);
  }

  // Waits; returns the value, or throws what the producer threw. The reference is good as long as a handle is.
  decltype(auto) get(std::source_location where = std::source_location::current()) const& {
    settle(where);
    if constexpr (!std::is_void_v<T>) return static_cast<const T&>(*state_->value);
  }
  // The same, by value: moved out where this is the last handle or T cannot be copied, else copied.
  T get(std::source_location where = std::source_location::current()) && {
    settle(where);
    if constexpr (!std::is_void_v<T>) {
      if constexpr (!detail::is_copyable<T>()) {
        return std::move(*state_->value);
      } else {
        return state_->references == 1 ? std::move(*state_->value) : *state_->value;
      }
    }
  }

  // Runs f(value) as a task of this place once the value is there; an exception passes by f. Returns f's result to
  // come. cost: an allocation for the task and one for the result.
  template <class F>
  auto then(F f) const
      -> future<typename detail::unwrap_future<typename detail::continuation_result<F, T>::type>::type>;

  // co_await: the awaiting coroutine goes on, as a task, once the value is there.
  [[nodiscard]] bool await_ready() const { return is_ready(); }
  void await_suspend(std::coroutine_handle<> coroutine) const;
  T await_resume() const { return get(std::source_location{}); }

  // For Situ itself: what the handles share.
  [[nodiscard]] const detail::state_reference<T>& state() const noexcept { return state_; }

 private:
  void check() const {
    SITU_ASSERT(
        1, state_,
        "this future was default-constructed or moved from: assign one that async, async_at or a promise returned");
  }
  void settle(const std::source_location& where) const {
    wait(where);
    if (state_->error) detail::rethrow(state_->error, where);
  }
  detail::state_reference<T> state_;
};

// The writing end. Set a value or an exception once; a promise destroyed before leaves its futures with an error.
template <class T>
class promise {
 public:
  promise() : state_{detail::make_state<T>()} {}
  promise(promise&&) noexcept = default;
  promise& operator=(promise&& other) noexcept {
    promise old{std::move(other)};
    std::swap(old.state_, state_);  // its own breaks, if that was not kept
    return *this;
  }
  ~promise();

  // A handle on the value to come; may be called again, for another.
  [[nodiscard]] future<T> get_future() const { return future<T>{state_}; }
  // Sets the value (none for void), and has all that wait for it go on. pre: nothing was set before.
  template <class... Value>
  void set_value(Value&&... value) {
    static_assert(sizeof...(Value) == (std::is_void_v<T> ? 0 : 1),
                  "situ: promise<T>::set_value takes one value, promise<void>::set_value none");
    check();
    if constexpr (!std::is_void_v<T>) state_->value.emplace(std::forward<Value>(value)...);
    state_->fulfil();
  }
  // The same with an exception, which get() throws. pre: nothing was set before.
  void set_exception(std::exception_ptr what) {
    check();
    state_->fail(std::move(what));
  }

 private:
  void check() const {
    SITU_ASSERT(1, state_ && !state_->ready, "a promise is set exactly once, and not after it was moved from");
  }
  detail::state_reference<T> state_;
};

// A future that has its value already.
template <class T>
[[nodiscard]] future<std::decay_t<T>> make_ready_future(T&& value) {
  auto state = detail::make_state<std::decay_t<T>>();
  state->value.emplace(std::forward<T>(value));
  state->ready = true;
  return future<std::decay_t<T>>{std::move(state)};
}
// cost: none of an allocation, within a situ::runtime.
[[nodiscard]] inline future<void> make_ready_future() {
  if (detail::scheduler* const here = detail::current->scheduler; here != nullptr) [[likely]] {
    detail::future_state<void>* const ready = here->ready_end();
    ++ready->references;
    return future<void>{detail::state_reference<void>{ready}};
  }
  auto state = detail::make_state<void>();
  state->ready = true;
  return future<void>{std::move(state)};
}

// A future that is ready when all given ones are: of a tuple of their values (those of future<void> left out; void if
// none is left). Where some of them failed it has the exception of the first of those. cost: two allocations, and a
// task once all are ready.
template <class... Ts>
[[nodiscard]] auto when_all(future<Ts>... futures);
// The same of a vector of their values, in order; future<void> for futures of void. cost: four allocations, however
// many there are.
template <class T>
[[nodiscard]] auto when_all(std::vector<future<T>> futures);

// A future of the index of the first that is ready, with a value or an exception; the others go on. pre: there are
// some. cost: as when_all.
template <class... Ts>
[[nodiscard]] future<std::size_t> when_any(future<Ts>... futures);
template <class T>
[[nodiscard]] future<std::size_t> when_any(std::vector<future<T>> futures);

// Waits until one is ready, with a value or an exception, and returns its index: the first where several are. pre:
// there are some. cost: an allocation or two where it waits.
template <class... Ts>
std::size_t wait_any(const future<Ts>&... futures);
template <class T>
std::size_t wait_any(const std::vector<future<T>>& futures);
// The same until a deadline; nothing where that came first.
template <class T>
[[nodiscard]] std::optional<std::size_t> wait_any(const std::vector<future<T>>& futures, deadline until);

// Waits until all are ready, without looking at the outcomes.
template <class T>
void wait_all(const std::vector<future<T>>& futures) {
  for (const future<T>& each : futures) each.wait();
}
// The same until a deadline; whether they are.
template <class T>
[[nodiscard]] bool wait_all(const std::vector<future<T>>& futures, deadline until) {
  for (const future<T>& each : futures)
    if (!each.wait_until(until)) return false;
  return true;
}

}  // namespace situ

#include <situ/runtime/detail/future.inl>
