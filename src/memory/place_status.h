// What a place shows of itself to the others and to its launcher: how far it is, what its code waits for, which
// collective of each team it has begun. For reports and `situ top`; nothing that runs depends on it.
//
//   | counters | wait_record x most_waits | team_record x most_teams | names | placed_table |
//
// Invariants
//   1. One place writes, everybody reads. A record's `state` is written last when it begins, first when it ends; who
//      reads it before and after the rest, and finds it unchanged, has one record (each state is used once).
//   2. What a wait stands for in names and lines is looked up when it is stamped: at the latest before the place
//      sleeps.
//      Until then since_ns is 0, and file, line and task are those of an earlier use of the record.
//   3. Names are copied here when they are first used, so that a reader needs nothing of the process, not even that it
//      lives. A name's number holds as long as the job.
//   4. `rest` is odd while the place sleeps with nothing to do. Two looks that find the same odd number, and `sleeping`
//      set, mean that it has slept all the time between them.
#pragma once

#include <situ/memory/detail/wait_note.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "memory/placed_table.h"

namespace situ::detail {

struct alignas(64) wait_record {
  std::atomic<std::uint64_t> state{0};     // 0: free; else a number << 8 | wait_kind
  std::atomic<std::uint64_t> since_ns{0};  // 0: not known yet, since the place has not been idle since
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
  std::atomic<std::uint64_t> last{0};   // what the last one was (collective_call::packed)
  std::atomic<std::uint32_t> members{0};
};
static_assert(sizeof(team_record) == 64);

struct name_table {
  static constexpr std::uint32_t most_names = 1024;
  std::atomic<std::uint32_t> count{0};  // names 1 ... count are there
  std::atomic<std::uint32_t> ends[most_names]{};
  char text[(1 << 16) - (most_names + 1) * sizeof(std::uint32_t)]{};

  [[nodiscard]] std::string_view operator[](std::uint32_t name) const noexcept;  // empty for one that is not there
};

struct alignas(64) place_status {
  static constexpr std::uint32_t most_waits = 60;
  static constexpr std::uint32_t most_teams = 16;
  // Turns that found something to do, and waits that ended: what counts as getting on.
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

// The writing end, at the place itself. Not thread-safe: it belongs to the place's thread.
class status_writer {
 public:
  explicit status_writer(place_status& shared) noexcept;
  status_writer(const status_writer&) = delete;
  status_writer& operator=(const status_writer&) = delete;

  // The number of a name: of a source file, or of what code_name_of() gives. 0 for null, and where there is no room.
  // The text's address names it from then on. cost: a look into a table.
  [[nodiscard]] std::uint32_t file_name(const char* path) noexcept { return find(path, false); }
  [[nodiscard]] std::uint32_t code_name(const char* compilers_text) noexcept { return find(compilers_text, true); }

  // Null where all records are taken. pre for end_wait: what
  // begin_wait was given and returned, once.
  [[nodiscard]] wait_record* begin_wait(const wait_note& note, const char* task, bool is_main,
                                        bool has_deadline = false) noexcept;
  void end_wait(wait_record* record, wait_kind kind, bool has_deadline = false) noexcept;
  // Gives the waits that have none the time since which they stand, and their names.
  void stamp_waits() noexcept;

  [[nodiscard]] bool has_open_waits() const noexcept { return shared_.open_waits.load(std::memory_order_relaxed) != 0; }
  void count_step() noexcept { add(shared_.steps); }
  void count_poll() noexcept { add(shared_.polls); }
  void begin_rest() noexcept { add(shared_.rest); }
  void end_rest() noexcept { add(shared_.rest); }

  // Null where all records are taken.
  [[nodiscard]] team_record* open_team(std::uint64_t id, std::uint32_t members) noexcept;

 private:
  struct unnamed {  // of a record that is not stamped yet; both are constants of the program
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

// "main()::<lambda(int)>" out of the compiler's "... [with F = main()::<lambda(int)>]".
[[nodiscard]] std::string_view name_in(std::string_view compilers_text) noexcept;

}  // namespace situ::detail
