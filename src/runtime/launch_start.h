// The processes of a job's places on this host, as they are started: by `situ run`, and by the agent of a host.
//
// Their launcher blocks the signals that it passes on, and has more descriptors than they: a signal_reader and a
// descriptor_limit live from before the first is started until the last has ended. One thread uses all of it, the one
// that the launch_monitor belongs to.
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

// Blocks the signals that a launcher passes on for the life of the object; they are read from descriptor() then.
class signal_reader {
 public:
  // wanted: else nothing is blocked, and the descriptor is -1.
  explicit signal_reader(bool wanted);
  ~signal_reader();
  signal_reader(const signal_reader&) = delete;
  signal_reader& operator=(const signal_reader&) = delete;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // In a forked child.
  void restore() const noexcept { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

// As many descriptors as the system allows while the launcher has a few for each place; the places get the limit from
// before.
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
  std::vector<std::uint32_t> places;  // a process each; with in_process there is one, for all
  const place_pipes* output;          // null: they have the launcher's streams
  const signal_reader& signals;
  const descriptor_limit& limit;
};

// Starts them, and has each watched. Throws bad_launch where one cannot be started; those that were end with the
// monitor then.
void start_places(const places_to_start& start, launch_monitor& monitor);

// 0 to N-1.
[[nodiscard]] std::vector<std::uint32_t> all_places(std::uint32_t count);

}  // namespace situ::detail
