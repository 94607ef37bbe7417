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

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
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

// The writer of a place_status. Not thread-safe: it belongs to the place's thread.
class status_writer {
 public:
  explicit status_writer(place_status& shared) noexcept;
  status_writer(const status_writer&) = delete;
  status_writer& operator=(const status_writer&) = delete;

  // Returns the number of a name: of a source file, or of the result of code_name_of(). Returns 0 for null, and if
  // there is no room. Later calls recognise the text by its address. cost: a look into a table.
  [[nodiscard]] std::uint32_t file_name(const char* path) noexcept { return find(path, false); }
  [[nodiscard]] std::uint32_t code_name(const char* compilers_text) noexcept { return find(compilers_text, true); }

  // begin_wait returns null if all records are in use. pre for end_wait: the arguments are those that begin_wait was
  // given and its result; once.
  [[nodiscard]] wait_record* begin_wait(const wait_note& note, const char* task, bool is_main,
                                        bool has_deadline = false) noexcept;
  void end_wait(wait_record* record, wait_kind kind, bool has_deadline = false) noexcept;
  // Stamps the waits that have no stamp yet with the time since when they last, and their names.
  void stamp_waits() noexcept;

  [[nodiscard]] bool has_open_waits() const noexcept { return shared_.open_waits.load(std::memory_order_relaxed) != 0; }
  void count_step() noexcept { add(shared_.steps); }
  void count_poll() noexcept { add(shared_.polls); }
  void begin_rest() noexcept { add(shared_.rest); }
  void end_rest() noexcept { add(shared_.rest); }

  // Returns null if all records are in use.
  [[nodiscard]] team_record* open_team(std::uint64_t id, std::uint32_t members) noexcept;

 private:
  struct unnamed {  // names of a record that is not stamped yet; both are constants of the program
    std::source_location where;
    const char* task = nullptr;
  };
  static void add(std::atomic<std::uint64_t>& count, std::uint64_t n = 1) noexcept {
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);  // one writer
  }
  [[nodiscard]] std::uint32_t find(const char* text, bool is_code) noexcept;
  [[nodiscard]] std::uint32_t add_name(std::string_view shown) noexcept;

  static constexpr std::uint32_t table_size = 2 * name_table::most_names;
  place_status& shared_;
  std::uint64_t waits_begun_ = 0;
  bool has_unstamped_ = false;
  std::uint32_t free_count_ = 0;
  std::array<std::uint8_t, place_status::most_waits> free_{};
  std::array<unnamed, place_status::most_waits> unnamed_{};
  struct known {
    const char* text = nullptr;
    std::uint32_t name = 0;
  };
  std::array<known, table_size> known_{};
};

// Extracts "main()::<lambda(int)>" from the compiler's "... [with F = main()::<lambda(int)>]".
[[nodiscard]] std::string_view name_in(std::string_view compilers_text) noexcept;

}  // namespace situ::detail
