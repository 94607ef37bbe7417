// The copy of put and get: memcpy, or copy_long for long ranges.
#pragma once

#include <cstddef>
#include <cstring>

namespace situ::detail {

// The size from which glibc's memcpy uses a loop of vector loads and stores; below it, glibc chooses `rep movsb` as
// well. The loop reads each line of the destination before it writes the line; measured:
// docs/decisions/0008-copies.md.
inline constexpr std::size_t long_copy_bytes = std::size_t{512} << 10;

// pre: bytes >= 64; the ranges do not overlap.
void copy_long(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

// pre: bytes > 0; the ranges do not overlap.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes >= long_copy_bytes) [[unlikely]] {
    copy_long(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace situ::detail
