// Modelled time, and kinds of access: what all parts of a modelled machine speak of.
#pragma once

#include <cstdint>

namespace situ::model {

// Picoseconds since the modelled machine began; 2^64 of them are 213 days.
using time_ps = std::uint64_t;
// Later than anything: what has no time yet.
inline constexpr time_ps no_time = ~time_ps{0};

// The length of a cycle, rounded to a picosecond: 20000 at 50 MHz. pre: hertz > 0.
[[nodiscard]] constexpr time_ps period_of(std::uint64_t hertz) noexcept {
  return (1'000'000'000'000ULL + hertz / 2) / hertz;
}

// An access at a memory where nobody else is: when it is done, and how long it keeps others out.
struct access_times {
  time_ps duration = 0;
  time_ps occupancy = 0;
};

// What a core wants of an address.
enum class access_kind : std::uint8_t {
  read,
  write,
  atomic,  // reads and writes in one step
  fetch,   // of instructions
};

}  // namespace situ::model
