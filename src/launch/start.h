// Starts the processes of a job's places on this host, for `situ run` and for the agent of a host.
//
// The launcher blocks the signals that it passes on, and has a higher descriptor limit than the places: an
// os::passed_signals and a descriptor_limit must live from before the first process is started until the last has ended. One thread uses
// all of it, the one that the launch_monitor belongs to.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "launch/launch.h"
#include "launch/monitor.h"
#include "launch/output.h"
#include "os/signals.h"

namespace situ::detail {

// Raises the limit of descriptors to the maximum for the life of the object, because the launcher needs a few for each
// place; the places get the old limit by restore().
class descriptor_limit {
 public:
  descriptor_limit();
  ~descriptor_limit() { restore(); }
  descriptor_limit(const descriptor_limit&) = delete;
  descriptor_limit& operator=(const descriptor_limit&) = delete;
  void restore() const noexcept { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

struct places_to_start {
  const program_options& options;
  const std::string& file;
  std::span<const std::string> arguments;
  const job& shared;
  std::vector<std::uint32_t> places;  // a process each; with in_process one process for all
  const place_pipes* output;          // null: the places use the launcher's streams
  const os::passed_signals* signals;  // null: the places have this thread's mask
  const descriptor_limit& limit;
};

// Starts the processes, and has the monitor watch each. Throws bad_launch if one cannot be started; those already
// started then end with the monitor.
void start_places(const places_to_start& start, launch_monitor& monitor);

// Returns 0 to count - 1.
[[nodiscard]] std::vector<std::uint32_t> all_places(std::uint32_t count);

}  // namespace situ::detail
