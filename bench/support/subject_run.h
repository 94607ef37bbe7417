// Runs a subject program of `situ bench core` and takes its samples. One run at a time, in a process that has one
// thread and no other children: whatever processes are left after a run are ended.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "results.h"

namespace situ::bench {

struct subject_request {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  // added to this process's
  std::vector<std::string> cases;
  double seconds = 1;                 // of samples
  std::chrono::seconds timeout{120};  // of the whole run
};

enum class subject_end {
  complete,    // all samples were taken, whatever became of the program afterwards
  failed,      // it ended before its last sample
  timed_out,   // it was killed
  interrupted  // by a signal to this process; it was killed
};

struct subject_outcome {
  subject_end end = subject_end::failed;
  std::vector<sample> samples;
  std::vector<flags_line> flags;  // of subjects that say theirs
  std::string error_output;       // the last few thousand characters that it wrote to standard error
};

// Starts the command with a fresh page (see page.h), reads its samples and waits until it and its process group are
// gone. Throws std::system_error where no process or page can be made.
[[nodiscard]] subject_outcome run_subject(const subject_request& request);

// While one of these lives, SIGINT, SIGTERM and SIGHUP end the running subject instead of this process.
class interruption_guard {
 public:
  interruption_guard();
  ~interruption_guard();
  interruption_guard(const interruption_guard&) = delete;
  interruption_guard& operator=(const interruption_guard&) = delete;
  [[nodiscard]] static bool interrupted() noexcept;
};

// Runs a command with its output thrown away; its exit code, or -1 where it could not be run or was killed.
[[nodiscard]] int run_quietly(const std::vector<std::string>& command);

// The same, with its output on this process's standard error.
[[nodiscard]] int run_saying(const std::vector<std::string>& command);

// What it writes to standard output; nothing where it cannot be run or fails.
[[nodiscard]] std::string output_of(const std::vector<std::string>& command);

}  // namespace situ::bench
