// Whether objects of a class hold addresses, found even where its members are private or it is a lambda.
//
// A bit_cast is no constant expression where the type has a pointer, a pointer to a member, a reference, or a union
// anywhere within it ([bit.cast]); so the compiler, asked for one, looks through everything.
#pragma once

#include <cstddef>
#include <type_traits>

namespace situ::detail {

template <std::size_t Size>
struct bytes_of_size {
  unsigned char bytes[Size];
};
template <class T>
concept cast_from_bytes = std::is_trivially_copyable_v<T> && requires {
  typename std::bool_constant<((void)__builtin_bit_cast(T, bytes_of_size<sizeof(T)>{}), true)>;
};
// Only of literal types can it be asked: lambdas, aggregates, classes with a constexpr constructor.
template <class T>
inline constexpr bool tells_addresses = __is_literal_type(T) && std::is_trivially_copyable_v<T>;
// Surely without addresses.
template <class T>
consteval bool is_free_of_addresses() {
  if constexpr (tells_addresses<T>) return cast_from_bytes<T>;
  return false;
}
// Surely with one.
template <class T>
consteval bool is_known_to_hold_addresses() {
  if constexpr (tells_addresses<T>) return !cast_from_bytes<T>;
  return false;
}

}  // namespace situ::detail
