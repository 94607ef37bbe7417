// Writes the status that a place publishes (memory/place_status.h).
#pragma once

#include <situ/memory/detail/wait_note.h>

#include <array>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "memory/place_status.h"

namespace situ::detail {

// Not thread-safe: it belongs to the place's thread.
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
