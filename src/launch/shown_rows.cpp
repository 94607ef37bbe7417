#include "launch/shown_rows.h"

#include <situ/base/error_code.h>

#include <algorithm>
#include <cstring>

#include "fabric/observe.h"
#include "os/bytes.h"

namespace situ::detail {
namespace {

struct piece_head {
  shown_part of;
  std::uint64_t offset;
};
constexpr std::size_t longest_piece = std::size_t{1} << 20;

[[noreturn]] void refuse() { throw_error(errc::bad_message, "a piece of a place's statistics that does not fit"); }

void check_placed(job_control& control, std::uint32_t place) {
  if (control.status(place).placed.count.load() > placed_table::most_rows) refuse();
}

}  // namespace

void send_rows(job_control& control, std::uint32_t place, const std::function<void(std::vector<std::byte>)>& send) {
  const auto send_range = [&](const shown_range& range) {
    const std::span<const std::byte> all = shown_bytes(control, place, range.of);
    const std::uint64_t end = range.begin + range.bytes;
    for (std::uint64_t at = range.begin; at < end; at += longest_piece - sizeof(piece_head)) {
      const std::size_t size = std::min<std::size_t>(longest_piece - sizeof(piece_head), end - at);
      const piece_head head{range.of, at};
      std::vector<std::byte> piece;
      piece.reserve(sizeof head + size);
      os::byte_writer{piece}.add(head).add_bytes(all.subspan(at, size));
      send(std::move(piece));
    }
  };
  send_range(shown_first(control));
  for (const shown_range& each : shown_after_first(control, place)) send_range(each);
}

void take_row_piece(job_control& control, std::uint32_t place, std::span<const std::byte> piece) {
  os::byte_reader from{piece};
  piece_head head{};
  if (!from.take(head) || head.of > shown_part::placed) refuse();
  piece = from.rest();
  const std::span<std::byte> to = shown_bytes(control, place, head.of);
  if (head.offset > to.size() || piece.size() > to.size() - head.offset) refuse();
  std::memcpy(to.data() + head.offset, piece.data(), piece.size());
  check_placed(control, place);
}

void fetch_rows(job_control& control, std::uint32_t place, const row_reader& read) {
  const auto fetch = [&](const shown_range& range) {
    read(range.of, range.begin, shown_bytes(control, place, range.of).subspan(range.begin, range.bytes));
  };
  fetch(shown_first(control));
  for (const shown_range& each : shown_after_first(control, place)) fetch(each);
  check_placed(control, place);
}

void forget_rows(job_control& control, std::uint32_t place) noexcept {
  const shown_range first = shown_first(control);
  std::memset(shown_bytes(control, place, first.of).data() + first.begin, 0, first.bytes);
  for (const shown_part each : {shown_part::names, shown_part::placed}) {
    const std::span<std::byte> all = shown_bytes(control, place, each);
    std::memset(all.data(), 0, all.size());
  }
}

void set_clock(job_control& control, std::uint32_t place, const clock_difference& clock) {
  const auto here = [&clock](std::uint64_t there) {
    const double passed = clock.last_ns <= clock.first_ns
                              ? 0
                              : static_cast<double>(static_cast<std::int64_t>(there - clock.first_ns)) /
                                    static_cast<double>(clock.last_ns - clock.first_ns);
    // Unsigned, and clamped: both times come from another host.
    const auto gone_ahead = static_cast<std::int64_t>(static_cast<std::uint64_t>(clock.ahead_at_last_ns) -
                                                      static_cast<std::uint64_t>(clock.ahead_at_first_ns));
    constexpr double most = 4e18;
    const double drift = std::clamp(passed * static_cast<double>(gone_ahead), -most, most);
    return there - static_cast<std::uint64_t>(clock.ahead_at_first_ns) -
           static_cast<std::uint64_t>(static_cast<std::int64_t>(drift));
  };
  const std::span<std::byte> row = control.observation_row(place);
  for (const std::span<const trace_event>& run : events_of_place(control, place).runs)
    for (const trace_event& each : run) {
      // The row belongs to this process.
      auto* const event =
          reinterpret_cast<trace_event*>(row.data() + (reinterpret_cast<const std::byte*>(&each) - row.data()));
      event->begin_ns = here(event->begin_ns);
      event->end_ns = here(event->end_ns);
    }
}

}  // namespace situ::detail
