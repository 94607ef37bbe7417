// The types of words that atomics work on, as messages to other hosts name them.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace situ::detail {

enum class word_type : std::uint8_t { int32, uint32, int64, uint64, float64 };
inline constexpr std::uint8_t word_types = 5;

[[nodiscard]] constexpr std::uint32_t bytes_of(word_type type) noexcept {
  return type == word_type::int32 || type == word_type::uint32 ? 4 : 8;
}

// pre: T has atomics (fabric/atomic.h).
template <class T>
inline constexpr word_type type_of_word =
    std::is_same_v<T, double> ? word_type::float64
    : sizeof(T) == 4          ? (std::is_signed_v<T> ? word_type::int32 : word_type::uint32)
                              : (std::is_signed_v<T> ? word_type::int64 : word_type::uint64);

// Converts a word to its bits, in the low bytes, and back.
template <class T>
[[nodiscard]] std::uint64_t bits_of(T value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
[[nodiscard]] T from_bits(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace situ::detail
