// Detects whether objects of a class hold addresses, even if its members are private or it is a lambda.
//
// A bit_cast is no constant expression if the type has a pointer, a pointer to a member, a reference, or a union
// anywhere within it ([bit.cast]); so a test for a constant bit_cast makes the compiler examine all members.
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
// The test works for literal types only: lambdas, aggregates, classes with a constexpr constructor.
template <class T>
inline constexpr bool tells_addresses = __is_literal_type(T) && std::is_trivially_copyable_v<T>;
// Returns true if objects of T are known to hold no addresses.
template <class T>
consteval bool is_free_of_addresses() {
  if constexpr (tells_addresses<T>) return cast_from_bytes<T>;
  return false;
}
// Returns true if objects of T are known to hold an address.
template <class T>
consteval bool is_known_to_hold_addresses() {
  if constexpr (tells_addresses<T>) return !cast_from_bytes<T>;
  return false;
}

}  // namespace situ::detail
