// The options of situ::launch (situ/runtime/launch.h).
#pragma once

#include <situ/machine/intent.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

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

}  // namespace situ
