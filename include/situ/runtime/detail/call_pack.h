// The contents of a call: how its arguments and its result travel, and the compile errors if they cannot.
#pragma once

#include <situ/runtime/detail/body.h>
#include <situ/runtime/future.h>
#include <situ/runtime/payload.h>
#include <situ/runtime/route.h>
#include <situ/runtime/serialize.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ::detail {

template <class Result>
using settled_t = std::decay_t<typename unwrap_future<Result>::type>;

template <class... Ts>
// NOLINTNEXTLINE(misc-redundant-expression): of packs of one type twice
inline constexpr bool sent_unmeasured = (is_written_by_situ<Ts>() && ...) && (is_long_to_measure<Ts> || ...);
// The room, in bytes, for the next such message of this place.
template <class... Ts>
inline constinit thread_local std::size_t message_room = 0;

// Memory that a call holds until it is over, since its target reads it.
struct held_by_call {
  virtual ~held_by_call() = default;
};

// The arguments of one call, at its sender: size() and write() make the message. read() makes `received` at the
// target, where complete() may wait and invoke(f) passes the arguments on. This general form uses each argument's
// wire<T>.
template <class... Arguments>
class call_pack {
 public:
  // true if the target may read the caller's memory: then start() is async_at, and lend() returns the memory to hold
  static constexpr bool may_lend = false;
  // true if the function reads arguments in the message itself, whose room is released after the function has returned
  static constexpr bool reads_in_place = (is_payload<Arguments> || ...);
  // true if some arguments are views of the message, which is kept until the function has returned and may wait
  static constexpr bool may_view = true;
  static constexpr bool keeps_message = (is_viewed<Arguments> || ...);
  // true if size() is not called before each write()
  static constexpr bool is_unmeasured = !reads_in_place && !keeps_message && sent_unmeasured<Arguments...>;
  call_pack(route, const Arguments&... arguments) noexcept : arguments_{arguments...} {}
  [[nodiscard]] std::size_t size() const {
    pass_over<measured_objects, Arguments...> pass;
    const std::size_t bytes = std::apply(
        [](const Arguments&... each) { return (std::size_t{0} + ... + argument_wire<Arguments>::size(each)); },
        arguments_);
    pass.finish();
    return bytes;
  }
  void write(wire_writer& writer) const {
    pass_over<written_objects, Arguments...> pass;
    std::apply([&](const Arguments&... each) { (argument_wire<Arguments>::write(writer, each), ...); }, arguments_);
    pass.finish();
  }

  struct received {
    std::tuple<Arguments...> arguments;
    void complete() noexcept {}
    template <class F>
    decltype(auto) invoke(F& f) {
      return std::apply(f, std::move(arguments));
    }
  };
  static received read([[maybe_unused]] wire_reader& reader, std::uint32_t) {
    pass_over<read_objects, Arguments...> pass;
    received result{std::tuple<Arguments...>{argument_wire<Arguments>::read(reader)...}};
    pass.finish();
    return result;
  }
  // Copies the arguments for a call of a place to itself.
  static received copy(const Arguments&... arguments) { return {copy_values(arguments...)}; }

  template <class F>
  static constexpr bool accepts = std::is_invocable_v<F, Arguments...>;
  template <class F>
  using returned = std::invoke_result_t<F, Arguments...>;
  static consteval void check() { (check_argument<Arguments>(), ...); }

 private:
  std::tuple<const Arguments&...> arguments_;
};

// An answer that has arrived at the caller, as the message handler sees it.
class arrived_answer;

// The result of one call, at its target, after the body has returned it.
template <class Result>
class result_pack {
 public:
  using arrives = Result;                   // the type in which the caller gets the result
  static constexpr bool is_routed = false;  // true if the call's transfer matters
  // True if complete() is to run after the answer has been sent: it waits until the caller has the result.
  static constexpr bool may_be_late = false;
  static constexpr bool is_unmeasured = sent_unmeasured<Result>;
  result_pack(const Result& value, route) noexcept : value_{value} {}  // for the way back to the caller
  [[nodiscard]] std::size_t size() const { return wire<Result>::size(value_); }
  void write(wire_writer& writer) const { wire<Result>::write(writer, value_); }
  // Returns false if the answer has been taken over and `state` will be fulfilled later.
  static bool accept(future_state<Result>& state, arrived_answer& answer);
  // Within a place the result is moved on, but copied if the body might share objects with it.
  static Result copy(Result&& value) {
    if constexpr (shares<Result>) {
      return copy_value(value);
    } else {
      return std::move(value);
    }
  }
  static consteval void check() { check_value<Result>(); }

 private:
  const Result& value_;
};
template <>
class result_pack<void> {
 public:
  using arrives = void;
  static constexpr bool is_routed = false;
  static constexpr bool may_be_late = false;
  static bool accept(future_state<void>&, arrived_answer&) noexcept { return true; }
  static consteval void check() {}
};

template <class F, class... Arguments>
consteval void check_call() {
  check_body<F>();
  call_pack<Arguments...>::check();
  static_assert(call_pack<Arguments...>::template accepts<F>,
                "situ: the function cannot be called with these arguments (they arrive by value: take them by value or "
                "const reference)");
  if constexpr (call_pack<Arguments...>::reads_in_place)
    static_assert(!is_future<std::decay_t<typename call_pack<Arguments...>::template returned<F>>>,
                  "situ: a function that takes a situ::payload cannot return a future, since the payload is gone once "
                  "it has returned: take a std::vector");
}
template <class F, class... Arguments>
using call_result_t = settled_t<typename call_pack<Arguments...>::template returned<F>>;

// The types in which the arguments of a call of F travel.
template <class F, class Indices, class... Given>
struct travelling_arguments;
template <class F, std::size_t... Index, class... Given>
struct travelling_arguments<F, std::index_sequence<Index...>, Given...> {
  template <std::size_t At, class G>
  static consteval auto find() {
    if constexpr (call_pack<travelling_t<Given>...>::may_view) {
      return find_travelling<F, At, travelling_t<G>>();
    } else {
      return std::type_identity<travelling_t<G>>{};
    }
  }
  using type = type_list<typename decltype(find<Index, Given>())::type...>;
};
template <class F, class... Given>
using travelling_arguments_t = typename travelling_arguments<F, std::index_sequence_for<Given...>, Given...>::type;

// Turns text given as a literal or a view into a std::string, and an argument that the body views into a view; passes
// every other argument on unchanged.
template <class A, class T>
decltype(auto) as_travelling(T&& value) {
  if constexpr (is_viewed<A>) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      return A{payload<char>{std::string_view{value}}};
    } else {
      return A{payload{value}};
    }
  } else if constexpr (std::is_same_v<A, std::remove_cvref_t<T>>) {
    return static_cast<T&&>(value);
  } else {
    return A(value);
  }
}

}  // namespace situ::detail
