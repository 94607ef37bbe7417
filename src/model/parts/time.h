// Modelled time, and kinds of access: what all parts of a modelled machine speak of.
#pragma once

#include <cstddef>
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
  atomic,        // reads and writes in one step
  fetch,         // of instructions
  atomic_read,   // a load of what others change: where tiles are not coherent, past the caches
  atomic_write,  // a store of what others look at, likewise
};
inline constexpr std::size_t access_kinds = 6;
[[nodiscard]] constexpr bool is_atomic(access_kind kind) noexcept {
  return kind == access_kind::atomic || kind == access_kind::atomic_read || kind == access_kind::atomic_write;
}
// Whether it changes what it finds.
[[nodiscard]] constexpr bool changes(access_kind kind) noexcept {
  return kind == access_kind::write || kind == access_kind::atomic || kind == access_kind::atomic_write;
}

// What a core that goes on past a miss says of an access.
struct window_access {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;  // in one line of its first cache
  access_kind kind = access_kind::read;
  std::uint64_t instruction = 0;  // how many the core had before; does not fall
  std::uint64_t code = 0;         // where it stands in the program; 0: not known
  std::uint64_t value = 0;        // of a read: what it brings, of up to 8 bytes, with its sign
};

}  // namespace situ::model
