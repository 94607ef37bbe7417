// The jobs that run on this machine, and how much of which memory they have. They are found by the memory file that
// each `situ run` keeps open, or (for a file or device) by one that says where that is (job_sign): nothing has a name,
// and a look leaves nothing behind.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct running_job {
  pid_t launcher = 0;
  std::string path;             // of the descriptor: /proc/PID/fd/N
  bool is_any_program = false;  // a program that does not use Situ (run_any.h): it has no places
};
// Finds the jobs that this user may look at, of one launcher or (0) of all, by the launcher's number.
[[nodiscard]] std::vector<running_job> find_running_jobs(pid_t launcher = 0);

struct held_memory {
  std::optional<std::uint32_t> place;  // nullopt for a program that does not use Situ
  std::string intent;
  std::string memory;
  std::uint64_t bytes = 0;       // at present
  std::uint64_t most_bytes = 0;  // at most so far
};
// Returns the job's memory by intent. The result is empty if the job has none by intent, or has ended.
[[nodiscard]] std::vector<held_memory> memory_of(const running_job& job);
