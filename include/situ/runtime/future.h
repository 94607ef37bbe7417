// Futures and promises of one place: values that will be set later.
//
//   situ::future<int> f = situ::async_at(p, work, 3);
//   int n = f.get();                       // waits; the place goes on working
//   auto g = f.then([](int n) { return 2 * n; });
//   int m = co_await g;                    // in a coroutine that returns situ::future<...>
//   if (!g.wait_for(20ms)) ...             // not yet; what it waits for goes on
//
// A future is a handle: copies share the value. It belongs to the place (thread) that made it and must not be sent. A
// value, or an exception, is set once. Errors: get() throws the producer's exception; place_lost_error when a place is
// lost while waiting; no_runtime if get() would have to wait outside a runtime. cost: an allocation for each future
// value; a wait costs two switches of stacks, or none if the value arrives within half a microsecond.
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

// Is notified when a value is set, by the code that sets it: often in a message handler, so it only makes others
// runnable.
struct watcher {
  void (*notify)(watcher*) noexcept = nullptr;
  watcher* next_watcher = nullptr;
};

// Work to run once a value is set, as a task of its own (never inside a message handler).
struct continuation : ready_task, watcher {
  task_context context;
  continuation() noexcept;
};

// Throws a task's failure; if the failure is a loss, the loss counts as reported to the running task.
[[noreturn]] void rethrow(const std::exception_ptr& failure, const std::source_location& where = {});
// Throws an exception that a call of a place to itself has thrown, in the form that another place would have sent.
[[noreturn]] void throw_as_remote(const std::exception_ptr& failure, const char* code_name, const void* code,
                                  const std::source_location& where);

struct future_state_base {
  static constexpr std::uint16_t no_place = 0xffff;  // places are at most 1 << 15
  std::uint32_t references = 1;
  bool ready = false;
  std::uint16_t answered_by = no_place;  // the place that answers the call behind this state
  std::exception_ptr error;
  watcher* watchers = nullptr;  // the last that registered is first

  virtual ~future_state_base() = default;
  // Small states come from the scheduler's blocks.
  [[nodiscard]] static void* operator new(std::size_t bytes);
  [[nodiscard]] static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return ::operator new(bytes, alignment);
  }
  static void operator delete(void* state, std::size_t bytes) noexcept;
  // Without the size: clang has no sized deallocation by default before version 19.
  static void operator delete(void* state, std::size_t /*bytes*/, std::align_val_t alignment) noexcept {
    ::operator delete(state, alignment);
  }
  // Returns false if the deadline passed first.
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
  void watch(watcher& w) noexcept;    // notifies at once if the value is set
  void unwatch(watcher& w) noexcept;  // if it has not been notified yet
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

// Start and end counting a task in the finish scope of the running task.
void adopt_into_scope(task_context& context);
void leave_scope(task_context& context) noexcept;

// Waits until a state is ready, and returns the lowest index of a ready one; returns states.size() if the deadline
// passed first. pre: `states` is not empty.
[[nodiscard]] std::size_t wait_for_any(std::span<future_state_base* const> states, deadline until);
// As above for `count` states; state_at(futures, i) returns the i-th. Returns nullopt if the deadline passed first.
[[nodiscard]] std::optional<std::size_t> wait_for_any(std::size_t count, const void* futures,
                                                      future_state_base* (*state_at)(const void* futures,
                                                                                     std::size_t index),
                                                      deadline until);

// Runs `body` and stores its result, or its exception, in `state`; waits for a future that `body` returns.
template <class T, class Body>
void fulfil_with(future_state<T>& state, Body&& body);

}  // namespace detail

// A value of type T that is set later, or, for void, the end of an operation. pre: all members except is_valid()
// require is_valid().
template <class T>
class future {
 public:
  using value_type = T;  // the type that get() returns
  struct promise_type;   // for coroutines that return future<T>

  future() noexcept = default;
  explicit future(detail::state_reference<T> state) noexcept : state_{std::move(state)} {}  // for Situ itself

  // True if an operation or a promise made it, and it has not been moved from.
  [[nodiscard]] bool is_valid() const noexcept { return static_cast<bool>(state_); }
  // True if the value, or an exception, is set.
  [[nodiscard]] bool is_ready() const {
    check();
    return state_->ready;
  }
  // Waits without examining the outcome. `where`, here and below, is the line that reports of waits show.
  void wait(std::source_location where = std::source_location::current()) const {
    check();
    if (!state_->ready) state_->wait(where);
  }
  // Waits until the deadline at most; returns true if the value, or an exception, is set. The operation goes on.
  [[nodiscard]] bool wait_until(deadline until, std::source_location where = std::source_location::current()) const {
    check();
    return state_->wait(where, detail::wait_kind::future, until.nanoseconds());
  }
  // As wait_until, with a duration from now.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time,
                              std::source_location where = std::source_location::current()) const {
    return wait_until(time, where);
  }

  // Waits; returns the value, or throws the producer's exception. The reference is valid as long as any handle exists.
  decltype(auto) get(std::source_location where = std::source_location::current()) const& {
    settle(where);
    if constexpr (!std::is_void_v<T>) return static_cast<const T&>(*state_->value);
  }
  // As above, by value: moves the value out if this is the last handle or T cannot be copied, and copies it otherwise.
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

  // Runs f(value) as a task of this place once the value is set; an exception bypasses f and goes to the result.
  // Returns the future of f's result. cost: an allocation for the task and one for the result.
  template <class F>
  auto then(F f) const
      -> future<typename detail::unwrap_future<typename detail::continuation_result<F, T>::type>::type>;

  // For co_await: the awaiting coroutine resumes, as a task, once the value is set.
  [[nodiscard]] bool await_ready() const { return is_ready(); }
  void await_suspend(std::coroutine_handle<> coroutine) const;
  T await_resume() const { return get(std::source_location{}); }

  // For Situ itself: the state that the handles share.
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

// The writing end. The producer sets a value or an exception once; a promise destroyed before that fails its futures.
template <class T>
class promise {
 public:
  promise() : state_{detail::make_state<T>()} {}
  promise(promise&&) noexcept = default;
  promise& operator=(promise&& other) noexcept {
    promise old{std::move(other)};
    std::swap(old.state_, state_);  // a promise that was not kept breaks here
    return *this;
  }
  ~promise();

  // Returns a future of the value; may be called several times, once for each handle.
  [[nodiscard]] future<T> get_future() const { return future<T>{state_}; }
  // Sets the value (none for void) and wakes all waiting tasks. pre: neither a value nor an exception was set before.
  template <class... Value>
  void set_value(Value&&... value) {
    static_assert(sizeof...(Value) == (std::is_void_v<T> ? 0 : 1),
                  "situ: promise<T>::set_value takes one value, promise<void>::set_value none");
    check();
    if constexpr (!std::is_void_v<T>) state_->value.emplace(std::forward<Value>(value)...);
    state_->fulfil();
  }
  // Sets an exception, which get() throws. pre: neither a value nor an exception was set before.
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

// Returns a future whose value is already set.
template <class T>
[[nodiscard]] future<std::decay_t<T>> make_ready_future(T&& value) {
  auto state = detail::make_state<std::decay_t<T>>();
  state->value.emplace(std::forward<T>(value));
  state->ready = true;
  return future<std::decay_t<T>>{std::move(state)};
}
// Returns a ready future<void>. cost: no allocation within a situ::runtime.
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

// Returns a future that is ready when all given futures are, with a tuple of their values (without those of
// future<void>; void if no value is left). If some of them failed, it has the exception of the first of these in
// order. cost: two allocations, and a task once all are ready.
template <class... Ts>
[[nodiscard]] auto when_all(future<Ts>... futures);
// As above with a vector of the values, in order; future<void> for futures of void. cost: four allocations for any
// number.
template <class T>
[[nodiscard]] auto when_all(std::vector<future<T>> futures);

// Returns a future of the index of the first future that becomes ready, with a value or an exception; the others go
// on. pre: at least one future is given. cost: as when_all.
template <class... Ts>
[[nodiscard]] future<std::size_t> when_any(future<Ts>... futures);
template <class T>
[[nodiscard]] future<std::size_t> when_any(std::vector<future<T>> futures);

// Waits until a future is ready, with a value or an exception, and returns its index, the lowest if several are ready.
// pre: at least one future is given. cost: an allocation or two if it waits.
template <class... Ts>
std::size_t wait_any(const future<Ts>&... futures);
template <class T>
std::size_t wait_any(const std::vector<future<T>>& futures);
// As above until a deadline; returns nullopt if the deadline passed first.
template <class T>
[[nodiscard]] std::optional<std::size_t> wait_any(const std::vector<future<T>>& futures, deadline until);

// Waits until all are ready, without examining the outcomes.
template <class T>
void wait_all(const std::vector<future<T>>& futures) {
  for (const future<T>& each : futures) each.wait();
}
// As above until a deadline; returns true if all are ready.
template <class T>
[[nodiscard]] bool wait_all(const std::vector<future<T>>& futures, deadline until) {
  for (const future<T>& each : futures)
    if (!each.wait_until(until)) return false;
  return true;
}

}  // namespace situ

#include <situ/runtime/detail/future.inl>
