// What an observed place records: counts for each other place, and events of a trace. Reports are made of it by
// src/fabric/observe.h.
//
// An unobserved place calls none of this (place_context.h, invariant 2). Belongs to the place's thread.
#pragma once

#include <situ/memory/detail/place_context.h>
#include <situ/memory/detail/wait_note.h>

#include <array>
#include <cstdint>

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

// Returns the calling place's counts towards `peer`. pre: the context is observed.
[[nodiscard]] pair_counts& counts_towards(const place_context& context, std::uint32_t peer) noexcept;

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
  [[nodiscard]] static std::uint64_t begin(const place_context& context) noexcept;

 private:
  place_context& context_;
  std::uint64_t begin_ns_;
  std::uint64_t bytes_;
  std::uint32_t peer_;
  event_kind kind_;
};

}  // namespace situ::detail
