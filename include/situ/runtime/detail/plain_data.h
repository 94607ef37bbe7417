// Plain data: trivially copyable values that hold no address of this process, as far as the compiler can tell. The
// bytes of plain data are its value.
#pragma once

#include <situ/base/detail/description.h>
#include <situ/base/detail/holds_address.h>
#include <situ/base/detail/padding.h>
#include <situ/base/is_data.h>

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

namespace situ {

template <class T>
struct wire;

namespace detail {

template <class T>
inline constexpr bool is_pointer_like =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>;
template <class T>
inline constexpr bool is_optional = false;  // by parts: the bytes beyond its flag may be indeterminate
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
// True for trivially copyable types whose bytes are addresses of this process.
template <class T>
inline constexpr bool is_view = std::is_same_v<T, std::string_view>;
template <class T, std::size_t Extent>
inline constexpr bool is_view<std::span<T, Extent>> = true;
template <class T>
inline constexpr bool is_view<std::initializer_list<T>> = true;
template <class T>
inline constexpr bool is_view<std::reference_wrapper<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;

// True if wire<T> is a specialisation of the program's own.
template <class T>
consteval bool has_own_wire() {
  if constexpr (std::is_class_v<T> || std::is_union_v<T> || std::is_enum_v<T>)
    return !requires { typename wire<T>::is_general; };
  return false;
}

// Lists the types that SITU_DESCRIBE names: bases, then members.
template <class... Bases, auto... Members>
consteval auto list_described_types(type_list<Bases...>, member_list<Members...>) {
  return type_list<Bases..., member_type<Members>...>{};
}
template <class T>
using described_types = decltype(list_described_types(typename get_description<T>::type::bases{},
                                                      typename get_description<T>::type::members{}));
// True for a class whose parts are known.
template <class T>
concept has_fields = declared<T> || has_known_fields<T>;
template <class T>
struct parts_in_class {
  using type = field_types<T>;
};
template <declared T>
struct parts_in_class<T> {
  using type = described_types<T>;
};

template <class T>
consteval bool is_plain_value();
template <class T>
inline constexpr bool is_plain = is_plain_value<T>();

// True if a field of plain data may have type T: plain data, an array, or a choice between such types.
template <class T>
consteval bool is_plain_field();
template <class... Ts>
consteval bool are_plain_fields(type_list<Ts...>) {
  return (is_plain_field<std::remove_cv_t<Ts>>() && ...);
}
template <class T>
struct choices_of {};
template <class T>
struct choices_of<std::optional<T>> {
  using type = type_list<T>;
};
template <class... Ts>
struct choices_of<std::variant<Ts...>> {
  using type = type_list<Ts...>;
};
template <class T>
consteval bool is_plain_field() {
  if constexpr (std::is_bounded_array_v<T>) {
    return is_plain_field<std::remove_cv_t<std::remove_extent_t<T>>>();
  } else if constexpr (std_array_size<T> != 0) {
    return is_plain_field<std::remove_cv_t<typename T::value_type>>();
  } else if constexpr (is_optional<T> || is_variant<T>) {
    return are_plain_fields(typename choices_of<T>::type{});
  } else {
    return is_plain<T>;
  }
}
template <class... Ts>
consteval bool hold_choice(type_list<Ts...>);
// True if T is trivially copyable and holds no address of this process, as far as the compiler can tell.
template <class T>
consteval bool is_plain_value() {
  if constexpr (!std::is_trivially_copyable_v<T> || is_optional<T> || is_variant<T> || is_view<T> ||
                is_pointer_like<T> || std::is_reference_v<T> || std::is_array_v<T> || std::is_union_v<T> ||
                has_own_wire<T>()) {
    return false;
  } else if constexpr (std_array_size<T> != 0) {
    return is_plain<std::remove_cv_t<typename T::value_type>>;
  } else if constexpr (std::is_class_v<T> && !std::is_empty_v<T> && !is_data<T>) {
    if constexpr (declared<T>) {
      return are_plain_fields(described_types<T>{});
    } else if constexpr (has_known_fields<T>) {
      return are_plain_fields(field_types<T>{}) && (has_addressable_fields<T> || !hold_choice(field_types<T>{}));
    } else {
      return !is_known_to_hold_addresses<T>();
    }
  } else {
    return true;
  }
}

// True if plain data holds optionals or variants, so that it travels by parts.
template <class T>
consteval bool holds_choice();
template <class... Ts>
consteval bool hold_choice(type_list<Ts...>) {
  return (holds_choice<std::remove_cv_t<Ts>>() || ...);
}
template <class T>
consteval bool holds_choice() {
  if constexpr (is_optional<T> || is_variant<T>) {
    return true;
  } else if constexpr (std::is_bounded_array_v<T>) {
    return holds_choice<std::remove_cv_t<std::remove_extent_t<T>>>();
  } else if constexpr (std_array_size<T> != 0) {
    return holds_choice<std::remove_cv_t<typename T::value_type>>();
  } else if constexpr (std::is_class_v<T> && !std::is_empty_v<T> && !is_data<T>) {
    if constexpr (has_fields<T>) return hold_choice(typename parts_in_class<T>::type{});
    return false;
  } else {
    return false;
  }
}

// True if a vector of T is sent and read as one run of bytes.
template <class T>
inline constexpr bool copies_in_bulk =
    is_plain<T> && !holds_choice<T>() && !std::is_empty_v<T> && !std::is_same_v<T, bool>;

}  // namespace detail
}  // namespace situ
