// Other processes, as the kernel describes them in /proc; and the processes that a program has started.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

// Returns the fields of /proc/PID/stat from the process's state on. If it cannot be read, returns an empty vector with
// errno: ENOENT or ESRCH if there is no such process.
[[nodiscard]] std::vector<std::string> process_stat(pid_t process);

// Tells whether a process's memory is gone for good; true for a zombie, too. Returns false if only the first thread
// has ended, or if the look failed.
[[nodiscard]] bool process_has_ended(pid_t process);

// All processes that a program starts, directly and through others. From construction on, orphans become children of
// this process, so none is lost. Children that this process has before are not included.
class descendants {
 public:
  // Throws bad_launch if the present children cannot be seen: they would be ended, too.
  descendants();
  // Waits for descendants that have become children and have ended, but not for `program`.
  void reap(pid_t program);
  // Ends all. Returns those that this user may not end, or that take too long. Throws bad_launch if they cannot be
  // seen. pre: the program has been waited for.
  [[nodiscard]] std::vector<pid_t> end_all() const;

 private:
  // Returns the children, or nullopt with errno if a look failed.
  [[nodiscard]] std::optional<std::vector<pid_t>> children() const;

  std::set<pid_t> before_;
};
