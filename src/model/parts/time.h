// Modelled time, and kinds of access: the types that all parts of a modelled machine share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace situ::model {

// Picoseconds since the modelled machine began; 2^64 of them are 213 days.
using time_ps = std::uint64_t;
// Later than any time: stands for a time that is not known.
inline constexpr time_ps no_time = ~time_ps{0};

// Returns the length of a cycle, rounded to a picosecond: 20000 at 50 MHz. pre: hertz > 0.
[[nodiscard]] constexpr time_ps period_of(std::uint64_t hertz) noexcept {
  return (1'000'000'000'000ULL + hertz / 2) / hertz;
}

// The times of an access at a memory without contention: how long it takes, and how long it occupies the memory.
struct access_times {
  time_ps duration = 0;
  time_ps occupancy = 0;
};

// The kind of a core's access to an address.
enum class access_kind : std::uint8_t {
  read,
  write,
  atomic,        // reads and writes in one step
  fetch,         // a fetch of instructions
  atomic_read,   // a load of data that others change: past the caches if tiles are not coherent
  atomic_write,  // a store of data that others read: past the caches if tiles are not coherent
};
inline constexpr std::size_t access_kinds = 6;
[[nodiscard]] constexpr bool is_atomic(access_kind kind) noexcept {
  return kind == access_kind::atomic || kind == access_kind::atomic_read || kind == access_kind::atomic_write;
}
// Returns whether the access changes memory.
[[nodiscard]] constexpr bool changes(access_kind kind) noexcept {
  return kind == access_kind::write || kind == access_kind::atomic || kind == access_kind::atomic_write;
}

// An access of a core that continues past a miss.
struct window_access {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;  // size; within one line of the core's first cache
  access_kind kind = access_kind::read;
  std::uint64_t instruction = 0;  // number of earlier instructions of the core; never decreases
  std::uint64_t code = 0;         // address of the access's code in the program; 0: unknown
  std::uint64_t value = 0;        // for a read: the value of up to 8 bytes, sign-extended
};

}  // namespace situ::model
