// The jobs that run on this machine, and what they have of which memory. They are found by the memory file that each
// `situ run` keeps open, or (of a file or device) by one that says where that is (job_sign): nothing has a name, and
// nothing is left behind by looking.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct running_job {
  pid_t launcher = 0;
  std::string path;             // of the descriptor: /proc/PID/fd/N
  bool is_any_program = false;  // of a program that knows nothing of Situ (run_any.h): it has no places
};
// Those that this user may look at, of one launcher or (0) of all, by the launcher's number.
[[nodiscard]] std::vector<running_job> find_running_jobs(pid_t launcher = 0);

struct held_memory {
  std::optional<std::uint32_t> place;  // of any program: none
  std::string intent;
  std::string memory;
  std::uint64_t bytes = 0;       // now
  std::uint64_t most_bytes = 0;  // ever
};
// What it has by intent. Empty where it has nothing so, or has ended.
[[nodiscard]] std::vector<held_memory> memory_of(const running_job& job);
