// Other processes, as the kernel tells of them in /proc; and those that a program has started.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

// /proc/PID/stat from the process's state on. Empty with errno where it cannot be read: ENOENT or ESRCH where there is
// no such process.
[[nodiscard]] std::vector<std::string> process_stat(pid_t process);

// Its memory is gone for good. Also of one that nobody has waited for; not where the first thread alone has ended, and
// not where that could not be looked at.
[[nodiscard]] bool process_has_ended(pid_t process);

// All that a program starts, directly and through others. From its making on, whose parent has ended becomes a child of
// this process, so nobody is lost sight of. Children that this process has already are none of them.
class descendants {
 public:
  // Throws bad_launch where the children that there are already cannot be seen: they would be ended, too.
  descendants();
  // Waits for those that have become children and have ended, but not for `program`.
  void reap(pid_t program);
  // pre: the program has been waited for. Ends all; returns those that this user may not end, or that take too long.
  // Throws bad_launch where they cannot be seen.
  [[nodiscard]] std::vector<pid_t> end_all() const;

 private:
  // Nothing with errno where a look failed.
  [[nodiscard]] std::optional<std::vector<pid_t>> children() const;

  std::set<pid_t> before_;
};
