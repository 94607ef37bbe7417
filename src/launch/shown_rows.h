// Copies the rows of an observed job's places (counts, memory, events and names) from their host to the process that
// reports them. A launcher elsewhere copies them into a control block of its own, of as many places. In a job without a
// launcher, place 0 copies them into the control block of its host, in which the rows of places elsewhere are empty
// until then. One table and one trace are then made of that block, as on one host.
//
// Both ends are the same build, so the bytes are those of the structs; the place and length in a piece are checked. The
// places must have ended. Thread-safe as the control block is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace situ::detail {

enum class shown_part : std::uint64_t;  // fabric/observe.h
struct job_control;

// Calls `send` with pieces of at most 1 MiB.
void send_rows(job_control& control, std::uint32_t place, const std::function<void(std::vector<std::byte>)>& send);
// Stores a piece. Throws bad_message for a piece that does not fit. pre: a place of the job.
void take_row_piece(job_control& control, std::uint32_t place, std::span<const std::byte> piece);

// Reads bytes of a part of a place's rows into `to`.
using row_reader = std::function<void(shown_part of, std::uint64_t offset, std::span<std::byte> to)>;
// Fetches the rows of a place of another host, instead of having them sent: the counts, and as many events as the
// counts say. Throws bad_message for data that do not fit, and what `read` throws. pre: a place of the job, and the job
// is observed.
void fetch_rows(job_control& control, std::uint32_t place, const row_reader& read);
// Clears the rows, as if that place had counted nothing. pre: as above.
void forget_rows(job_control& control, std::uint32_t place) noexcept;

// The lead of another host's clock over this one's, at two times of that clock.
struct clock_difference {
  std::uint64_t first_ns = 0;
  std::int64_t ahead_at_first_ns = 0;
  std::uint64_t last_ns = 0;
  std::int64_t ahead_at_last_ns = 0;

  // Notes that the other clock showed there_ns and was ahead_ns ahead.
  void look(std::uint64_t there_ns, std::int64_t ahead_ns) noexcept {
    if (first_ns == 0) {
      first_ns = there_ns;
      ahead_at_first_ns = ahead_ns;
    }
    last_ns = there_ns;
    ahead_at_last_ns = ahead_ns;
  }
};
// Converts the times of a place's events to this host's clock.
void set_clock(job_control& control, std::uint32_t place, const clock_difference& clock);

}  // namespace situ::detail
