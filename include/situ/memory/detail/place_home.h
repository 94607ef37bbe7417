// Where a place of a job is: on which host, and the how-manieth of that host's places.
//
// The memory file of a host holds the slices of its own places, in this order (docs/design/cluster.md). A value.
#pragma once

#include <cstdint>

namespace situ::detail {

struct place_home {
  std::uint16_t host = 0;
  std::uint16_t index = 0;  // among the places of that host, which are numbered by their order in the job
  friend bool operator==(const place_home&, const place_home&) = default;
};
static_assert(sizeof(place_home) == 4);

// The barriers of all places of a job over several hosts.
enum class host_barrier : std::uint8_t { world, leaving };
inline constexpr std::uint32_t host_barriers = 2;

}  // namespace situ::detail
