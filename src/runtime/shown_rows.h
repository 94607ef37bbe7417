// What an observed job's places show of themselves, on its way from their host to who tells it: counts, memory, events
// and names. A launcher elsewhere copies it into a control block of its own, of as many places; where there is none,
// place 0 copies it into that of its host, where those of places elsewhere are empty. Of that one table and one trace
// are made, as on one host.
//
// Both ends are the same build, so the bytes are those of the structs; what a piece says of its place and length is
// checked. Of places that have ended. Thread-safe as the control block is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fabric/observe.h"
#include "memory/job.h"

namespace situ::detail {

// Calls `send` with pieces of at most 1 MiB.
void send_rows(job_control& control, std::uint32_t place, const std::function<void(std::vector<std::byte>)>& send);
// Throws bad_message for a piece that does not fit. pre: a place of the job.
void take_row_piece(job_control& control, std::uint32_t place, std::span<const std::byte> piece);

// Reads bytes of a part of that place into what it is given.
using row_reader = std::function<void(shown_part of, std::uint64_t offset, std::span<std::byte> to)>;
// What a place of another host shows, where it is asked for and not sent: the counts, and as many events as these say
// there are. Throws bad_message for what does not fit, and what `read` throws. pre: a place of the job, and the job is
// observed.
void fetch_rows(job_control& control, std::uint32_t place, const row_reader& read);
// As if that place had counted nothing. pre: as above.
void forget_rows(job_control& control, std::uint32_t place) noexcept;

// How far the clock of another host is ahead of this one's, at two times of that clock.
struct clock_difference {
  std::uint64_t first_ns = 0;
  std::int64_t ahead_at_first_ns = 0;
  std::uint64_t last_ns = 0;
  std::int64_t ahead_at_last_ns = 0;

  // It was there_ns there, and so far ahead.
  void look(std::uint64_t there_ns, std::int64_t ahead_ns) noexcept {
    if (first_ns == 0) {
      first_ns = there_ns;
      ahead_at_first_ns = ahead_ns;
    }
    last_ns = there_ns;
    ahead_at_last_ns = ahead_ns;
  }
};
// The times of a place's events become those of this host's clock.
void set_clock(job_control& control, std::uint32_t place, const clock_difference& clock);

}  // namespace situ::detail
