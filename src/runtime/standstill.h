// Where the places of a job stand: read from what they show (memory/place_status.h), told in words or as JSON, and
// watched for a standstill that nobody can end. For launchers and `situ top`: reads only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/job.h"

namespace situ::detail {

// A place that a wait is for and that has not come, or does something else in its place.
struct awaited_place {
  std::uint32_t place;
  std::string instead;  // "has not come", "calls reduce with root 0", "has left the job" ...
};

struct seen_wait {
  wait_kind kind = wait_kind::none;
  std::uint64_t for_ns = 0;  // 0: since just now
  std::uint64_t subject = 0;
  std::uint64_t number = 0;
  std::uint32_t peer = wait_note::nobody;
  std::uint32_t line = 0;
  std::string file;
  std::string task;  // its function
  bool is_main = false;
  std::vector<awaited_place> awaited;
};

struct seen_place {
  std::uint32_t place = 0;
  place_state state = place_state::absent;
  bool rests = false;            // asleep, with nothing to do
  std::uint64_t unrecorded = 0;  // waits beyond the records
  std::vector<seen_wait> waits;  // main's first, then the oldest
};

[[nodiscard]] std::vector<seen_place> look_at_places(job_control& control);
// "main waits for 1.2 s in barrier 3 of all places, at jacobi.cpp:40: place 1 has not come"
[[nodiscard]] std::string describe(const seen_wait& wait);
// "waits in a barrier", for a table
[[nodiscard]] std::string_view label(wait_kind kind) noexcept;
[[nodiscard]] std::string_view label(place_state state) noexcept;
// A line for each place of this host and each of its waits, with a newline after each.
[[nodiscard]] std::string format_report(job_control& control);
// The same as one JSON object: {"places": [{"place": 0, "state": "joined", "rests": true, "waits": [...]}]}
[[nodiscard]] std::string format_report_json(job_control& control, std::string_view why);
// The most important of it in one line, for the reason of a loss.
[[nodiscard]] std::string summary_of_standstill(job_control& control);
// A string as JSON has it, with its quotes.
[[nodiscard]] std::string json_text(std::string_view text);

// Compares what it sees with what it saw at the last look.
class standstill_watch {
 public:
  struct finding {
    // Every place sleeps in waits that only places of the job can end, and has slept since the last look: they stand
    // for ever.
    bool is_final = false;
    bool has_progressed = true;  // somebody worked, or computes
  };
  [[nodiscard]] finding look(job_control& control);

 private:
  struct counts {
    std::uint64_t steps = 0;
    std::uint64_t polls = 0;
    std::uint64_t rest = 0;
  };
  std::vector<counts> last_;
};

// Marks the first place that lives as lost, with where all stand as the reason: all of them hear it.
void mark_standstill(job_control& control);
// Ends a job in which nobody can go on: logs where its places stand, and all of them hear it.
void end_standstill(job_control& control);

}  // namespace situ::detail
