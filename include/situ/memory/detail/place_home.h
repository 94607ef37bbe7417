// The location of a place of a job: its host, and its index among that host's places.
//
// The memory file of a host holds the slices of its own places, in the order of the index (docs/design/cluster.md). A
// value.
#pragma once

#include <cstdint>

namespace situ::detail {

struct place_home {
  std::uint16_t host = 0;
  std::uint16_t index = 0;  // among the places of that host, numbered in the order of the job
  friend bool operator==(const place_home&, const place_home&) = default;
};
static_assert(sizeof(place_home) == 4);

struct job_control;

// Returns whether the place is on this host. pre: it is a place of the job.
[[nodiscard]] bool is_here(job_control& control, std::uint32_t place) noexcept;

// The barriers that all places of a job over several hosts cross.
enum class host_barrier : std::uint8_t { world, leaving };
inline constexpr std::uint32_t host_barriers = 2;

}  // namespace situ::detail
