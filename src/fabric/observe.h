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

#include <situ/fabric/detail/observed.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/job.h"

namespace situ::detail {

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

// Returns all counts of a place. pre: the job is observed.
[[nodiscard]] std::span<const pair_counts> counts_of_place(job_control& control, std::uint32_t place) noexcept;
// The events of a place that are kept, accesses first; each ring in the order in which its events ended.
struct kept_events {
  std::array<std::span<const trace_event>, 4> runs;  // in two pieces for each ring
  std::uint64_t forgotten;
};
[[nodiscard]] kept_events events_of_place(job_control& control, std::uint32_t place) noexcept;

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
