// situ::launch: starts the places of a job on this machine from inside a program or a test, waits for them, and says
// how each ended. The command `situ run` does the same for another program.
//
//   situ::launch_result result = situ::launch(4, [] { situ::barrier(); });
//
// Each place runs the body inside a situ::runtime of its own. The calling thread is no place; it watches the places
// until the last has ended. Nothing outlives the call, and where the calling program is killed its places die with it.
// Thread-safe: independent calls may run at the same time. Not callable from a place.
// cost: a thread for each place, or a fork, which copies the calling program's page tables.
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

// What a place is.
enum class launch_mode : std::uint8_t {
  processes,  // each place is a fork of this process: the place's variables are its own, a crash is contained
  threads,    // each place is a thread of this process: for debuggers and ThreadSanitizer
};

// How to start a job.
struct launch_options {
  launch_mode mode = launch_mode::processes;
  std::uint64_t memory_budget = 0;      // bytes that all segments together may open; 0: as situ run --memory
  std::uint64_t stack_bytes = 0;        // of each task; 0: as the places themselves say (SITU_STACK, runtime_options)
  std::optional<intent> memory_intent;  // of all that is allocated without one; none: the kernel places it
  // What segments lie in: "huge", "node:1", "intent:bandwidth", "file:/scratch", "device:/dev/dax0.0"; empty: the
  // kernel's choice. As situ run --memory.
  std::string memory;
  bool stats = false;      // count bytes, messages and waits between places; see launch_result::statistics
  std::string trace_file;  // where to write a Chrome/Perfetto trace; empty: none
  bool progress = false;   // a second thread for each place, on which serve_while() computes
  bool checked = false;    // hold puts, gets and atomics against the live blocks
  // After the first place is lost the others have this long to end by themselves; then they get SIGTERM, and a second
  // later SIGKILL; unless they go on by survivors(). Threads cannot be killed: their places only get place_lost_error.
  std::chrono::milliseconds grace{5000};
  // Places that still run after this time are lost and ended as above, without grace. 0: no limit.
  std::chrono::milliseconds time_limit{0};
};

// How one place ended.
struct place_outcome {
  int exit_code = 0;   // what the body returned (0 for void), 1 where it threw; for a process its exit code
  int signal = 0;      // that killed the process, else 0
  std::string reason;  // why the place is lost; empty where it left in order
};

// How a job ended.
struct launch_result {
  std::vector<place_outcome> places;  // by place
  std::optional<place> first_lost;    // in time
  std::optional<place> first_failed;  // first in time to end with a code other than 0, by a signal, or lost
  std::string statistics;             // a table, where launch_options::stats asked for it

  // Whether every place left in order with exit code 0.
  [[nodiscard]] bool ok() const noexcept { return !first_failed; }
  // The first lost place and why; else the first failed one; empty when ok().
  [[nodiscard]] std::string message() const;
  // For the shell: 0 when ok(), else what the first lost (else the first failed) place exited with, 128 + signal where
  // one killed it; never 0 then.
  [[nodiscard]] int exit_code() const noexcept;
};

namespace detail {
launch_result launch_places(std::uint32_t places, const std::function<int()>& body, const launch_options& options);
}

// Runs body (returning int, an exit code, or void) at each of `places` places and waits for all of them.
// pre: places as processes: no other thread of this program holds a lock that the body takes (as for fork).
// Errors: bad_argument for no places or too many, or a stack of no possible size; bad_launch where they cannot be
// started, or when called from a place; bad_file where the trace cannot be written. What goes wrong within the places
// is in the result.
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
