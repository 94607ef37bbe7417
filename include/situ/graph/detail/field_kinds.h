// Decides at compile time which types can be part of a graph: kinds of fields, the declarations that SITU_DESCRIBE
// makes, and the errors for other types. describe.h has the rules in words.
#pragma once

#include <situ/base/detail/aggregate.h>
#include <situ/base/detail/description.h>
#include <situ/base/detail/holds_address.h>
#include <situ/base/detail/type_name.h>
#include <situ/base/is_data.h>
#include <situ/graph/containers.h>
#include <situ/graph/object.h>
#include <situ/runtime/serialize.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace situ::detail {

// --- kinds of fields ---

template <class T>
inline constexpr bool is_transient = false;
template <class T>
inline constexpr bool is_transient<transient<T>> = true;
template <class T>
struct container_element {};
template <class T>
struct container_element<array<T>> {
  using type = T;
};
template <class T>
struct container_element<vector<T>> {
  using type = T;
};
template <>
struct container_element<string> {
  using type = char;
};
template <class T>
concept container = requires { typename container_element<T>::type; };
// True if the container stores a zero after its elements, which the count leaves out.
template <class T>
inline constexpr bool is_terminated = std::is_same_v<T, string>;
// True if the container is a pool's (pool/pool_vector.h), whose elements are stored in a block of their own.
template <class T>
inline constexpr bool is_pool_container = false;

template <class T>
struct sum_alternatives {};  // optional: empty, or T
template <class T>
struct sum_alternatives<std::optional<T>> {
  using type = type_list<void, T>;
};
template <class... Ts>
struct sum_alternatives<std::variant<Ts...>> {
  using type = type_list<Ts...>;
};
template <class T>
concept sum = requires { typename sum_alternatives<T>::type; };
template <class T>
struct product_parts {};
template <class A, class B>
struct product_parts<std::pair<A, B>> {
  using type = type_list<A, B>;
};
template <class... Ts>
struct product_parts<std::tuple<Ts...>> {
  using type = type_list<Ts...>;
};
template <class T>
concept product = requires { typename product_parts<T>::type; };
template <class T>
struct fixed_array {};
template <class T, std::size_t N>
struct fixed_array<std::array<T, N>> {
  using type = T;
  static constexpr std::size_t count = N;
};
template <class T, std::size_t N>
struct fixed_array<T[N]> {
  using type = T;
  static constexpr std::size_t count = N;
};
template <class T>
concept fixed = requires { typename fixed_array<T>::type; };

// Returns whether T is data: its bytes are its value, and it is copied byte by byte.
template <class T>
consteval bool carries_only_data();
template <class... Ts>
consteval bool carry_only_data(type_list<Ts...>) {
  return (carries_only_data<Ts>() && ...);
}
template <class T>
consteval bool carries_only_data() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return true;
  } else if constexpr (std::is_const_v<T>) {
    return carries_only_data<std::remove_const_t<T>>();
  } else if constexpr (fixed<T>) {
    return fixed_array<T>::count == 0 || carries_only_data<typename fixed_array<T>::type>();
  } else if constexpr (!std::is_class_v<T> || declared<T> || is_transient<T> || container<T> || sum<T>) {
    return false;
  } else if constexpr (is_data<T>) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "situ::is_data<T> is said of a class that is not trivially copyable");
    return true;
  } else if constexpr (product<T>) {
    return carry_only_data(typename product_parts<T>::type{});
  } else if constexpr (has_known_fields<T>) {
    if constexpr (std::is_trivially_copyable_v<T>) return carry_only_data(field_types<T>{});
    return false;
  } else if constexpr (!std::is_aggregate_v<T> && !std::is_base_of_v<object, T>) {
    return is_free_of_addresses<T>();
  } else {
    return false;
  }
}

// Classes whose parts are known.
template <class T>
concept describable = std::is_class_v<T> && (declared<T> || carries_only_data<T>() || has_known_fields<T> ||
                                             container<T> || is_transient<T> || sum<T> || product<T> || fixed<T>);

// Describable classes, and classes for which check_class has a more precise error.
template <class T>
concept has_told_of_itself =
    describable<T> || std::is_aggregate_v<T> || std::is_polymorphic_v<T> || std::is_base_of_v<object, T>;

// Returns whether T is copied as at() copies it, by writing and reading it: standard containers and strings, smart
// pointers, and types that have a wire<T> and are no other kind of field.
template <class T>
consteval bool is_value_part() {
  if constexpr (std::is_class_v<T> && !describable<T>) {
    using enum value_kind;
    constexpr value_kind kind = kind_of<T>();
    return kind == sequence || kind == keyed || kind == path || kind == unique || kind == shared || kind == weak ||
           kind == own;
  } else {
    return false;
  }
}

// --- compile errors ---

// Instantiated for each field; the compiler's "in instantiation of ... check_field<Owner, Field, F>" names it.
template <class Owner, auto Field, class F>
consteval bool check_field() {
  using T = std::remove_cv_t<F>;
  if constexpr (carries_only_data<T>()) {
  } else if constexpr (fixed<T>) {
    check_field<Owner, Field, typename fixed_array<T>::type>();
  } else if constexpr (std::is_reference_v<T>) {
    static_assert(!std::is_reference_v<T>,
                  "situ: a reference cannot travel: make this field a pointer to a described class, or a situ::ptr "
                  "(which is not followed)");
  } else if constexpr (std::is_pointer_v<T>) {
    using To = std::remove_cv_t<std::remove_pointer_t<T>>;
    static_assert(!std::is_function_v<To>,
                  "situ: a pointer to a function cannot travel: make this field situ::transient, or store a number "
                  "that both sides understand");
    static_assert(!std::is_void_v<To>,
                  "situ: void* cannot travel, since nobody knows what it points to: make this field "
                  "situ::transient<void*>, or a pointer to a described class");
    static_assert(
        !std::is_same_v<To, char>,
        "situ: char* cannot travel, since nobody knows how long the text is: make this field a std::string (of a "
        "value) or a situ::string (of an object graph)");
    static_assert(!std::is_pointer_v<To>,
                  "situ: a pointer to a pointer cannot travel: make this field a situ::array of pointers");
    static_assert((!std::is_arithmetic_v<To> && !std::is_enum_v<To>) || std::is_same_v<To, char>,
                  "situ: a pointer to numbers cannot travel, since nobody knows how many there are: make this field a "
                  "situ::array or situ::vector");
    static_assert(!std::is_union_v<To>,
                  "situ: a pointer to a union cannot travel, since nobody knows what it holds: use std::variant");
    if constexpr (std::is_class_v<To>) {
      static_assert(
          requires { sizeof(To); },
          "situ: a pointer to a class that is only declared cannot travel: include its definition, or make this field "
          "situ::transient");
      if constexpr (requires { sizeof(To); })
        static_assert(has_told_of_itself<To>,
                      "situ: a pointer to a class of which nothing is known cannot travel: list the fields of that "
                      "class once with "
                      "SITU_DESCRIBE(type, fields...), or make this field situ::transient");
    }
  } else if constexpr (is_transient<T>) {
  } else if constexpr (container<T>) {
    check_field<Owner, Field, typename container_element<T>::type>();
  } else if constexpr (sum<T> || product<T>) {
    return []<class... Ts>(type_list<Ts...>) {
      return (check_field<Owner, Field, std::conditional_t<std::is_void_v<Ts>, int, Ts>>() && ...);
    }([] {
      if constexpr (sum<T>)
        return typename sum_alternatives<T>::type{};
      else
        return typename product_parts<T>::type{};
    }());
  } else {
    static_assert(!is_value_part<T>() || can_travel<T>(),
                  "situ: a standard container or smart pointer travels in a graph if what it holds travels as a value, "
                  "as raw pointers and classes that hold some do not: make this field a situ::vector or situ::array of "
                  "such pointers, or a plain pointer (whoever receives the graph owns all of it)");
    static_assert(!std::is_union_v<T>,
                  "situ: a union cannot travel, since nobody knows what it holds: use std::variant");
    static_assert(!std::is_member_pointer_v<T>,
                  "situ: a pointer to a member cannot travel: make this field situ::transient");
    if constexpr (!is_value_part<T>() && !std::is_union_v<T> && !std::is_member_pointer_v<T>)
      static_assert(describable<T>,
                    "situ: nothing is known of this field's class: list its fields once with SITU_DESCRIBE(type, "
                    "fields...), or, where it holds no "
                    "address, say situ::is_data<type> = true (a lambda with captures: store what it captures)");
  }
  return true;
}

template <class T, class... Ts, std::size_t... Index>
consteval bool check_fields(type_list<Ts...>, std::index_sequence<Index...>) {
  return (check_field<T, field_key<T, Index>(), Ts>() && ...);
}
template <class T, auto... Members>
consteval bool check_members(member_list<Members...>) {
  return (check_field<T, Members, std::remove_reference_t<decltype(std::declval<T&>().*Members)>>() && ...);
}

// Checks a class whose objects are to be copied, field by field.
template <class T>
consteval bool check_class() {
  if constexpr (std::is_class_v<T> && !carries_only_data<T>() && !container<T> && !is_transient<T> && !sum<T> &&
                !product<T> && !fixed<T>) {
    static_assert(!std::is_polymorphic_v<T>,
                  "situ: a class with virtual functions cannot travel, for its vtable lies elsewhere in another "
                  "process: derive it from situ::derived instead");
    if constexpr (declared<T>) {
      return check_members<T>(typename get_description<T>::type::members{});
    } else {
      static_assert(
          !std::is_base_of_v<object, T>,
          "situ: list the fields and bases of this class with SITU_DESCRIBE_DERIVED(type, (bases), fields...)");
      static_assert(!aggregate_has_base<T>(),
                    "situ: an aggregate with a base must list both: SITU_DESCRIBE_DERIVED(type, (bases), fields...)");
      static_assert(std::is_aggregate_v<T>,
                    "situ: nothing is known of this class: list its fields once with SITU_DESCRIBE(type, fields...)");
      static_assert(!has_unopenable_field<T>,
                    "situ: a reference, or a field without a default constructor (a lambda that captures), cannot "
                    "travel: make it a pointer to a described "
                    "class, or list the fields with SITU_DESCRIBE(type, fields...)");
      static_assert(
          field_count<T> <= most_fields,
          "situ: more fields than are found by themselves (48): list them with SITU_DESCRIBE(type, fields...)");
      if constexpr (has_known_fields<T>)
        return check_fields<T>(field_types<T>{}, std::make_index_sequence<field_count<T>>{});
    }
  }
  return true;
}

}  // namespace situ::detail
