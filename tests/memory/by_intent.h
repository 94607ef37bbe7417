// What tests of memory by intent share. SITU_ORDERINGS names orderings.toml: fast has 8 MiB, slow 16.
#pragma once

#include <situ/memory/placement.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/places_fixture.h"

namespace situ::test {

inline constexpr std::size_t mib = std::size_t{1} << 20;
inline constexpr intent turns{"turns"};
inline constexpr intent node_0{"node_0"};

[[nodiscard]] inline std::uint64_t bytes_in(const memory_placement& where, const std::string& memory) {
  for (const memory_part& part : where.parts)
    if (part.memory == memory) return part.bytes;
  return 0;
}

}  // namespace situ::test
