// `situ run --intent NAME -- PROGRAM` for a program that does not use Situ: its memory, and that of the processes that
// it starts, is placed along the ordering of an intent (src/preload).
#pragma once

#include <chrono>
#include <string>
#include <vector>

struct any_program_options {
  std::string intent;
  bool stats = false;
  bool only_this = false;                   // excludes the processes that it starts
  std::string report_file;                  // the report of --stats as JSON; empty: none
  std::chrono::milliseconds time_limit{0};  // 0: none
};

// Starts arguments[0] from this file and waits for it. Returns its exit code; if a signal ended it, this process ends
// by the same signal. Throws bad_launch, bad_file or not_supported if it cannot be started so.
[[nodiscard]] int run_any_program(const any_program_options& options, const std::string& file,
                                  const std::vector<std::string>& arguments);
