// The function of a call: its form in the message, and which of its parameters are views of the message. Part of at.h.
#pragma once

#include <situ/base/detail/holds_address.h>
#include <situ/fabric/detail/function_id.h>
#include <situ/runtime/detail/scheduler.h>
#include <situ/runtime/payload.h>
#include <situ/runtime/serialize.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ {
namespace detail {

// The type in which an argument travels: text becomes a std::string, other arrays and references become values.
template <class T>
struct travelling {
  using type = std::decay_t<T>;
};
template <class T>
  requires(std::is_convertible_v<T, std::string_view> && !std::is_same_v<std::decay_t<T>, std::string> &&
           !std::is_null_pointer_v<std::decay_t<T>>)
struct travelling<T> {
  using type = std::string;
};
template <class T>
using travelling_t = typename travelling<T>::type;

// --- its form in the message ---

// Lambdas, and classes of which the compiler sees only the bytes: a check must show that they hold no address.
template <class F>
concept opaque_body =
    std::is_class_v<F> && !std::is_empty_v<F> && kind_of<F>() == value_kind::plain && !has_fields<F> && !is_data<F>;

// A function object without state is not sent, since its type names it; any other is sent as a value.
template <class F>
struct travelling_function {
  static std::size_t size(const F& f) {
    if constexpr (std::is_empty_v<F>) return 0;
    return wire<F>::size(f);
  }
  static void write(wire_writer& writer, const F& f) {
    if constexpr (!std::is_empty_v<F>) wire<F>::write(writer, f);
  }
  static F read(wire_reader& reader) {
    if constexpr (std::is_empty_v<F>) {
      return F{};
    } else {
      return wire<F>::read(reader);
    }
  }
};

[[nodiscard]] const void* find_received_function(function_id id);

// A function is sent by name.
template <class F>
  requires is_function_pointer<F>
struct travelling_function<F> {
  static std::size_t size(const F&) noexcept { return sizeof(function_id); }
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

// A data member is sent as an offset. A member function is two words (Itanium C++ ABI, 2.3.2), the first an address
// or, if a bit marks it as virtual, an offset in the vtable.
template <class F>
  requires std::is_member_object_pointer_v<F>
struct travelling_function<F> {
  static std::size_t size(const F&) noexcept { return sizeof(F); }
  static void write(wire_writer& writer, F f) { writer.write(&f, sizeof(f)); }
  static F read(wire_reader& reader) {
    F f = nullptr;
    reader.read(&f, sizeof(f));
    return f;
  }
};
template <class F>
  requires std::is_member_function_pointer_v<F>
struct travelling_function<F> {
  struct words {
    std::uintptr_t function;
    std::uintptr_t adjustment;
    [[nodiscard]] bool is_virtual() const noexcept {
#if defined(__aarch64__) || defined(__arm__)
      return (adjustment & 1) != 0;
#else
      return (function & 1) != 0;
#endif
    }
  };
  static_assert(sizeof(F) == sizeof(words));
  static std::size_t size(const F&) noexcept { return sizeof(function_id) + sizeof(std::uintptr_t); }
  static void write(wire_writer& writer, F f) {
    words of{};
    std::memcpy(&of, &f, sizeof(f));
    const function_id id = of.is_virtual() ? of.function : name_function(reinterpret_cast<const void*>(of.function));
    writer.write(&id, sizeof(id));
    writer.write(&of.adjustment, sizeof(of.adjustment));
  }
  static F read(wire_reader& reader) {
    function_id id = 0;
    words of{};
    reader.read(&id, sizeof(id));
    reader.read(&of.adjustment, sizeof(of.adjustment));
    of.function = id;
    if (!of.is_virtual()) of.function = reinterpret_cast<std::uintptr_t>(find_received_function(id));
    F f = nullptr;
    std::memcpy(&f, &of, sizeof(f));
    return f;
  }
};

template <class F>
consteval bool body_travels() {
  if constexpr (is_function_pointer<F> || std::is_member_pointer_v<F> || std::is_empty_v<F>) {
    return true;
  } else if constexpr (opaque_body<F>) {
    return is_free_of_addresses<F>();
  } else {
    return can_travel<F>();
  }
}
template <class F>
consteval void check_body() {
  if constexpr (!body_travels<F>()) {
    if constexpr (has_fields<F> || has_own_wire<F>()) {
      check_value<F>();
    } else {
      static_assert(body_travels<F>(),
                    "situ: this function captures a reference, a pointer (also `this`), or what is no plain data, such "
                    "as a string or a container: capture plain data by value (also a situ::ptr), and pass all else as "
                    "arguments of at(), or bind it by situ::bind_values(f, values...)");
    }
  }
}

// --- views as parameters ---

// The types of the parameters; empty if the parameters are templates.
template <class Call>
struct parameters_of {
  using type = type_list<>;
};
template <class R, class... P>
struct parameters_of<R (*)(P...)> {
  using type = type_list<P...>;
};
template <class R, class... P>
struct parameters_of<R (*)(P...) noexcept> : parameters_of<R (*)(P...)> {};
template <class R, class C, class... P>
struct parameters_of<R (C::*)(P...)> : parameters_of<R (*)(P...)> {};
template <class R, class C, class... P>
struct parameters_of<R (C::*)(P...) const> : parameters_of<R (*)(P...)> {};
template <class R, class C, class... P>
struct parameters_of<R (C::*)(P...) noexcept> : parameters_of<R (*)(P...)> {};
template <class R, class C, class... P>
struct parameters_of<R (C::*)(P...) const noexcept> : parameters_of<R (*)(P...)> {};
template <class F>
consteval auto list_parameters() {
  if constexpr (is_function_pointer<F>) {
    return typename parameters_of<F>::type{};
  } else if constexpr (requires { &F::operator(); }) {
    return typename parameters_of<decltype(&F::operator())>::type{};
  } else {
    return type_list<>{};
  }
}
template <std::size_t Index, class List>
struct nth_of {
  using type = void;
};
template <std::size_t Index, class First, class... Rest>
struct nth_of<Index, type_list<First, Rest...>> : nth_of<Index - 1, type_list<Rest...>> {};
template <class First, class... Rest>
struct nth_of<0, type_list<First, Rest...>> {
  using type = First;
};
template <class F, std::size_t Index>
using parameter_of = typename nth_of<Index, decltype(list_parameters<F>())>::type;

// The element type of a parameter that is a view of constant elements; void for other parameters.
template <class P>
struct element_of_view {
  using type = void;
};
template <class T>
struct element_of_view<std::span<const T>> {
  using type = T;
};
template <>
struct element_of_view<std::string_view> {
  using type = char;
};

// An argument that the body sees as a view: of the caller's elements before the call, of the message's in the body.
template <class T>
struct viewed {
  payload<T> elements;
  operator std::span<const T>() const noexcept { return {elements.data(), elements.size()}; }
  operator std::string_view() const noexcept
    requires std::is_same_v<T, char>
  {
    return {elements.data(), elements.size()};
  }
};
template <class T>
inline constexpr bool is_viewed<viewed<T>> = true;
template <class T>
inline constexpr bool is_view<viewed<T>> = true;

template <class T>
struct argument_wire<viewed<T>> {
  static std::size_t size(const viewed<T>& view) noexcept { return argument_wire<payload<T>>::size(view.elements); }
  static void write(wire_writer& writer, const viewed<T>& view) noexcept {
    argument_wire<payload<T>>::write(writer, view.elements);
  }
  static viewed<T> read(wire_reader& reader) { return {argument_wire<payload<T>>::read(reader)}; }
};

// Finds the type in which an argument A travels: viewed<T> if the body's parameter is a view and A is contiguous.
template <class F, std::size_t Index, class A>
consteval auto find_travelling() {
  using element = typename element_of_view<std::remove_cvref_t<parameter_of<F, Index>>>::type;
  if constexpr (std::is_void_v<element>) {
    return std::type_identity<A>{};
  } else if constexpr (copies_in_bulk<element> && alignof(element) <= 16 && std::ranges::contiguous_range<const A> &&
                       std::ranges::sized_range<const A>) {
    if constexpr (std::is_same_v<std::ranges::range_value_t<const A>, element>) {
      return std::type_identity<viewed<element>>{};
    } else {
      return std::type_identity<A>{};
    }
  } else {
    return std::type_identity<A>{};
  }
}

}  // namespace detail

// A function with values for its first parameters, made by bind_values: it calls f(values..., more...).
template <class F, class... Values>
class bound_values {
 public:
  // Takes the function and its values.
  constexpr bound_values(F f, std::tuple<Values...> values) : function_{std::move(f)}, values_{std::move(values)} {}
  template <class... More>
    requires std::is_invocable_v<F&, Values&..., More...>
  decltype(auto) operator()(More&&... more) {
    return std::apply(
        [&](Values&... values) -> decltype(auto) {
          return std::invoke(function_, values..., std::forward<More>(more)...);
        },
        values_);
  }

 private:
  friend struct wire<bound_values>;
  F function_;
  std::tuple<Values...> values_;
};

namespace detail {
template <class F, class... Values>
inline constexpr bool shares<bound_values<F, Values...>> = (shares<Values> || ...);
}  // namespace detail

template <class F, class... Values>
struct wire<bound_values<F, Values...>> {
  using value_type = bound_values<F, Values...>;
  static std::size_t size(const value_type& bound) {
    return detail::travelling_function<F>::size(bound.function_) + wire<std::tuple<Values...>>::size(bound.values_);
  }
  static void write(wire_writer& writer, const value_type& bound) {
    detail::travelling_function<F>::write(writer, bound.function_);
    wire<std::tuple<Values...>>::write(writer, bound.values_);
  }
  static value_type read(wire_reader& reader) {
    F f = detail::travelling_function<F>::read(reader);
    return {std::move(f), wire<std::tuple<Values...>>::read(reader)};
  }
};

// Makes a function that carries values (serialize.h) to another place; std::bind and lambdas carry only plain data.
// at(p, bind_values(f, name, orders), more...) calls f(name, orders, more...) there. cost: moves or copies the values.
template <class F, class... Values>
[[nodiscard]] constexpr bound_values<std::decay_t<F>, detail::travelling_t<Values>...> bind_values(F&& f,
                                                                                                   Values&&... values) {
  detail::check_body<std::decay_t<F>>();
  (detail::check_value<detail::travelling_t<Values>>(), ...);
  return {std::forward<F>(f), std::tuple<detail::travelling_t<Values>...>{std::forward<Values>(values)...}};
}

}  // namespace situ
