// The result of SITU_DESCRIBE: the bases and members that a class lists, and the keys that name fields in compile
// errors.
//
// The list is in a nested template, since only a member may name private members, and the macro may be used in a
// private section or in a namespace, where a friend declaration is not allowed. Code outside the class cannot name a
// private nested template; so instantiating tell_description defines a friend function that returns it.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/base/detail/aggregate.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace situ::detail {

template <auto... Members>
struct member_list {};
template <class T>
struct member_type_of;
template <class Class, class Member>
struct member_type_of<Member Class::*> {
  using type = Member;
};
template <auto Member>
using member_type = typename member_type_of<std::remove_const_t<decltype(Member)>>::type;
template <std::size_t N>
struct fixed_text {
  char text[N];
  constexpr fixed_text(const char (&given)[N]) noexcept { std::copy_n(given, N, text); }
};
template <class Bases, class Members, fixed_text Names>
struct description {
  using bases = Bases;
  using members = Members;
  static constexpr std::string_view names{Names.text, sizeof(Names.text) - 1};  // as written, with commas
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"  // a non-template friend for each T is intended
#endif
template <class T>
struct described_class {
  friend constexpr auto find_description(described_class<T>);
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
template <class T, class Holder>
struct tell_description {
  friend constexpr auto find_description(described_class<T>) { return std::type_identity<Holder>{}; }
  static constexpr bool is_told = true;
};

template <class T>
concept declared = std::is_class_v<T> && requires { find_description(described_class<T>{}); };
template <class T>
struct get_description {
  using type = decltype(decltype(find_description(described_class<T>{}))::type::get());
};

// The key of a field in a compile error: its address within an object that is never defined (gcc), or its number.
template <class T>
struct field_holder {
  T value;
};
#if defined(__GNUC__) && !defined(__clang__)
template <class T>
extern field_holder<T> nowhere;
template <class T, std::size_t Index>
consteval auto field_key() {  // a function: a variable might be emitted, and then the object would have to exist
  return std::get<Index>(list_field_addresses(nowhere<T>.value));
}
inline constexpr bool field_keys_are_addresses = true;
#else
template <class T, std::size_t Index>
consteval std::size_t field_key() {
  return Index;
}
inline constexpr bool field_keys_are_addresses = false;
#endif

}  // namespace situ::detail

#define SITU_DETAIL_DESCRIPTION(type_, bases_, ...)                                                            \
  template <class, class>                                                                                      \
  struct situ_description;                                                                                     \
  template <class Unused>                                                                                      \
  struct situ_description<type_, Unused> {                                                                     \
    static constexpr auto get() {                                                                              \
      return ::situ::detail::description<SITU_DETAIL_LIST bases_,                                              \
                                         ::situ::detail::member_list<SITU_DETAIL_MEMBERS(type_, __VA_ARGS__)>, \
                                         #__VA_ARGS__>{};                                                      \
    }                                                                                                          \
  };                                                                                                           \
  static_assert(::situ::detail::tell_description<type_, situ_description<type_, void>>::is_told);
#define SITU_DETAIL_LIST(...) ::situ::detail::type_list<__VA_ARGS__>

// &type::a, &type::b, ... for up to 255 fields: a macro may not expand itself, so it leaves a call of itself behind
// that the next of 256 rescans expands.
#define SITU_DETAIL_MEMBERS(type, ...) __VA_OPT__(SITU_DETAIL_RESCAN(SITU_DETAIL_MEMBER(type, __VA_ARGS__)))
#define SITU_DETAIL_MEMBER(type, field, ...) \
  &type::field __VA_OPT__(, SITU_DETAIL_AGAIN SITU_DETAIL_PARENTHESES(type, __VA_ARGS__))
#define SITU_DETAIL_AGAIN() SITU_DETAIL_MEMBER
#define SITU_DETAIL_PARENTHESES ()
#define SITU_DETAIL_RESCAN(...) \
  SITU_DETAIL_RESCAN_64(SITU_DETAIL_RESCAN_64(SITU_DETAIL_RESCAN_64(SITU_DETAIL_RESCAN_64(__VA_ARGS__))))
#define SITU_DETAIL_RESCAN_64(...) \
  SITU_DETAIL_RESCAN_16(SITU_DETAIL_RESCAN_16(SITU_DETAIL_RESCAN_16(SITU_DETAIL_RESCAN_16(__VA_ARGS__))))
#define SITU_DETAIL_RESCAN_16(...) \
  SITU_DETAIL_RESCAN_4(SITU_DETAIL_RESCAN_4(SITU_DETAIL_RESCAN_4(SITU_DETAIL_RESCAN_4(__VA_ARGS__))))
#define SITU_DETAIL_RESCAN_4(...) \
  SITU_DETAIL_RESCAN_1(SITU_DETAIL_RESCAN_1(SITU_DETAIL_RESCAN_1(SITU_DETAIL_RESCAN_1(__VA_ARGS__))))
#define SITU_DETAIL_RESCAN_1(...) __VA_ARGS__
