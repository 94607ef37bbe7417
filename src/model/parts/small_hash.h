// A hash of eight bits, for tables that say which of a few remembered numbers may be there. Arrays of a program begin at
// equal low bits, so all bits count.
#pragma once

#include <cstdint>

namespace situ::model {

[[nodiscard]] constexpr std::uint8_t small_hash(std::uint64_t number) noexcept {
  return static_cast<std::uint8_t>((number * 0x9e3779b97f4a7c15ULL) >> 56);
}

}  // namespace situ::model
