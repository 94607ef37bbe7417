#include "runtime/shown_rows.h"

#include <situ/base/error.h>

#include <algorithm>
#include <cstring>

#include "fabric/observe.h"
#include "memory/place_status.h"

namespace situ::detail {
namespace {

enum class part : std::uint64_t { row, names, placed };
struct piece_head {
  part of;
  std::uint64_t offset;
};
constexpr std::size_t longest_piece = std::size_t{1} << 20;

std::span<std::byte> bytes_of(job_control& control, std::uint32_t place, part of) {
  place_status& status = control.status(place);
  switch (of) {
    case part::row: return control.observation_row(place);
    case part::names: return {reinterpret_cast<std::byte*>(&status.names), sizeof status.names};
    case part::placed: return {reinterpret_cast<std::byte*>(&status.placed), sizeof status.placed};
  }
  return {};
}

}  // namespace

void send_rows(job_control& control, std::uint32_t place, const std::function<void(std::vector<std::byte>)>& send) {
  const auto send_part = [&](part of, const void* first, std::size_t bytes) {
    const std::span<const std::byte> all = bytes_of(control, place, of);
    const auto begin = static_cast<std::size_t>(static_cast<const std::byte*>(first) - all.data());
    for (std::size_t at = begin; at < begin + bytes; at += longest_piece - sizeof(piece_head)) {
      const std::size_t size = std::min(longest_piece - sizeof(piece_head), begin + bytes - at);
      const piece_head head{of, at};
      std::vector<std::byte> piece(sizeof head + size);
      std::memcpy(piece.data(), &head, sizeof head);
      std::memcpy(piece.data() + sizeof head, all.data() + at, size);
      send(std::move(piece));
    }
  };
  const std::span<const pair_counts> counts = counts_of_place(control, place);
  const std::span<const std::byte> row = control.observation_row(place);
  send_part(part::row, row.data(), sizeof(row_header) + counts.size_bytes());
  if (control.trace)
    for (const std::span<const trace_event>& run : events_of_place(control, place).runs)
      send_part(part::row, run.data(), run.size_bytes());
  for (const part each : {part::names, part::placed}) {
    const std::span<const std::byte> all = bytes_of(control, place, each);
    send_part(each, all.data(), all.size());
  }
}

void take_row_piece(job_control& control, std::uint32_t place, std::span<const std::byte> piece) {
  piece_head head{};
  const auto refuse = [] { throw_error(errc::bad_message, "a piece of a place's statistics that does not fit"); };
  if (piece.size() < sizeof head) refuse();
  std::memcpy(&head, piece.data(), sizeof head);
  piece = piece.subspan(sizeof head);
  if (head.of > part::placed) refuse();
  const std::span<std::byte> to = bytes_of(control, place, head.of);
  if (head.offset > to.size() || piece.size() > to.size() - head.offset) refuse();
  std::memcpy(to.data() + head.offset, piece.data(), piece.size());
  const placed_table& placed = control.status(place).placed;
  if (placed.count.load() > placed_table::most_rows) refuse();
}

void set_clock(job_control& control, std::uint32_t place, const clock_difference& clock) {
  const auto here = [&clock](std::uint64_t there) {
    const double passed = clock.last_ns <= clock.first_ns
                              ? 0
                              : static_cast<double>(static_cast<std::int64_t>(there - clock.first_ns)) /
                                    static_cast<double>(clock.last_ns - clock.first_ns);
    const double drift = passed * static_cast<double>(clock.ahead_at_last_ns - clock.ahead_at_first_ns);
    return there - static_cast<std::uint64_t>(clock.ahead_at_first_ns + static_cast<std::int64_t>(drift));
  };
  const std::span<std::byte> row = control.observation_row(place);
  for (const std::span<const trace_event>& run : events_of_place(control, place).runs)
    for (const trace_event& each : run) {
      // The row is this process's own.
      auto* const event =
          reinterpret_cast<trace_event*>(row.data() + (reinterpret_cast<const std::byte*>(&each) - row.data()));
      event->begin_ns = here(event->begin_ns);
      event->end_ns = here(event->end_ns);
    }
}

}  // namespace situ::detail
