// The state of the places of a job: read from their status (memory/place_status.h), reported as text or as JSON, and
// watched for a standstill that no place can end. For launchers and `situ top`; all but the last two functions only
// read.
#pragma once

#include <situ/memory/detail/place_state.h>
#include <situ/memory/detail/wait_note.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

struct job_control;

// A place that a wait is for and that has not come, or does something else instead.
struct awaited_place {
  std::uint32_t place;
  std::string instead;  // "has not come", "calls reduce with root 0 in its place", "has left the job" ...
};

struct seen_wait {
  wait_kind kind = wait_kind::none;
  std::uint64_t for_ns = 0;  // 0: unknown, or since just now
  std::uint64_t subject = 0;
  std::uint64_t number = 0;
  std::uint32_t peer = wait_note::nobody;
  std::uint32_t line = 0;
  std::string file;
  std::string task;  // the name of its function
  bool is_main = false;
  std::vector<awaited_place> awaited;
};

struct seen_place {
  std::uint32_t place = 0;
  place_state state = place_state::absent;
  bool rests = false;            // asleep, with nothing to do
  std::uint64_t unrecorded = 0;  // waits for which there was no record
  std::vector<seen_wait> waits;  // main's first, then the oldest
};

[[nodiscard]] std::vector<seen_place> look_at_places(job_control& control);
// Returns "main waits since 1.2 s in a barrier (collective 3 of its team), at jacobi.cpp:40: place 1 has not come".
[[nodiscard]] std::string describe(const seen_wait& wait);
// Returns a short name for a table: "barrier", "has left the job".
[[nodiscard]] std::string_view label(wait_kind kind) noexcept;
[[nodiscard]] std::string_view label(place_state state) noexcept;
// Returns a line for each place of this host and each of its waits, with a newline after each.
[[nodiscard]] std::string format_report(job_control& control);
// Returns the state of all places as one JSON object: {"why": "...", "places": [{"place": 0, "state": "joined",
// "rests": true, "more_waits": 0, "waits": [...]}]}; in a job over several hosts each place has its "host", a number.
[[nodiscard]] std::string format_report_json(job_control& control, std::string_view why);
// Returns the waits of all places in one line, those at the end of the runtime last, for the reason of a loss. Cuts a
// text that is too long for the slot of a place.
[[nodiscard]] std::string summary_of_standstill(job_control& control);
// Returns a string in JSON form, with its quotes.
[[nodiscard]] std::string json_text(std::string_view text);

// Compares the counters of this host's places with those of the last look.
class standstill_watch {
 public:
  struct finding {
    // Every place sleeps in waits that only places of the job can end, and has slept since the last look: if the job is
    // on one host, none can ever go on. Over several hosts see hosts_watch.h.
    bool is_final = false;
    bool has_progressed = true;  // a place did some work, or computes
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

// Returns the first place that lives, or the last place.
[[nodiscard]] std::uint32_t first_live_place(job_control& control) noexcept;
// Marks the first live place as lost, with the waits of all places as the reason: all of them hear it.
void mark_standstill(job_control& control);
// Ends a job in which no place can go on: logs what its places do, and notifies all of them.
void end_standstill(job_control& control);

}  // namespace situ::detail
