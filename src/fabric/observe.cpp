#include "fabric/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "os/host.h"

namespace situ::detail {
namespace {

// Longest pause between two equal accesses that count as one event: a loop's turn is far shorter; a pause that a
// person would look for is longer.
constexpr std::uint64_t longest_pause_ns = 10'000;

row_header& header_of(job_control& control, std::uint32_t place) noexcept {
  return *reinterpret_cast<row_header*>(control.observation_row(place).data());
}
pair_counts* counts_of(job_control& control, std::uint32_t place) noexcept {
  return reinterpret_cast<pair_counts*>(control.observation_row(place).data() + sizeof(row_header));
}
trace_event* accesses_of(job_control& control, std::uint32_t place) noexcept {
  return reinterpret_cast<trace_event*>(counts_of(control, place) + control.place_count);
}
trace_event* others_of(job_control& control, std::uint32_t place) noexcept {
  return accesses_of(control, place) + ring_capacity;
}

void add_other(job_control& control, std::uint32_t place, const trace_event& event) noexcept {
  row_header& header = header_of(control, place);
  others_of(control, place)[header.others++ % ring_capacity] = event;
  ++header.changes;
}

// Segments grow seldom, so a look with each event finds the growth soon enough.
void record_growth(const place_context& context, std::uint64_t now) noexcept {
  row_header& header = header_of(*context.job, context.place);
  const std::uint64_t extent = context.job->slot(context.place).extent.load(std::memory_order_relaxed);
  if (extent == header.extent) return;
  header.extent = extent;
  add_other(*context.job, context.place,
            {.begin_ns = now, .end_ns = now, .bytes = extent, .peer = context.place, .kind = event_kind::memory});
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace

std::uint64_t observation_bytes(std::uint32_t place_count, bool trace) noexcept {
  return sizeof(row_header) + place_count * sizeof(pair_counts) + (trace ? 2 * ring_capacity * sizeof(trace_event) : 0);
}

pair_counts& counts_towards(const place_context& context, std::uint32_t peer) noexcept {
  return counts_of(*context.job, context.place)[peer];
}

std::span<const pair_counts> counts_of_place(job_control& control, std::uint32_t place) noexcept {
  return {counts_of(control, place), control.place_count};
}

kept_events events_of_place(job_control& control, std::uint32_t place) noexcept {
  const row_header& header = header_of(control, place);
  kept_events kept{};
  const auto add = [&](std::size_t run, const trace_event* first, std::uint64_t count) {
    const std::uint64_t newest = count % ring_capacity;
    const bool is_full = count > ring_capacity;
    if (is_full) kept.runs[run] = {first + newest, first + ring_capacity};
    kept.runs[run + 1] = {first, first + (is_full ? newest : count)};
    kept.forgotten += is_full ? count - ring_capacity : 0;
  };
  add(0, accesses_of(control, place), header.accesses);
  add(2, others_of(control, place), header.others);
  return kept;
}

std::span<std::byte> shown_bytes(job_control& control, std::uint32_t place, shown_part of) noexcept {
  place_status& status = control.status(place);
  switch (of) {
    case shown_part::row: return control.observation_row(place);
    case shown_part::names: return {reinterpret_cast<std::byte*>(&status.names), sizeof status.names};
    case shown_part::placed: return {reinterpret_cast<std::byte*>(&status.placed), sizeof status.placed};
  }
  return {};
}

shown_range shown_first(const job_control& control) noexcept {
  return {shown_part::row, 0, sizeof(row_header) + control.place_count * sizeof(pair_counts)};
}

std::vector<shown_range> shown_after_first(job_control& control, std::uint32_t place) {
  std::vector<shown_range> found;
  const std::byte* const row = control.observation_row(place).data();
  if (control.trace)
    for (const std::span<const trace_event>& run : events_of_place(control, place).runs) {
      if (run.empty()) continue;
      const auto begin = reinterpret_cast<const std::byte*>(run.data()) - row;
      found.push_back({shown_part::row, static_cast<std::uint64_t>(begin), run.size_bytes()});
    }
  for (const shown_part each : {shown_part::names, shown_part::placed})
    found.push_back({each, 0, shown_bytes(control, place, each).size()});
  return found;
}

std::uint64_t observed_span::begin(const place_context& context) noexcept {
  note_span(context);
  return steady_ns();
}

void note_span(const place_context& context) noexcept {
  if (context.job->trace) ++header_of(*context.job, context.place).changes;
}

void record_event(const place_context& context, trace_event event) noexcept {
  if (!context.job->trace) return;
  if (event.end_ns == 0) event.end_ns = steady_ns();
  event.track = context.track;
  record_growth(context, event.end_ns);
  add_other(*context.job, context.place, event);
}

void record_access(const place_context& context, event_kind kind, std::uint32_t peer, std::uint64_t bytes) noexcept {
  if (!context.job->trace) return;
  row_header& header = header_of(*context.job, context.place);
  trace_event* const ring = accesses_of(*context.job, context.place);
  const std::uint64_t now = steady_ns();
  if (header.accesses != 0 && header.changes == header.at_last_access) {
    trace_event& last = ring[(header.accesses - 1) % ring_capacity];
    if (last.kind == kind && last.peer == peer && last.bytes == bytes && last.track == context.track &&
        now - last.end_ns <= longest_pause_ns) {
      ++last.repeats;
      last.end_ns = now + 1;
      return;
    }
  }
  record_growth(context, now);
  ring[header.accesses++ % ring_capacity] = {.begin_ns = now,
                                             .end_ns = now + 1,
                                             .bytes = bytes,
                                             .repeats = 1,
                                             .peer = peer,
                                             .track = context.track,
                                             .kind = kind};
  header.at_last_access = ++header.changes;
}

std::string format_statistics(job_control& control) {
  std::string table =
      fmt::format("{:>5} {:>5} {:>12} {:>11} {:>12} {:>11} {:>12} {:>11} {:>9} {:>11} {:>12}\n", "from", "to", "puts",
                  "bytes", "gets", "bytes", "messages", "bytes", "waits", "waited", "atomics");
  for (std::uint32_t from = 0; from < control.place_count; ++from) {
    const pair_counts* counts = counts_of(control, from);
    for (std::uint32_t to = 0; to < control.place_count; ++to) {
      const pair_counts& c = counts[to];
      if (c.puts + c.gets + c.messages + c.waits + c.atomics == 0) continue;
      table += fmt::format("{:>5} {:>5} {:>12} {:>11} {:>12} {:>11} {:>12} {:>11} {:>9} {:>8.3f} ms {:>12}\n", from, to,
                           c.puts, format_bytes(c.put_bytes), c.gets, format_bytes(c.get_bytes), c.messages,
                           format_bytes(c.message_bytes), c.waits, static_cast<double>(c.wait_ns) * 1e-6, c.atomics);
    }
  }
  return table + format_placed(control);
}

std::string format_placed(job_control& control) {
  std::string table;
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    const placed_table& placed = control.status(place).placed;
    for (const placed_row& row : placed.all()) {
      if (row.most == 0) continue;
      if (table.empty())
        table = fmt::format("\n{:>5}  {:<16} {:<20} {:>11} {:>11}\n", "place", "intent", "memory", "now", "most");
      table += fmt::format("{:>5}  {:<16} {:<20} {:>11} {:>11}\n", place, row.intent_name(), row.memory_name(),
                           format_bytes(row.bytes), format_bytes(row.most));
    }
    if (placed.is_full != 0) table += fmt::format("{:>5}  and in memories for which there is no row\n", place);
  }
  return table;
}

}  // namespace situ::detail
