// Finds the fields of an aggregate at compile time: their number, types and addresses.
//
// The number is that of empty initialisers: the longest T{{}, {}, ...} that compiles has one for each field, also for
// an array or a nested aggregate. The types come from structured bindings. So this works for classes without bases
// that have at most 48 fields, all of which can be initialised from {}. (A reference cannot; has_unopenable_field
// detects it.) No state; only visit_fields runs at run time.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ::detail {

template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);
};

// Converts to any strict base of T.
template <class T>
struct any_base_of {
  template <class Base>
    requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
  constexpr operator Base() const noexcept;
};
inline constexpr std::size_t most_fields = 48;

// C++20 has no pack of structured bindings, so the preprocessor generates a row for each number of fields.
// SITU_DETAIL_FIELDS_3(X, S) is X(f0) S() X(f1) S() X(f2); SITU_DETAIL_UP_TO_48(R) is R(1) R(2) ... R(48).
// clang-format off
#define SITU_DETAIL_NAME(field) field
#define SITU_DETAIL_BRACES(field) {}
#define SITU_DETAIL_TYPE(field) decltype(field)
#define SITU_DETAIL_ADDRESS(field) &field
#define SITU_DETAIL_COMMA() ,
#define SITU_DETAIL_SEMICOLON() ;
#define SITU_DETAIL_FIELDS_1(X, S) X(f0)
#define SITU_DETAIL_FIELDS_2(X, S) SITU_DETAIL_FIELDS_1(X, S) S() X(f1)
#define SITU_DETAIL_FIELDS_3(X, S) SITU_DETAIL_FIELDS_2(X, S) S() X(f2)
#define SITU_DETAIL_FIELDS_4(X, S) SITU_DETAIL_FIELDS_3(X, S) S() X(f3)
#define SITU_DETAIL_FIELDS_5(X, S) SITU_DETAIL_FIELDS_4(X, S) S() X(f4)
#define SITU_DETAIL_FIELDS_6(X, S) SITU_DETAIL_FIELDS_5(X, S) S() X(f5)
#define SITU_DETAIL_FIELDS_7(X, S) SITU_DETAIL_FIELDS_6(X, S) S() X(f6)
#define SITU_DETAIL_FIELDS_8(X, S) SITU_DETAIL_FIELDS_7(X, S) S() X(f7)
#define SITU_DETAIL_FIELDS_9(X, S) SITU_DETAIL_FIELDS_8(X, S) S() X(f8)
#define SITU_DETAIL_FIELDS_10(X, S) SITU_DETAIL_FIELDS_9(X, S) S() X(f9)
#define SITU_DETAIL_FIELDS_11(X, S) SITU_DETAIL_FIELDS_10(X, S) S() X(f10)
#define SITU_DETAIL_FIELDS_12(X, S) SITU_DETAIL_FIELDS_11(X, S) S() X(f11)
#define SITU_DETAIL_FIELDS_13(X, S) SITU_DETAIL_FIELDS_12(X, S) S() X(f12)
#define SITU_DETAIL_FIELDS_14(X, S) SITU_DETAIL_FIELDS_13(X, S) S() X(f13)
#define SITU_DETAIL_FIELDS_15(X, S) SITU_DETAIL_FIELDS_14(X, S) S() X(f14)
#define SITU_DETAIL_FIELDS_16(X, S) SITU_DETAIL_FIELDS_15(X, S) S() X(f15)
#define SITU_DETAIL_FIELDS_17(X, S) SITU_DETAIL_FIELDS_16(X, S) S() X(f16)
#define SITU_DETAIL_FIELDS_18(X, S) SITU_DETAIL_FIELDS_17(X, S) S() X(f17)
#define SITU_DETAIL_FIELDS_19(X, S) SITU_DETAIL_FIELDS_18(X, S) S() X(f18)
#define SITU_DETAIL_FIELDS_20(X, S) SITU_DETAIL_FIELDS_19(X, S) S() X(f19)
#define SITU_DETAIL_FIELDS_21(X, S) SITU_DETAIL_FIELDS_20(X, S) S() X(f20)
#define SITU_DETAIL_FIELDS_22(X, S) SITU_DETAIL_FIELDS_21(X, S) S() X(f21)
#define SITU_DETAIL_FIELDS_23(X, S) SITU_DETAIL_FIELDS_22(X, S) S() X(f22)
#define SITU_DETAIL_FIELDS_24(X, S) SITU_DETAIL_FIELDS_23(X, S) S() X(f23)
#define SITU_DETAIL_FIELDS_25(X, S) SITU_DETAIL_FIELDS_24(X, S) S() X(f24)
#define SITU_DETAIL_FIELDS_26(X, S) SITU_DETAIL_FIELDS_25(X, S) S() X(f25)
#define SITU_DETAIL_FIELDS_27(X, S) SITU_DETAIL_FIELDS_26(X, S) S() X(f26)
#define SITU_DETAIL_FIELDS_28(X, S) SITU_DETAIL_FIELDS_27(X, S) S() X(f27)
#define SITU_DETAIL_FIELDS_29(X, S) SITU_DETAIL_FIELDS_28(X, S) S() X(f28)
#define SITU_DETAIL_FIELDS_30(X, S) SITU_DETAIL_FIELDS_29(X, S) S() X(f29)
#define SITU_DETAIL_FIELDS_31(X, S) SITU_DETAIL_FIELDS_30(X, S) S() X(f30)
#define SITU_DETAIL_FIELDS_32(X, S) SITU_DETAIL_FIELDS_31(X, S) S() X(f31)
#define SITU_DETAIL_FIELDS_33(X, S) SITU_DETAIL_FIELDS_32(X, S) S() X(f32)
#define SITU_DETAIL_FIELDS_34(X, S) SITU_DETAIL_FIELDS_33(X, S) S() X(f33)
#define SITU_DETAIL_FIELDS_35(X, S) SITU_DETAIL_FIELDS_34(X, S) S() X(f34)
#define SITU_DETAIL_FIELDS_36(X, S) SITU_DETAIL_FIELDS_35(X, S) S() X(f35)
#define SITU_DETAIL_FIELDS_37(X, S) SITU_DETAIL_FIELDS_36(X, S) S() X(f36)
#define SITU_DETAIL_FIELDS_38(X, S) SITU_DETAIL_FIELDS_37(X, S) S() X(f37)
#define SITU_DETAIL_FIELDS_39(X, S) SITU_DETAIL_FIELDS_38(X, S) S() X(f38)
#define SITU_DETAIL_FIELDS_40(X, S) SITU_DETAIL_FIELDS_39(X, S) S() X(f39)
#define SITU_DETAIL_FIELDS_41(X, S) SITU_DETAIL_FIELDS_40(X, S) S() X(f40)
#define SITU_DETAIL_FIELDS_42(X, S) SITU_DETAIL_FIELDS_41(X, S) S() X(f41)
#define SITU_DETAIL_FIELDS_43(X, S) SITU_DETAIL_FIELDS_42(X, S) S() X(f42)
#define SITU_DETAIL_FIELDS_44(X, S) SITU_DETAIL_FIELDS_43(X, S) S() X(f43)
#define SITU_DETAIL_FIELDS_45(X, S) SITU_DETAIL_FIELDS_44(X, S) S() X(f44)
#define SITU_DETAIL_FIELDS_46(X, S) SITU_DETAIL_FIELDS_45(X, S) S() X(f45)
#define SITU_DETAIL_FIELDS_47(X, S) SITU_DETAIL_FIELDS_46(X, S) S() X(f46)
#define SITU_DETAIL_FIELDS_48(X, S) SITU_DETAIL_FIELDS_47(X, S) S() X(f47)
#define SITU_DETAIL_UP_TO_47(R) \
  R(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8) R(9) R(10) R(11) R(12) \
  R(13) R(14) R(15) R(16) R(17) R(18) R(19) R(20) R(21) R(22) R(23) R(24) \
  R(25) R(26) R(27) R(28) R(29) R(30) R(31) R(32) R(33) R(34) R(35) R(36) \
  R(37) R(38) R(39) R(40) R(41) R(42) R(43) R(44) R(45) R(46) R(47)
#define SITU_DETAIL_UP_TO_48(R) SITU_DETAIL_UP_TO_47(R) R(48)
// clang-format on

template <class T>
inline constexpr bool is_open_aggregate = std::is_class_v<T> && std::is_aggregate_v<T>;

template <class T>
consteval bool aggregate_has_base() {
  if constexpr (is_open_aggregate<T> && !std::is_empty_v<T>) return requires { T{any_base_of<T>{}}; };
  return false;
}

template <class T>
consteval std::size_t count_fields() {
  if constexpr (std::is_empty_v<T>) return 0;
#define SITU_DETAIL_ROW(count)                                                               \
  else if constexpr (!requires {                                                             \
                       T{SITU_DETAIL_FIELDS_##count(SITU_DETAIL_BRACES, SITU_DETAIL_COMMA)}; \
                     }) return count - 1;
  SITU_DETAIL_UP_TO_48(SITU_DETAIL_ROW)
#undef SITU_DETAIL_ROW
  else if constexpr (!requires { T{SITU_DETAIL_FIELDS_48(SITU_DETAIL_BRACES, SITU_DETAIL_COMMA), {}}; }) return 48;
  return most_fields + 1;
}

template <class T>
inline constexpr std::size_t field_count = count_fields<T>();

// Convert to the type of any field.
struct any_value {
  template <class Field>
  constexpr operator Field&&() const noexcept;
};
struct any_object {
  template <class Field>
  constexpr operator Field&() const noexcept;
};
// Returns whether T has a field beyond those counted: one that cannot be initialised from {}, but has a default
// initialiser.
template <class T>
consteval bool has_uncounted_field() {
  constexpr std::size_t n = field_count<T>;
  if constexpr (std::is_empty_v<T>)
    return false;
  else if constexpr (n == 0)
    return requires { T{any_value{}}; } || requires { T{any_object{}}; };
#define SITU_DETAIL_ROW(count)                                                         \
  else if constexpr (n == count) return requires {                                     \
    T{SITU_DETAIL_FIELDS_##count(SITU_DETAIL_BRACES, SITU_DETAIL_COMMA), any_value{}}; \
  } || requires { T{SITU_DETAIL_FIELDS_##count(SITU_DETAIL_BRACES, SITU_DETAIL_COMMA), any_object{}}; };
  SITU_DETAIL_UP_TO_47(SITU_DETAIL_ROW)
#undef SITU_DETAIL_ROW
  return false;
}

// True if some field cannot be initialised from {}: a reference, or a class without a default constructor.
template <class T>
inline constexpr bool has_unopenable_field = [] {
  if constexpr (!is_open_aggregate<T>) {
    return false;
  } else if constexpr (!requires { T{}; }) {
    return true;
  } else {
    return has_uncounted_field<T>();
  }
}();

// True if this header can find the fields of T.
template <class T>
inline constexpr bool has_known_fields = [] {
  if constexpr (!is_open_aggregate<T>) {
    return false;
  } else if constexpr (aggregate_has_base<T>()) {
    return false;
  } else {
    return field_count<T> <= most_fields && !has_unopenable_field<T>;
  }
}();

// Returns the types of the fields, as declared (for a bit-field, the type of its values).
template <class T>
consteval auto list_field_types(T& value) {
  constexpr std::size_t n = field_count<T>;
  if constexpr (n == 0) return type_list<>{};
#define SITU_DETAIL_ROW(count)                                                           \
  else if constexpr (n == count) {                                                       \
    auto& [SITU_DETAIL_FIELDS_##count(SITU_DETAIL_NAME, SITU_DETAIL_COMMA)] = value;     \
    return type_list<SITU_DETAIL_FIELDS_##count(SITU_DETAIL_TYPE, SITU_DETAIL_COMMA)>{}; \
  }
  SITU_DETAIL_UP_TO_48(SITU_DETAIL_ROW)
#undef SITU_DETAIL_ROW
}
template <class T>
using field_types = decltype(list_field_types(std::declval<T&>()));

// Returns whether every field has an address; bit-fields have none.
template <class T>
consteval auto find_whether_addressable(T& value) {
  constexpr std::size_t n = field_count<T>;
  if constexpr (n == 0) return std::true_type{};
#define SITU_DETAIL_ROW(count)                                                                                         \
  else if constexpr (n == count) {                                                                                     \
    auto& [SITU_DETAIL_FIELDS_##count(SITU_DETAIL_NAME, SITU_DETAIL_COMMA)] = value;                                   \
    return std::bool_constant<requires { SITU_DETAIL_FIELDS_##count(SITU_DETAIL_ADDRESS, SITU_DETAIL_SEMICOLON); }>{}; \
  }
  SITU_DETAIL_UP_TO_48(SITU_DETAIL_ROW)
#undef SITU_DETAIL_ROW
}
template <class T>
inline constexpr bool has_addressable_fields = [] {
  if constexpr (has_known_fields<T>)
    return decltype(find_whether_addressable(std::declval<T&>()))::value;
  else
    return false;
}();

// Returns the addresses of the fields as constants, from which field_key is made. No bit-fields, no references.
template <class T>
consteval auto list_field_addresses(T& value) {
  constexpr std::size_t n = field_count<T>;
  if constexpr (n == 0) return std::tuple<>{};
#define SITU_DETAIL_ROW(count)                                                             \
  else if constexpr (n == count) {                                                         \
    auto& [SITU_DETAIL_FIELDS_##count(SITU_DETAIL_NAME, SITU_DETAIL_COMMA)] = value;       \
    return std::tuple{SITU_DETAIL_FIELDS_##count(SITU_DETAIL_ADDRESS, SITU_DETAIL_COMMA)}; \
  }
  SITU_DETAIL_UP_TO_48(SITU_DETAIL_ROW)
#undef SITU_DETAIL_ROW
}

// Calls visit(field&) for each field of `value`, in order, without reading the fields. No bit-fields.
template <class T, class Visit>
void visit_fields(T& value, Visit&& visit) {
  constexpr std::size_t n = field_count<std::remove_const_t<T>>;
  const auto each = [&](auto&... fields) { (visit(fields), ...); };
  if constexpr (n == 0) return;
#define SITU_DETAIL_ROW(count)                                                       \
  else if constexpr (n == count) {                                                   \
    auto& [SITU_DETAIL_FIELDS_##count(SITU_DETAIL_NAME, SITU_DETAIL_COMMA)] = value; \
    each(SITU_DETAIL_FIELDS_##count(SITU_DETAIL_NAME, SITU_DETAIL_COMMA));           \
  }
  SITU_DETAIL_UP_TO_48(SITU_DETAIL_ROW)
#undef SITU_DETAIL_ROW
}

}  // namespace situ::detail
