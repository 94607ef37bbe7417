// The status that a place publishes for other places and its launcher: its progress, the waits of its code, and the
// last collective of each team that it has begun. For reports and `situ top`; no running code depends on it.
//
//   | counters | wait_record x most_waits | team_record x most_teams | names | placed_table |
//
// Invariants
//   1. One place writes, all others read. The writer stores a record's `state` last when the record begins, first when
//      it ends. A reader that loads the state before and after the rest, and finds it unchanged, has a consistent
//      record (each state is used once).
//   2. The names and lines of a wait are looked up when the wait is stamped: at the latest before the place sleeps.
//      Until then since_ns is 0, and file, line and task are those of an earlier use of the record.
//   3. Names are copied here when they are first used, so that a reader does not depend on the process, not even on
//      its being alive. The number of a name stays valid as long as the job.
//   4. `rest` is odd while the place sleeps with nothing to do. If a reader finds the same odd number twice, and
//      `sleeping` set, the place has slept all the time in between.
#pragma once

#include <situ/memory/detail/collective_call.h>
#include <situ/memory/detail/wait_note.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "pages/placed_table.h"

namespace situ::detail {

struct alignas(64) wait_record {
  std::atomic<std::uint64_t> state{0};     // 0: free; else a number << 8 | wait_kind
  std::atomic<std::uint64_t> since_ns{0};  // start of the wait; 0: not stamped yet (invariant 2)
  std::atomic<std::uint64_t> subject{0};
  std::atomic<std::uint64_t> number{0};
  std::atomic<std::uint32_t> peer{0};
  std::atomic<std::uint32_t> line{0};
  std::atomic<std::uint32_t> file{0};  // a name
  std::atomic<std::uint32_t> task{0};  // a name
  std::atomic<std::uint32_t> is_main{0};
};
static_assert(sizeof(wait_record) == 64);

struct alignas(64) team_record {
  std::atomic<std::uint64_t> id{0};     // 0: free
  std::atomic<std::uint64_t> begun{0};  // collectives of the team that the place has begun, barriers among them
  std::atomic<std::uint64_t> last{0};   // the last of these (collective_call::packed)
  std::atomic<std::uint32_t> members{0};
};
static_assert(sizeof(team_record) == 64);
// Returns the parts of a call in which members may differ, in words: "broadcast with root 1 of 8 bytes".
[[nodiscard]] std::string describe(const collective_call& call);

struct name_table {
  static constexpr std::uint32_t most_names = 1024;
  std::atomic<std::uint32_t> count{0};  // names 1 ... count exist
  std::atomic<std::uint32_t> ends[most_names]{};
  char text[(1 << 16) - (most_names + 1) * sizeof(std::uint32_t)]{};

  [[nodiscard]] std::string_view operator[](std::uint32_t name) const noexcept;  // empty for a number without a name
};

struct alignas(64) place_status {
  static constexpr std::uint32_t most_waits = 60;
  static constexpr std::uint32_t most_teams = 16;
  // Number of turns that found work and of waits that ended: a measure of progress.
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> polls{0};  // calls of progress()
  std::atomic<std::uint64_t> rest{0};   // invariant 4
  std::atomic<std::uint64_t> waits_unrecorded{0};
  std::atomic<std::uint64_t> open_waits{0};  // waits that something outside the job may end, unrecorded ones included
  alignas(64) wait_record waits[most_waits];
  team_record teams[most_teams];
  name_table names;
  placed_table placed;
};

}  // namespace situ::detail
