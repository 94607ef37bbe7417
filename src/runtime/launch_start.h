// Starts the processes of a job's places on this host, for `situ run` and for the agent of a host.
//
// The launcher blocks the signals that it passes on, and has a higher descriptor limit than the places: a signal_reader
// and a descriptor_limit must live from before the first process is started until the last has ended. One thread uses
// all of it, the one that the launch_monitor belongs to.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/job.h"
#include "runtime/launch.h"
#include "runtime/launch_monitor.h"
#include "runtime/launch_output.h"

namespace situ::detail {

// Blocks the signals that a launcher passes on while the object lives; they are read from descriptor().
class signal_reader {
 public:
  // If not wanted, it blocks nothing, and the descriptor is -1.
  explicit signal_reader(bool wanted);
  ~signal_reader();
  signal_reader(const signal_reader&) = delete;
  signal_reader& operator=(const signal_reader&) = delete;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // In a forked child: restores the signal mask from before.
  void restore() const noexcept { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

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
  const signal_reader& signals;
  const descriptor_limit& limit;
};

// Starts the processes, and has the monitor watch each. Throws bad_launch if one cannot be started; those already
// started then end with the monitor.
void start_places(const places_to_start& start, launch_monitor& monitor);

// Returns 0 to count - 1.
[[nodiscard]] std::vector<std::uint32_t> all_places(std::uint32_t count);

}  // namespace situ::detail
