// `situ rmem run`: programs that know nothing of Situ get remote memory for large allocations (src/preload/remote.h,
// src/rmem/program_memory.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct remote_program_options {
  std::string server;
  std::string keys;
  std::string application;  // empty: the first of that file
  std::uint64_t local_bytes = 0;
  std::uint64_t remote_bytes = 0;  // 0: half of what the server has free
  std::uint64_t threshold_bytes = 0;
  bool stats = false;
  std::string report_file;  // what --stats says, as JSON; empty: none
  double timeout_seconds = 10;
};

// Starts arguments[0] and waits for it, and for all processes that still have remote memory. Returns its exit code;
// where a signal ended it, this process ends by the same. Throws link_lost where the server is lost: all processes with
// remote memory have been killed then.
[[nodiscard]] int run_remote_program(const remote_program_options& options, const std::vector<std::string>& arguments);
