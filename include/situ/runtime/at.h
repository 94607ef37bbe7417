// at(p, f, args...): runs f at place p, where the data is, and returns its result. async_at does not wait.
//
//   long n = situ::at(p, [](const std::string& name) { return count(name); }, name);
//
// f is a captureless lambda, a function object without state, or a function: it travels by name, so every place runs the same
// executable (checked when a place joins). Arguments and results travel by value (serialize.h). The body runs as a task of p: it may
// wait, call at again (also back to here), start tasks; they are counted in the caller's finish scope. An exception from it arrives
// here as remote_error, with its type's name and message (place_lost_error as itself). Errors besides: place_lost_error, out_of_memory for arguments too large
// for a message, bad_argument where there is no such place. cost: two messages; arguments are copied once into the message, and
// once out of it. At the own place f runs at once, on copies.
#pragma once

#include <situ/runtime/future.h>
#include <situ/runtime/parcel.h>
#include <situ/runtime/serialize.h>
#include <situ/runtime/task.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ {
namespace detail {

// An argument as it travels: text becomes a std::string, other arrays and references their values.
template <class T>
struct travelling {
  using type = std::decay_t<T>;
};
template <class T>
  requires(std::is_convertible_v<T, std::string_view> && !std::is_same_v<std::decay_t<T>, std::string> && !std::is_null_pointer_v<std::decay_t<T>>)
struct travelling<T> {
  using type = std::string;
};
template <class T>
using travelling_t = typename travelling<T>::type;

template <class F>
inline constexpr bool is_function_pointer = std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>;

template <class Result>
using settled_t = std::decay_t<typename unwrap_future<Result>::type>;

template <class F, class... Arguments>
consteval void check_call() {
  static_assert(is_function_pointer<F> || std::is_empty_v<F>,
                "situ: a lambda that runs at another place must not capture, since a captured reference or pointer means nothing there: pass what it needs as arguments of at()");
  static_assert((travels<Arguments> && ...),
                "situ: this argument cannot travel: at() takes trivially copyable values (no raw pointers or references: use situ::ptr), std::string, and "
                "std::vector, std::tuple, std::pair, std::optional and std::array of those");
  static_assert(std::is_invocable_v<F, Arguments...>, "situ: the function cannot be called with these arguments (they arrive by value: take them by value or const reference)");
}
template <class Result>
consteval void check_result() {
  static_assert(std::is_void_v<Result> || travels<Result>,
                "situ: this result cannot travel: at() returns void, trivially copyable values (no raw pointers or references: use situ::ptr), std::string, and "
                "std::vector, std::tuple, std::pair, std::optional and std::array of those");
}

// A call in flight, at its caller: where the answer goes. Lives in the place's call table.
using accept_answer = void (*)(future_state_base&, wire_reader&);

template <class T>
void accept_value(future_state_base& base, wire_reader& reader) {
  auto& state = static_cast<future_state<T>&>(base);
  if constexpr (!std::is_void_v<T>) state.value.emplace(wire<T>::read(reader));
}

using call_id = std::uint64_t;

// Registers a call; the answer, or the loss of `target`, sets `state` (which stays the caller's) and forgets the call. A detached
// call owns one reference of its state. The call is counted in the running finish scope from now on.
call_id open_call(future_state_base& state, accept_answer accept, std::uint32_t target, bool detached);
void forget_call(call_id id) noexcept;
[[nodiscard]] std::uint64_t running_finish_key() noexcept;
[[nodiscard]] outgoing& call_channel(place target);

// A call that has arrived, at its target: the running task, and the answer to come.
class arrived_call {
 public:
  static constexpr std::uint32_t words = 2;  // call id, finish key
  explicit arrived_call(message& m);
  ~arrived_call();
  arrived_call(const arrived_call&) = delete;
  arrived_call& operator=(const arrived_call&) = delete;

  template <class Write>
  void answer(std::size_t bytes, Write write) {
    send_parcel(answer_channel(), message_kind::medium_message, answer_handler(), answer_words(false), bytes, write);
    is_answered_ = true;
  }
  void answer_error(std::exception_ptr error) noexcept;

 private:
  [[nodiscard]] outgoing& answer_channel() const noexcept;
  [[nodiscard]] std::array<std::uint64_t, 2> answer_words(bool is_error) noexcept;
  [[nodiscard]] static function_id answer_handler() noexcept;

  task_context context_;
  task_context* before_;
  call_id call_;
  std::uint64_t begin_ns_;
  bool is_answered_ = false;
};

// How f travels: not at all where its type says everything, by name where it is a function pointer.
template <class F>
struct travelling_function {
  static constexpr std::size_t size = 0;
  static void write(wire_writer&, const F&) noexcept {}
  static F read(wire_reader&) noexcept { return F{}; }
};
[[nodiscard]] const void* find_received_function(function_id id);
template <class F>
  requires is_function_pointer<F>
struct travelling_function<F> {
  static constexpr std::size_t size = sizeof(function_id);
  static void write(wire_writer& writer, F f) {
    const function_id id = name_function(reinterpret_cast<const void*>(f));
    writer.write(&id, sizeof(id));
  }
  static F read(wire_reader& reader) {
    function_id id = 0;
    reader.read(&id, sizeof(id));
    return reinterpret_cast<F>(const_cast<void*>(find_received_function(id)));
  }
};

// Runs a received call: takes the arguments out of the message, gives its room back, then calls f.
template <class F, class... Arguments>
void run_call(message& m) {
  using result = settled_t<std::invoke_result_t<F, Arguments...>>;
  arrived_call call{m};
  try {
    auto [f, arguments] = [&] {
      const parcel received{m, arrived_call::words};
      wire_reader reader = received.reader();
      F function = travelling_function<F>::read(reader);
      return std::pair<F, std::tuple<Arguments...>>{function, wire<std::tuple<Arguments...>>::read(reader)};
    }();
    m.release();
    const auto run = [&]() -> decltype(auto) { return std::apply(f, std::move(arguments)); };
    using returned = std::invoke_result_t<F, Arguments...>;
    if constexpr (std::is_void_v<returned>) {
      run();
      call.answer(0, [](wire_writer&) {});
    } else if constexpr (std::is_void_v<result>) {  // a future of nothing
      run().get();
      call.answer(0, [](wire_writer&) {});
    } else {
      const result value = [&]() -> result {
        if constexpr (is_future<std::decay_t<returned>>) {
          return run().get();
        } else {
          return run();
        }
      }();
      call.answer(wire<result>::size(value), [&](wire_writer& writer) { wire<result>::write(writer, value); });
    }
  } catch (...) {
    m.release();  // before anything that may wait: else another worker would find the message again
    call.answer_error(std::current_exception());
  }
}
template <class F, class... Arguments>
inline const function_id call_handler_id = name_function(reinterpret_cast<const void*>(static_cast<message_handler>(&run_call<F, Arguments...>)));

template <class F, class... Arguments>
void send_call(place target, call_id id, const F& f, const Arguments&... arguments) {
  const std::size_t bytes = (travelling_function<F>::size + ... + wire<Arguments>::size(arguments));
  send_parcel(call_channel(target), message_kind::call, call_handler_id<F, Arguments...>, std::array<std::uint64_t, arrived_call::words>{id, running_finish_key()}, bytes,
              [&](wire_writer& writer) {
                travelling_function<F>::write(writer, f);
                (wire<Arguments>::write(writer, arguments), ...);
              });
}

// What a body threw at the own place, in the form in which it would have come from another.
[[noreturn]] void throw_as_remote(std::exception_ptr error);

// Forgets a call that is left before its answer has come.
struct open_call_guard {
  call_id id;
  const future_state_base& state;
  ~open_call_guard() {
    if (!state.ready) forget_call(id);
  }
};

template <class F, class... Arguments>
auto at_decayed(place target, F f, const Arguments&... arguments) {
  using result = settled_t<std::invoke_result_t<F, Arguments...>>;
  check_call<F, Arguments...>();
  check_result<result>();
  future_state<result> state;
  if (target.index() == current->place && current->place_count != 0) {
    fulfil_with(state, [&]() -> decltype(auto) { return std::apply(f, std::tuple<Arguments...>{arguments...}); });
    if (state.error) throw_as_remote(state.error);
  } else {
    const open_call_guard call{open_call(state, &accept_value<result>, target.index(), false), state};
    send_call(target, call.id, f, arguments...);
    state.wait();
    if (state.error) std::rethrow_exception(state.error);
  }
  if constexpr (!std::is_void_v<result>) return std::move(*state.value);
}

template <class F, class... Arguments>
auto async_at_decayed(place target, F f, const Arguments&... arguments) {
  using result = settled_t<std::invoke_result_t<F, Arguments...>>;
  check_call<F, Arguments...>();
  check_result<result>();
  auto state = make_state<result>();
  future<result> outcome{state};
  const call_id id = open_call(*state.get(), &accept_value<result>, target.index(), true);
  try {
    send_call(target, id, f, arguments...);
  } catch (...) {
    forget_call(id);
    throw;
  }
  return outcome;
}

// Text given as a literal or a view is made a std::string; everything else is passed as it is.
template <class T>
decltype(auto) as_travelling(const T& value) {
  if constexpr (std::is_same_v<travelling_t<const T&>, T>) {
    return (value);
  } else {
    return travelling_t<const T&>(value);
  }
}

}  // namespace detail

template <class F, class... Arguments>
auto at(place target, F f, const Arguments&... arguments) {
  return detail::at_decayed<F, detail::travelling_t<const Arguments&>...>(target, f, detail::as_travelling(arguments)...);
}

// As at, without waiting. A failure goes to the future, or, where nobody holds it, to the enclosing finish scope.
template <class F, class... Arguments>
auto async_at(place target, F f, const Arguments&... arguments) {
  return detail::async_at_decayed<F, detail::travelling_t<const Arguments&>...>(target, f, detail::as_travelling(arguments)...);
}

}  // namespace situ
