// What an observed job's places show of themselves, on its way from their host to a launcher elsewhere: counts, memory,
// events and names. The launcher copies it into a control block of its own, of as many places, and makes of that one
// table and one trace, as on one host.
//
// Both ends are the same build, so the bytes are those of the structs; what a piece says of its place and length is
// checked. Of places that have ended. Thread-safe as the control block is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "memory/job.h"

namespace situ::detail {

// Calls `send` with pieces of at most 1 MiB.
void send_rows(job_control& control, std::uint32_t place, const std::function<void(std::vector<std::byte>)>& send);
// Throws bad_message for a piece that does not fit. pre: a place of the job.
void take_row_piece(job_control& control, std::uint32_t place, std::span<const std::byte> piece);

// How far the clock of another host is ahead of this one's, at two times of that clock.
struct clock_difference {
  std::uint64_t first_ns = 0;
  std::int64_t ahead_at_first_ns = 0;
  std::uint64_t last_ns = 0;
  std::int64_t ahead_at_last_ns = 0;
};
// The times of a place's events become those of this host's clock.
void set_clock(job_control& control, std::uint32_t place, const clock_difference& clock);

}  // namespace situ::detail
