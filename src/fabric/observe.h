// What an observed job remembers: counts for each pair of places, and a trace of events.
//
// Each place writes its own row of the job's shared block, so the launcher can read them all afterwards, even a killed
// place's:
//
//   | row_header | pair_counts x place_count | trace_event x event_capacity |
//
// Counting costs nothing where it is off: an unobserved place never comes here (place_context.h, invariant 2).
#pragma once

#include <situ/memory/detail/place_context.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/host.h"
#include "memory/job.h"

namespace situ::detail {

struct alignas(64) pair_counts {
  std::uint64_t puts, put_bytes;
  std::uint64_t gets, get_bytes;  // atomics count as gets of their size
  std::uint64_t messages, message_bytes;
  std::uint64_t waits, wait_ns;  // for room in the channel, or for an answer
};
static_assert(sizeof(pair_counts) == 64);

enum class event_kind : std::uint8_t {
  put,
  get,
  message,
  task,
  barrier,
  wait,
  graph_here,
  graph_message,
  graph_pull,
  graph_offload
};

struct trace_event {
  std::uint64_t begin_ns;  // steady clock of the host
  std::uint64_t bytes;
  std::uint32_t duration_ns;
  std::uint32_t peer;  // the other place; its own where there is none
  event_kind kind;
  std::array<std::uint8_t, 7> spare;
};
static_assert(sizeof(trace_event) == 32);

struct alignas(64) row_header {
  std::uint64_t events;  // recorded, whether kept or not: beyond trace_event_capacity they are only counted
};

inline constexpr std::uint64_t trace_event_capacity = 1 << 18;  // 8 MiB a place, touched as it fills

// Size of a place's row for a job of these options.
[[nodiscard]] std::uint64_t observation_bytes(std::uint32_t place_count, bool trace) noexcept;

// The calling place's counts towards `peer`. pre: the context is observed.
[[nodiscard]] pair_counts& counts_towards(const place_context& context, std::uint32_t peer) noexcept;
void record_event(const place_context& context, event_kind kind, std::uint32_t peer, std::uint64_t bytes,
                  std::uint64_t begin_ns) noexcept;

// Records a span from its construction to its end, if the place is observed.
class observed_span {
 public:
  observed_span(event_kind kind, std::uint32_t peer, std::uint64_t bytes = 0) noexcept
      : context_{*current}, begin_ns_{context_.observed ? steady_ns() : 0}, bytes_{bytes}, peer_{peer}, kind_{kind} {}
  observed_span(const observed_span&) = delete;
  observed_span& operator=(const observed_span&) = delete;
  ~observed_span() {
    if (context_.observed) finish();
  }

 private:
  void finish() noexcept;
  place_context& context_;
  std::uint64_t begin_ns_;
  std::uint64_t bytes_;
  std::uint32_t peer_;
  event_kind kind_;
};

// For the launcher, after the run: the table of `situ run --stats`, and the Chrome/Perfetto trace of `--trace`.
[[nodiscard]] std::string format_statistics(job_control& control);
// Throws bad_file where the file cannot be written.
void write_trace(job_control& control, const std::string& path);

}  // namespace situ::detail
