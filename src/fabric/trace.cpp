// The trace of a job as a file: Chrome's "Trace Event Format", which ui.perfetto.dev reads.
//
//   a place      a process ("pid"), its stacks are threads ("tid" 1: main, others: workers)
//   a span       a complete event ("ph":"X"); those of one stack nest, and are written outer ones first, since Perfetto
//                drops in silence what overlaps without nesting
//   a message    a flow ("s" in the slice that sends, "f" in the one that handles), if both ends are kept; its id is a
//                number, since Perfetto drops others
//   counters     "ph":"C": bytes sent, and bytes open in the segment
#include "fabric/observe.h"

#include "os/descriptor.h"
#include "os/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace situ::detail {
namespace {

constexpr std::uint64_t counter_points = 1000;  // for each counter over the whole trace

std::string_view label(event_kind kind) noexcept {
  switch (kind) {
    case event_kind::put: return "put";
    case event_kind::get: return "get";
    case event_kind::atomic: return "atomic";
    case event_kind::message: return "message";
    case event_kind::handler: return "handler";
    case event_kind::task: return "task";
    case event_kind::barrier: return "barrier";
    case event_kind::wait: return "wait";
    case event_kind::graph_here: return "graph copy";
    case event_kind::graph_message: return "graph by message";
    case event_kind::graph_pull: return "graph by pull";
    case event_kind::graph_offload: return "graph by offload";
    case event_kind::memory: return "memory";
  }
  return "?";
}

std::string_view reason(wait_kind kind) noexcept {
  switch (kind) {
    case wait_kind::turn: return "wait: progress()";
    case wait_kind::word: return "wait: word";
    case wait_kind::future: return "wait: future";
    case wait_kind::call: return "wait: answer";
    case wait_kind::finish: return "wait: finish";
    case wait_kind::barrier: return "wait: barrier";
    case wait_kind::collective: return "wait: collective";
    case wait_kind::room: return "wait: room in the channel";
    case wait_kind::graph: return "wait: graph";
    case wait_kind::leave: return "wait: end of the runtime";
    case wait_kind::survivors: return "wait: survivors";
    default: return "wait";
  }
}

// Identifies a message in the whole job.
struct message_key {
  std::uint32_t from, to, sequence;
  bool is_reply;
  friend bool operator==(const message_key&, const message_key&) = default;
};
struct message_key_hash {
  std::size_t operator()(const message_key& key) const noexcept {
    std::uint64_t hash = std::uint64_t{key.from} << 32 | key.to;
    hash = hash * 0x9e3779b97f4a7c15 ^ (std::uint64_t{key.sequence} << 1 | (key.is_reply ? 1 : 0));
    return hash * 0xff51afd7ed558ccd >> 16;
  }
};
using message_keys = std::unordered_set<message_key, message_key_hash>;
using message_numbers = std::unordered_map<message_key, std::size_t, message_key_hash>;

bool is_sent(const trace_event& e) noexcept { return e.kind == event_kind::message; }
bool is_received(const trace_event& e) noexcept {
  return e.sequence != 0 && (e.kind == event_kind::handler || e.kind == event_kind::task);
}
message_key key_of(const trace_event& e, std::uint32_t place) noexcept {
  return is_sent(e) ? message_key{place, e.peer, e.sequence, e.is_reply != 0}
                    : message_key{e.peer, place, e.sequence, e.is_reply != 0};
}

// Returns a place's events, by track, outer ones first, all nested.
std::vector<trace_event> nested_events(job_control& control, std::uint32_t place) {
  std::vector<trace_event> events;
  // Inner spans end, and are recorded, before outer ones: in reverse order, outer spans come first among equal times.
  const kept_events kept = events_of_place(control, place);
  for (std::size_t run = kept.runs.size(); run-- > 0;)
    std::copy(kept.runs[run].rbegin(), kept.runs[run].rend(), std::back_inserter(events));
  for (trace_event& each : events) each.end_ns = std::max(each.end_ns, each.begin_ns + 1);
  std::stable_sort(events.begin(), events.end(), [](const trace_event& a, const trace_event& b) {
    return std::tuple{a.track, a.begin_ns, ~a.end_ns} < std::tuple{b.track, b.begin_ns, ~b.end_ns};
  });
  std::vector<std::uint64_t> ends;
  std::uint32_t track = 0;
  for (trace_event& each : events) {
    if (each.kind == event_kind::memory) continue;
    if (std::exchange(track, each.track) != each.track) ends.clear();
    while (!ends.empty() && ends.back() <= each.begin_ns) ends.pop_back();
    // The clocks of two processors may differ by some nanoseconds.
    if (!ends.empty()) each.end_ns = std::min(each.end_ns, ends.back());
    ends.push_back(each.end_ns);
  }
  return events;
}

class trace_file {
 public:
  trace_file(job_control& control, const std::string& path) : control_{control}, file_{path} {}

  void write() {
    std::vector<std::vector<trace_event>> events;
    for (std::uint32_t place = 0; place < control_.place_count; ++place) {
      events.push_back(nested_events(control_, place));
      for (const trace_event& each : events.back()) {
        first_ns_ = std::min(first_ns_, each.begin_ns);
        last_ns_ = std::max(last_ns_, each.end_ns);
        if (is_sent(each)) sent_.insert(key_of(each, place));
      }
    }
    for (std::uint32_t place = 0; place < control_.place_count; ++place)
      for (const trace_event& each : events[place])
        if (is_received(each) && sent_.contains(key_of(each, place)))
          flows_.emplace(key_of(each, place), flows_.size() + 1);
    file_.print("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (std::uint32_t place = 0; place < control_.place_count; ++place) write_place(place, events[place]);
    file_.print("\n]}}\n");
    file_.close();
  }

 private:
  void write_place(std::uint32_t place, const std::vector<trace_event>& events) {
    metadata(place, 0, "process_name", fmt::format("\"name\":\"place {}\"", place));
    if (const std::uint64_t forgotten = events_of_place(control_, place).forgotten; forgotten != 0)
      metadata(place, 0, "process_labels", fmt::format("\"labels\":\"{} older events are not kept\"", forgotten));
    std::uint32_t named = 0;  // tracks so far, and 1
    for (const trace_event& each : events) {
      if (each.kind == event_kind::memory) {
        counter(place, "open memory", each.begin_ns, each.bytes);
        continue;
      }
      if (each.track + 1 > named) {
        named = each.track + 1;
        metadata(place, tid_of(each), "thread_name",
                 each.track == 0 ? "\"name\":\"main\"" : fmt::format("\"name\":\"worker {}\"", each.track));
      }
      write_event(place, each);
    }
    write_bytes(place, events);
  }

  void write_event(std::uint32_t place, const trace_event& e) {
    const auto& names = control_.status(place).names;
    const std::string_view name = names[e.name];
    std::string shown{label(e.kind)};
    std::string details = fmt::format("\"peer\":{},\"bytes\":{}", e.peer, e.bytes);
    if (e.kind == event_kind::task && !name.empty()) shown = escaped(name);
    if (e.kind == event_kind::wait) {
      shown = reason(e.waits_for);
      if (!name.empty()) details += fmt::format(",\"at\":\"{}:{}\"", escaped(name), e.line);
    }
    if (e.kind == event_kind::handler && e.is_reply != 0) shown = "handler of a reply";
    if (e.kind == event_kind::message && e.is_reply != 0) shown = "reply";
    if (e.repeats > 1) shown += fmt::format(" x {}", e.repeats);
    file_.print("{}{{\"ph\":\"X\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}}}",
                separator(), shown, place, tid_of(e), time_of(e.begin_ns - first_ns_), time_of(e.end_ns - e.begin_ns),
                details);
    if (is_sent(e) || is_received(e)) write_flow(place, e);
  }

  void write_flow(std::uint32_t place, const trace_event& e) {
    const auto flow = flows_.find(key_of(e, place));
    if (flow == flows_.end()) return;
    file_.print(
        "{}{{\"ph\":\"{}\",\"name\":\"message\",\"cat\":\"message\",\"id\":{},\"pid\":{},\"tid\":{},\"ts\":{}{}}}",
        separator(), is_sent(e) ? "s" : "f", flow->second, place, tid_of(e), time_of(e.begin_ns - first_ns_),
        is_sent(e) ? "" : ",\"bp\":\"e\"");
  }

  // Bytes that the place has sent or put so far, of the events that are kept.
  void write_bytes(std::uint32_t place, const std::vector<trace_event>& events) {
    std::vector<const trace_event*> sending;
    for (const trace_event& each : events)
      if (is_sent(each) || each.kind == event_kind::put) sending.push_back(&each);
    std::stable_sort(sending.begin(), sending.end(),
                     [](const trace_event* a, const trace_event* b) { return a->begin_ns < b->begin_ns; });
    const std::uint64_t step = (last_ns_ - first_ns_) / counter_points + 1;
    std::uint64_t bytes = 0;
    std::uint64_t next = 0;
    for (const trace_event* const each : sending) {
      bytes += each->bytes * std::max(each->repeats, 1U);
      if (each->begin_ns < next && each != sending.back()) continue;
      next = each->begin_ns + step;
      counter(place, "bytes sent", each->begin_ns, bytes);
    }
  }

  void counter(std::uint32_t place, std::string_view name, std::uint64_t at_ns, std::uint64_t value) {
    file_.print("{}{{\"ph\":\"C\",\"name\":\"{}\",\"pid\":{},\"tid\":0,\"ts\":{},\"args\":{{\"bytes\":{}}}}}",
                separator(), name, place, time_of(at_ns - first_ns_), value);
  }
  void metadata(std::uint32_t place, std::uint32_t tid, std::string_view name, const std::string& arguments) {
    file_.print("{}{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{{}}}}}", separator(), name, place,
                tid, arguments);
  }

  std::string_view separator() noexcept { return std::exchange(separator_, ",\n"); }
  static std::uint32_t tid_of(const trace_event& e) noexcept { return e.track + 1; }
  // In microseconds, as the format requires. A reader multiplies by 1000, and truncates or rounds: a quarter of a
  // nanosecond more keeps the number either way.
  static std::string time_of(std::uint64_t ns) { return fmt::format("{}.{:03}25", ns / 1000, ns % 1000); }
  static std::string escaped(std::string_view text) {
    std::string made;
    for (const char c : text) {
      if (c == '"' || c == '\\') made += '\\';
      made += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return made;
  }

  job_control& control_;
  output_file file_;
  std::uint64_t first_ns_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last_ns_ = 0;
  std::string_view separator_;
  message_keys sent_;
  message_numbers flows_;  // of messages of which both ends are kept
};

}  // namespace

void write_trace(job_control& control, const std::string& path) {
  const standard_streams_filled kept_off;
  trace_file{control, path}.write();
}

}  // namespace situ::detail
