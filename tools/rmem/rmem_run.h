// `situ rmem run`: programs that do not use Situ get remote memory for large allocations (src/preload/remote.h,
// src/rmem/program_memory.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct remote_program_options {
  std::string server;
  std::string keys;
  std::string application;  // empty: the first one of the key file
  std::uint64_t local_bytes = 0;
  std::uint64_t remote_bytes = 0;  // 0: half of the server's free memory
  std::uint64_t threshold_bytes = 0;
  bool stats = false;
  std::string report_file;  // the report of --stats as JSON; empty: none
  double timeout_seconds = 10;
};

// Starts arguments[0] and waits for it, and for all processes that still have remote memory. Returns its exit code; if
// a signal ended it, this process ends by the same signal. Throws link_lost if the server is lost: all processes with
// remote memory have been killed then.
[[nodiscard]] int run_remote_program(const remote_program_options& options, const std::vector<std::string>& arguments);
