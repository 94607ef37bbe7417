// Hostile frames between `situ run --hosts` and its agents. See frames_fuzz.h for what an input is.
#include "fuzz/frames_fuzz.h"

#include <situ/base/error.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "fabric/observe.h"
#include "launch/host_frames.h"
#include "launch/records.h"
#include "launch/shown_rows.h"
#include "launch/standing_places.h"
#include "memory/job.h"
#include "memory/place_status.h"
#include "os/bytes.h"

namespace situ::test {
namespace {

using namespace situ::detail;
using namespace situ::detail::cluster;

constexpr std::uint32_t places = 3;
constexpr std::uint16_t hosts = 2;
constexpr std::size_t most_traced = 64;  // events, so that an input is not mostly the writing of its trace

[[noreturn]] void find(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

job_control& shown() {
  static const job only = job::create(
      {.place_count = places, .observation_bytes = observation_bytes(places, true), .stats = true, .trace = true});
  return only.control();
}

std::size_t events_of(std::uint32_t place) {
  std::size_t events = 0;
  for (const std::span<const trace_event>& run : events_of_place(shown(), place).runs) events += run.size();
  return events;
}

template <class Unpack>
void take_packed(std::span<const std::byte> bytes, Unpack unpack_it) {
  if (!std::ranges::equal(pack(unpack_it(bytes)), bytes)) find("what is taken is not what packing it gives");
}

// Throws what refuses it.
void take_frame(const host_frame& frame) {
  const std::span<const std::byte> bytes{frame.bytes};
  switch (frame.what) {
    case frame_kind::hello: return take_packed(bytes, unpack_hello);
    case frame_kind::start: return take_packed(bytes, unpack_start);
    case frame_kind::address: return take_packed(bytes, [](auto all) { return unpack(all); });
    case frame_kind::ended: return take_packed(bytes, unpack_end);
    case frame_kind::signal: return static_cast<void>(unpack_signal(bytes));
    case frame_kind::addresses: {
      std::vector<host_record> records;
      const std::vector<std::vector<std::byte>> list = unpack_list(bytes);
      if (!std::ranges::equal(pack(list), bytes)) find("another list");
      for (const std::vector<std::byte>& each : list) records.push_back(unpack(each));
      if (!records.empty()) check_records(records);
      return;
    }
    case frame_kind::row:
      if (frame.place < places) take_row_piece(shown(), frame.place, bytes);
      return;
    case frame_kind::look: return take_packed(bytes, [](auto all) { return unpack_look(all, hosts); });
    case frame_kind::status:
      if (frame.place < places) take_status(shown(), frame.place, bytes);
      (void)format_report_json(shown(), "fuzzed");
      return;
    case frame_kind::clock: {
      if (frame.place >= places || bytes.size() != 4 * sizeof(std::uint64_t)) return;
      const auto number = [&](std::size_t i) { return os::byte_reader{bytes.subspan(8 * i)}.take<std::uint64_t>(); };
      if (events_of(frame.place) <= most_traced)
        set_clock(shown(), frame.place,
                  {number(0), static_cast<std::int64_t>(number(1)), number(2), static_cast<std::int64_t>(number(3))});
      return;
    }
    default: return;  // text
  }
}

// Its frames, until what comes is none.
std::vector<host_frame> frames_of(std::span<const std::byte> stream, std::size_t piece) {
  frame_reader reader;
  std::vector<host_frame> all;
  try {
    for (; !stream.empty(); stream = stream.subspan(std::min(piece, stream.size()))) {
      reader.take(stream.first(std::min(piece, stream.size())));
      while (std::optional<host_frame> frame = reader.next()) all.push_back(*std::move(frame));
    }
  } catch (const error& refused) {
    if (refused.code() != errc::bad_message) throw;
  }
  return all;
}

void add(std::vector<std::byte>& to, const std::vector<std::byte>& frame) {
  to.insert(to.end(), frame.begin(), frame.end());
}

template <class Head>
std::vector<std::byte> row_piece(shown_part of, std::uint64_t offset, const Head& bytes) {
  std::vector<std::byte> piece(16 + sizeof bytes);
  std::memcpy(piece.data(), &of, sizeof of);
  std::memcpy(piece.data() + 8, &offset, sizeof offset);
  std::memcpy(piece.data() + 16, &bytes, sizeof bytes);
  return piece;
}

}  // namespace

frames_outcome hear_frames(std::span<const std::byte> input) {
  frames_outcome outcome;
  if (input.empty()) return outcome;
  const std::span<const std::byte> stream = input.subspan(1);
  const std::vector<host_frame> all = frames_of(stream, std::max<std::size_t>(1, static_cast<std::size_t>(input[0])));
  const std::vector<host_frame> at_once = frames_of(stream, std::max<std::size_t>(1, stream.size()));
  if (!std::ranges::equal(all, at_once, [](const host_frame& a, const host_frame& b) {
        return a.what == b.what && a.place == b.place && a.bytes == b.bytes;
      }))
    find("other frames in other pieces");
  for (std::uint32_t place = 0; place < places; ++place) forget_rows(shown(), place);
  for (const host_frame& frame : all) try {
      take_frame(frame);
      ++outcome.taken;
    } catch (const error&) {
      ++outcome.refused;
    }
  (void)format_statistics(shown());
  std::size_t events = 0;
  for (std::uint32_t place = 0; place < places; ++place) events += events_of(place);
  if (events > 0 && events <= most_traced) write_trace(shown(), "/dev/null");
  return outcome;
}

std::vector<frames_seed> frames_seeds() {
  const host_record record{.name = "host1", .build = 7, .layout = 8, .page_bytes = 4096, .slice_shift = 40};
  std::vector<std::byte> launch{std::byte{255}};
  add(launch, pack_frame(frame_kind::hello, 0, pack(agent_hello{.build = 7})));
  add(launch, pack_frame(frame_kind::start, 0,
                         pack(agent_start{.host = 1,
                                          .homes = {0, 1, 1},
                                          .arguments = {"prog", "12"},
                                          .folder = "/home",
                                          .first_host = "host1",
                                          .variables = {"A=b"}})));
  add(launch, pack_frame(frame_kind::address, 0, pack(record)));
  add(launch, pack_frame(frame_kind::addresses, 0, pack(std::vector{pack(record), pack(record)})));

  std::vector<std::byte> end{std::byte{5}};
  add(end, pack_frame(frame_kind::output, 1, "\1a line\n"));
  add(end, pack_frame(frame_kind::lost, 2, "its link was cut"));
  const std::int32_t interrupt = 2;
  add(end, pack_frame(frame_kind::signal, 0, std::as_bytes(std::span{&interrupt, 1})));
  add(end, pack_frame(frame_kind::ended, 1, pack(place_end{.code = 3})));
  add(end, pack_frame(frame_kind::over, 0, std::string_view{}));
  add(end, pack_frame(frame_kind::note, 0, "no such file"));

  std::vector<std::byte> rows{std::byte{200}};
  const row_header header{.accesses = 0, .others = 2, .changes = 2, .at_last_access = 0, .extent = 4096};
  const std::uint64_t first = sizeof(row_header) + places * sizeof(pair_counts) + ring_capacity * sizeof(trace_event);
  const std::array events{trace_event{.begin_ns = 10, .end_ns = 20, .bytes = 8, .peer = 2, .kind = event_kind::put},
                          trace_event{.begin_ns = 30, .end_ns = 50, .peer = 1, .kind = event_kind::task}};
  add(rows, pack_frame(frame_kind::row, 1, row_piece(shown_part::row, 0, header)));
  add(rows, pack_frame(frame_kind::row, 1, row_piece(shown_part::row, first, events)));
  add(rows, pack_frame(frame_kind::row, 1, row_piece(shown_part::names, 0, std::uint64_t{1})));
  add(rows, pack_frame(frame_kind::row, 1, row_piece(shown_part::placed, 0, std::uint64_t{1})));
  const std::array<std::uint64_t, 4> clock{1, 1000, 100, 1001};
  add(rows, pack_frame(frame_kind::clock, 1, std::as_bytes(std::span{clock})));

  std::vector<std::byte> standing{std::byte{30}};
  add(standing, pack_frame(frame_kind::goes_on, 0, std::string_view{}));
  add(standing, pack_frame(frame_kind::look, 0, pack(host_look{.number = 1, .traffic = {{}, {3, 2}}})));
  add(standing, pack_frame(frame_kind::status, 1, pack_status(shown(), 1)));
  return {{"launch", launch, 4}, {"end", end, 6}, {"rows", rows, 5}, {"standing", standing, 3}};
}

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)situ::test::hear_frames(std::as_bytes(std::span{data, size}));
  return 0;
}
