// Programs that another launcher started, for example mpirun: its tasks become the places of one job. This file covers
// the tasks of one host; for several hosts see foreign_hosts.h.
//
//   the first rank                                               every other rank
//   job::create; listens at an address of the job's name         connects to it, again and again until it is there
//                                            <---------------    its rank
//   once all have come: the descriptor       --------------->    job::attach
//
// The address is an abstract one of AF_UNIX: it has no file, and vanishes with the process. Both ends check that the
// other runs for the same user. No launcher of Situ waits for these processes' ends, so each place watches another
// (neighbour_watch).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.h"
#include "os/host.h"
#include "os/worker.h"

namespace situ::detail {

class job;
struct job_control;

struct foreign_task {
  std::string launcher;  // "mpirun (Open MPI)"
  std::string job;       // a name that the tasks of one job on this host share, and no other job's
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  const char* size_variable = nullptr;  // the variable in which the launcher gave the size
  bool spans_hosts = false;
  std::vector<std::uint32_t> ranks_here{};  // in order; empty: all
};

// Returns the task that this process is. Returns nullopt if no other launcher started it as one of several, or if
// SITU_ALONE=1 is in the environment. Throws bad_launch for tasks that cannot become one job: without a rank.
[[nodiscard]] std::optional<foreign_task> read_foreign_task();

// Throws bad_launch: says that the launcher has started several tasks, and why they are not one job.
[[noreturn]] void refuse_tasks(const foreign_task& self, std::string_view why);

// Callbacks for tasks of one of several hosts while they meet.
struct meeting_of_host {
  std::function<job()> make{};        // called by the first, once all others of the host have come: makes the job
  std::function<void()> made{};       // called by the first, once the slots hold the processes
  std::function<void()> meanwhile{};  // called by the others, while the first makes the job
};

// Meets the other tasks on this host, each of which must call this, and returns their job, whose slots hold the
// processes. Logs every ten seconds which tasks are missing. Throws bad_launch if they cannot meet. Not thread-safe: a
// process joins one job after the other.
[[nodiscard]] job meet_tasks(const foreign_task& self, const meeting_of_host& doing = {});

// A thread that watches the process of the next place that is alive: if the process ends without having left, the place
// is marked lost. The first joined place also looks for a standstill.
class neighbour_watch {
 public:
  neighbour_watch(job_control& control, std::uint32_t own);
  ~neighbour_watch();
  neighbour_watch(const neighbour_watch&) = delete;
  neighbour_watch& operator=(const neighbour_watch&) = delete;

 private:
  void run();
  // Waits until the process of `place` has ended; returns false if this watch is to end.
  bool await_end_of(std::uint32_t place);
  [[nodiscard]] bool is_first() const;

  job_control& control_;
  const std::uint32_t own_;
  const os::descriptor stop_;  // an eventfd
  os::worker thread_;
};

}  // namespace situ::detail
