// The record of an observed job: counts for each pair of places, and a trace of events.
//
// Each place writes its own row of the job's shared block, so the launcher can read all rows at any time, even a
// killed place's:
//
//   | row_header | pair_counts x place_count | trace_event x ring_capacity: accesses | the same: all other events |
//
// Both rings keep the newest events. Accesses have a ring of their own, and equal accesses that follow each other
// without a pause are one event: so a loop that polls displaces neither other events nor its own earlier ones. Events
// of one track (a stack) nest, since spans are scopes of the code on it. Counting costs nothing if it is off: an
// unobserved place never calls this code (place_context.h, invariant 2).
#pragma once

#include <situ/memory/detail/place_context.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "memory/job.h"
#include "os/host.h"

namespace situ::detail {

struct alignas(64) pair_counts {
  std::uint64_t puts, put_bytes;
  std::uint64_t gets, get_bytes;
  std::uint64_t messages, message_bytes;
  std::uint64_t waits, wait_ns;  // that set code aside; counted for the place itself if no other place is known
  std::uint64_t atomics;
};
static_assert(sizeof(pair_counts) == 128);

enum class event_kind : std::uint8_t {
  put,
  get,
  atomic,
  message,  // from its draft's last word to the moment when its receiver may see it
  handler,  // of a message that is no call
  task,
  barrier,
  wait,
  graph_here,
  graph_message,
  graph_pull,
  graph_offload,
  memory,  // not a span: `bytes` are open in the segment from here on
};

struct trace_event {
  std::uint64_t begin_ns = 0;  // steady clock of the host
  std::uint64_t end_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t repeats = 0;  // equal accesses that this event stands for
  std::uint32_t peer = 0;     // the other place; the place itself if there is no other
  // number of the message that was sent, or that caused the event; sender, channel and number identify a message
  std::uint32_t sequence = 0;
  std::uint32_t track = 0;  // place_context::track
  std::uint32_t name = 0;   // of a task's function, or of a wait's source file; place_status::names
  std::uint32_t line = 0;   // of a wait
  event_kind kind = event_kind::put;
  wait_kind waits_for = wait_kind::none;
  std::uint8_t is_reply = 0;  // of a message and its handler: the channel; no bool: it may come from elsewhere
  std::array<std::uint8_t, 5> spare{};
};
static_assert(sizeof(trace_event) == 56);

struct alignas(64) row_header {
  std::uint64_t accesses;  // recorded so far, including the ones that were overwritten
  std::uint64_t others;
  std::uint64_t changes;         // events recorded and spans begun: a change between two accesses separates them
  std::uint64_t at_last_access;  // `changes` after it
  std::uint64_t extent;          // of the segment, as last recorded
};

inline constexpr std::uint64_t ring_capacity = 1 << 17;  // 7 MiB, touched as it fills

// Returns the size of a place's row for a job of these options.
[[nodiscard]] std::uint64_t observation_bytes(std::uint32_t place_count, bool trace) noexcept;

// Returns the calling place's counts towards `peer`. pre: the context is observed.
[[nodiscard]] pair_counts& counts_towards(const place_context& context, std::uint32_t peer) noexcept;
// Returns all counts of a place. pre: the job is observed.
[[nodiscard]] std::span<const pair_counts> counts_of_place(job_control& control, std::uint32_t place) noexcept;
// The events of a place that are kept, accesses first; each ring in the order in which its events ended.
struct kept_events {
  std::array<std::span<const trace_event>, 4> runs;  // in two pieces for each ring
  std::uint64_t forgotten;
};
[[nodiscard]] kept_events events_of_place(job_control& control, std::uint32_t place) noexcept;

// For an observed context; does nothing if the job has no trace. Gives `event` its track, and the current time as its
// end if it has none.
void record_event(const place_context& context, trace_event event) noexcept;
void record_access(const place_context& context, event_kind kind, std::uint32_t peer, std::uint64_t bytes) noexcept;
// Notes that a span begins on the running stack; later events are within the span.
void note_span(const place_context& context) noexcept;

// Records a span from its construction to its end, if the place is observed.
class observed_span {
 public:
  observed_span(event_kind kind, std::uint32_t peer, std::uint64_t bytes = 0) noexcept
      : context_{*current},
        begin_ns_{context_.observed ? begin(context_) : 0},
        bytes_{bytes},
        peer_{peer},
        kind_{kind} {}
  observed_span(const observed_span&) = delete;
  observed_span& operator=(const observed_span&) = delete;
  ~observed_span() {
    if (context_.observed)
      record_event(context_, {.begin_ns = begin_ns_, .bytes = bytes_, .peer = peer_, .kind = kind_});
  }

  // Returns the time of a span that begins now.
  [[nodiscard]] static std::uint64_t begin(const place_context& context) noexcept {
    note_span(context);
    return steady_ns();
  }

 private:
  place_context& context_;
  std::uint64_t begin_ns_;
  std::uint64_t bytes_;
  std::uint32_t peer_;
  event_kind kind_;
};

// The parts of the record that an observed place shows: its row, the names of its events, and the bytes that it has
// placed in each memory.
enum class shown_part : std::uint64_t { row, names, placed };
inline constexpr std::uint64_t shown_parts = 3;
// Returns a part of a place's record. pre: `of` is a shown_part.
[[nodiscard]] std::span<std::byte> shown_bytes(job_control& control, std::uint32_t place, shown_part of) noexcept;
// A range of a part that has contents.
struct shown_range {
  shown_part of;
  std::uint64_t begin;
  std::uint64_t bytes;
};
// Returns the range of the counts and of the numbers of events.
[[nodiscard]] shown_range shown_first(const job_control& control) noexcept;
// Returns the other ranges, as the row_header tells them. pre: the job is observed.
[[nodiscard]] std::vector<shown_range> shown_after_first(job_control& control, std::uint32_t place);

// Returns a table of the bytes that each place has placed in each memory, by intent; empty if no intent was used.
// Thread-safe.
[[nodiscard]] std::string format_placed(job_control& control);
// Returns the tables of `situ run --stats`: the accesses for each pair of places, and format_placed(). The places may
// run on during the call.
[[nodiscard]] std::string format_statistics(job_control& control);
// Writes the Chrome/Perfetto trace of `--trace`, once the places have ended. Throws bad_file if the file cannot be
// written.
void write_trace(job_control& control, const std::string& path);

}  // namespace situ::detail
