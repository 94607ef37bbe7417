// situ::launch: starts the places of a job on this machine from inside a program or a test, waits for them, and
// returns how each place ended. The command `situ run` does the same for another program.
//
//   situ::launch_result result = situ::launch(4, [] { situ::barrier(); });
//
// Each place runs the body inside a situ::runtime of its own. The calling thread is not a place; it watches the places
// until the last has ended. No place outlives the call, and if the calling program is killed its places die with it.
// Thread-safe: independent calls may run at the same time. A place cannot call it. cost: a thread for each place, or a
// fork, which copies the calling program's page tables.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <situ/machine/intent.h>
#include <situ/memory/place.h>

namespace situ {

// The form of a place.
enum class launch_mode : std::uint8_t {
  processes,  // each place is a fork of this process: the place's variables are its own, a crash is contained
  threads,    // each place is a thread of this process: for debuggers and ThreadSanitizer
};

// The options for starting a job.
struct launch_options {
  launch_mode mode = launch_mode::processes;
  std::uint64_t memory_budget = 0;      // bytes that all segments together may open; 0: as situ run --memory
  std::uint64_t stack_bytes = 0;        // of each task; 0: as each place itself chooses (SITU_STACK, runtime_options)
  std::optional<intent> memory_intent;  // of allocations without an intent of their own; none: the kernel places them
  // Memory of the segments: "huge", "node:1", "intent:bandwidth", "file:/scratch", "device:/dev/dax0.0"; empty: the
  // kernel's choice. As situ run --memory.
  std::string memory;
  bool stats = false;      // count bytes, messages and waits between places; see launch_result::statistics
  std::string trace_file;  // file for a Chrome/Perfetto trace; empty: none
  bool progress = false;   // a second thread for each place, on which serve_while() computes
  bool checked = false;    // check puts, gets and atomics against the live blocks
  // After the first place is lost, the other places have this long to end by themselves; then they get SIGTERM, and a
  // second later SIGKILL, unless they go on by survivors(). Threads cannot be killed: their places only get
  // place_lost_error.
  std::chrono::milliseconds grace{5000};
  // Places that still run after this time count as lost and are ended as above, without grace. 0: no limit.
  std::chrono::milliseconds time_limit{0};
};

// The end of one place.
struct place_outcome {
  int exit_code = 0;   // the body's return value (0 for void), 1 if it threw; of a process its exit code
  int signal = 0;      // the signal that killed the process, else 0
  std::string reason;  // why the place is lost; empty if it left in order
};

// The end of a job.
struct launch_result {
  std::vector<place_outcome> places;  // by place
  std::optional<place> first_lost;    // the place that was lost first in time
  std::optional<place> first_failed;  // the first in time that ended with a code other than 0, by a signal, or lost
  std::string statistics;             // a table, if launch_options::stats is set

  // True if every place left in order with exit code 0.
  [[nodiscard]] bool ok() const noexcept { return !first_failed; }
  // Names the first lost place, else the first failed place, and the reason; empty when ok().
  [[nodiscard]] std::string message() const;
  // Returns an exit code for the shell: 0 when ok(); else the exit code of the first lost (else the first failed)
  // place, or 128 + signal if a signal killed that place; never 0 then.
  [[nodiscard]] int exit_code() const noexcept;
};

namespace detail {
launch_result launch_places(std::uint32_t places, const std::function<int()>& body, const launch_options& options);
}

// Runs body (returning int, an exit code, or void) at each of `places` places and waits for all of them. pre: if
// places are processes, no other thread of this program holds a lock that the body takes (as for fork). Errors:
// bad_argument for no places or too many, or an impossible stack size; bad_launch if the places cannot be started, or
// if a place calls it; bad_file if the trace cannot be written. The result holds the failures within the places.
template <std::invocable Body>
  requires(std::is_void_v<std::invoke_result_t<Body&>> || std::convertible_to<std::invoke_result_t<Body&>, int>)
launch_result launch(std::uint32_t places, Body&& body, const launch_options& options = {}) {
  return detail::launch_places(
      places,
      [&body]() -> int {
        if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
          body();
          return 0;
        } else {
          return static_cast<int>(body());
        }
      },
      options);
}

}  // namespace situ
