#include "fabric/observe.h"

#include "base/descriptor.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <system_error>

namespace situ::detail {
namespace {

row_header& header_of(job_control& control, std::uint32_t place) noexcept {
  return *reinterpret_cast<row_header*>(control.observation_row(place).data());
}
pair_counts* counts_of(job_control& control, std::uint32_t place) noexcept {
  return reinterpret_cast<pair_counts*>(control.observation_row(place).data() + sizeof(row_header));
}
trace_event* events_of(job_control& control, std::uint32_t place) noexcept {
  return reinterpret_cast<trace_event*>(counts_of(control, place) + control.place_count);
}

std::string_view label(event_kind kind) noexcept {
  switch (kind) {
    case event_kind::put: return "put";
    case event_kind::get: return "get";
    case event_kind::message: return "message";
    case event_kind::task: return "task";
    case event_kind::barrier: return "barrier";
    case event_kind::wait: return "wait";
    case event_kind::graph_here: return "graph copy";
    case event_kind::graph_message: return "graph by message";
    case event_kind::graph_pull: return "graph by pull";
    case event_kind::graph_offload: return "graph by offload";
  }
  return "?";
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
  return sizeof(row_header) + place_count * sizeof(pair_counts) +
         (trace ? trace_event_capacity * sizeof(trace_event) : 0);
}

pair_counts& counts_towards(const place_context& context, std::uint32_t peer) noexcept {
  return counts_of(*context.job, context.place)[peer];
}

void record_event(const place_context& context, event_kind kind, std::uint32_t peer, std::uint64_t bytes,
                  std::uint64_t begin_ns) noexcept {
  if (!context.job->trace) return;
  row_header& header = header_of(*context.job, context.place);
  const std::uint64_t index = header.events++;
  if (index >= trace_event_capacity) return;
  const std::uint64_t duration =
      std::min<std::uint64_t>(steady_ns() - begin_ns, std::numeric_limits<std::uint32_t>::max());
  events_of(*context.job, context.place)[index] = {.begin_ns = begin_ns,
                                                   .bytes = bytes,
                                                   .duration_ns = static_cast<std::uint32_t>(duration),
                                                   .peer = peer,
                                                   .kind = kind,
                                                   .spare = {}};
}

void observed_span::finish() noexcept {
  if (kind_ == event_kind::wait) {
    pair_counts& counts = counts_towards(context_, peer_);
    ++counts.waits;
    counts.wait_ns += steady_ns() - begin_ns_;
  }
  record_event(context_, kind_, peer_, bytes_, begin_ns_);
}

std::string format_statistics(job_control& control) {
  std::string table = fmt::format("{:>5} {:>5} {:>12} {:>11} {:>12} {:>11} {:>12} {:>11} {:>9} {:>11}\n", "from", "to",
                                  "puts", "bytes", "gets", "bytes", "messages", "bytes", "waits", "waited");
  for (std::uint32_t from = 0; from < control.place_count; ++from) {
    const pair_counts* counts = counts_of(control, from);
    for (std::uint32_t to = 0; to < control.place_count; ++to) {
      const pair_counts& c = counts[to];
      if (c.puts + c.gets + c.messages + c.waits == 0) continue;
      table += fmt::format("{:>5} {:>5} {:>12} {:>11} {:>12} {:>11} {:>12} {:>11} {:>9} {:>8.3f} ms\n", from, to,
                           c.puts, format_bytes(c.put_bytes), c.gets, format_bytes(c.get_bytes), c.messages,
                           format_bytes(c.message_bytes), c.waits, static_cast<double>(c.wait_ns) * 1e-6);
    }
  }
  return table;
}

// The format is the "Trace Event Format": complete events ("ph":"X"), times in microseconds.
void write_trace(job_control& control, const std::string& path) {
  const standard_streams_filled kept_off;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "we"), &std::fclose};
  if (!file)
    throw_error(errc::bad_file,
                fmt::format("cannot write the trace to {}: {}", path, std::generic_category().message(errno)));
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  const auto kept = [&](std::uint32_t place) {
    return std::min(header_of(control, place).events, trace_event_capacity);
  };
  for (std::uint32_t place = 0; place < control.place_count; ++place)
    for (std::uint64_t i = 0; i < kept(place); ++i) first = std::min(first, events_of(control, place)[i].begin_ns);
  fmt::print(file.get(), "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    fmt::print(file.get(), "{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"place {}\"}}}}",
               place == 0 ? "" : ",\n", place, place);
    for (std::uint64_t i = 0; i < kept(place); ++i) {
      const trace_event& e = events_of(control, place)[i];
      fmt::print(file.get(),
                 ",\n{{\"ph\":\"X\",\"name\":\"{}\",\"pid\":{},\"tid\":0,\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{"
                 "\"peer\":{},\"bytes\":{}}}}}",
                 label(e.kind), place, static_cast<double>(e.begin_ns - first) * 1e-3,
                 static_cast<double>(e.duration_ns) * 1e-3, e.peer, e.bytes);
    }
    const std::uint64_t events = header_of(control, place).events;
    if (events > trace_event_capacity)
      fmt::print(
          file.get(),
          ",\n{{\"ph\":\"I\",\"name\":\"{} further events were not kept\",\"pid\":{},\"tid\":0,\"ts\":0,\"s\":\"p\"}}",
          events - trace_event_capacity, place);
  }
  fmt::print(file.get(), "\n]}}\n");
  if (std::fflush(file.get()) != 0 || std::ferror(file.get()) != 0)
    throw_error(errc::bad_file, fmt::format("cannot write the trace to {}: the disk may be full", path));
}

}  // namespace situ::detail
