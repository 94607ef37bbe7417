// Padding: the bytes (for bit-fields: bits) of a trivially copyable object that are not part of its value, and hold
// leftover contents of memory.
//
// Values that leave the process are written with their padding zeroed. For classes whose fields the compiler reveals
// (aggregate.h) the fields are walked; for others gcc finds the padding. If neither works (a class with private
// members and padding, another compiler), the bytes are written unchanged.
#pragma once

#include <situ/base/detail/aggregate.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstring>
#include <type_traits>

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define SITU_DETAIL_CLEARS_PADDING 1
#endif
#endif

namespace situ::detail {

template <class T>
inline constexpr std::size_t std_array_size = 0;  // for a std::array, its size + 1
template <class T, std::size_t N>
inline constexpr std::size_t std_array_size<std::array<T, N>> = N + 1;
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

template <class T>
consteval bool has_padding();
template <class... Ts>
consteval bool have_padding_in(type_list<Ts...>, std::size_t bytes) {
  return (has_padding<Ts>() || ...) || (sizeof(Ts) + ... + std::size_t{0}) != bytes;
}
// Returns whether objects of T may have padding; true if that cannot be determined.
template <class T>
consteval bool has_padding() {
  if constexpr (std::has_unique_object_representations_v<T>) {
    return false;
  } else if constexpr (std::is_const_v<T>) {
    return has_padding<std::remove_const_t<T>>();
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) > sizeof(double);  // x87: 10 bytes of 16
  } else if constexpr (std::is_bounded_array_v<T>) {
    return has_padding<std::remove_extent_t<T>>();
  } else if constexpr (std_array_size<T> > 1) {
    return has_padding<typename T::value_type>();
  } else if constexpr (is_complex<T>) {
    return has_padding<typename T::value_type>();
  } else if constexpr (std_array_size<T> == 0 && std::is_class_v<T> && !std::is_empty_v<T>) {
    if constexpr (has_addressable_fields<T>) return have_padding_in(field_types<T>{}, sizeof(T));
    return true;
  } else {
    return true;
  }
}

// Sets those bits of `bits` (sizeof(T) bytes, all zero) that belong to a value of T. For types T without walkable
// fields.
template <class T>
void set_value_bits(std::byte* bits) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memset(bits, 0xff, sizeof(T));
#if defined(SITU_DETAIL_CLEARS_PADDING)
  __builtin_clear_padding(reinterpret_cast<T*>(bits));
#else
  if constexpr (std::is_floating_point_v<T> && sizeof(T) == 16) std::memset(bits + 10, 0, 6);
  if constexpr (std::is_empty_v<T>) std::memset(bits, 0, sizeof(T));
#endif
}

// Writes the sizeof(T) bytes of a value, with zeroes for its padding. `to` need not be aligned. cost: memcpy, if T has
// no padding.
template <class T>
void write_value(std::byte* to, const T& value) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  if constexpr (!has_padding<T>()) {
    std::memcpy(to, &value, sizeof(T));
#if defined(SITU_DETAIL_CLEARS_PADDING)
  } else {
    std::memcpy(to, &value, sizeof(T));
    // stores bytes only; the compiler cannot assume an alignment of `to`
    __builtin_clear_padding(reinterpret_cast<T*>(to));
#else
  } else if constexpr (std::is_bounded_array_v<T>) {
    for (std::size_t i = 0; i < std::extent_v<T>; ++i) write_value(to + i * sizeof(value[0]), value[i]);
  } else if constexpr (std_array_size<T> > 1) {
    for (std::size_t i = 0; i < value.size(); ++i) write_value(to + i * sizeof(value[0]), value[i]);
  } else if constexpr (std::is_floating_point_v<T>) {
    std::memcpy(to, &value, 10);
    std::memset(to + 10, 0, sizeof(T) - 10);
  } else if constexpr (has_addressable_fields<T>) {
    std::memset(to, 0, sizeof(T));
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    visit_fields(value, [&](const auto& field) {
      write_value(to + (reinterpret_cast<const std::byte*>(&field) - from), field);
    });
  } else {
    std::memcpy(to, &value, sizeof(T));
#endif
  }
}

}  // namespace situ::detail
