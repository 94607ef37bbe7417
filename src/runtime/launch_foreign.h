// Programs that another launcher started, as mpirun: its tasks on one host become the places of one job.
//
//   rank 0                                                       every other rank
//   job::create; listens at an address of the job's name         connects to it, again and again until it is there
//                                            <---------------    its rank
//   once all have come: the descriptor       --------------->    job::attach
//
// The address is an abstract one of AF_UNIX: no file, gone with the process. Both ends check that the other runs for
// the same user. Nobody of ours waits for these processes' ends, so each place watches another (neighbour_watch).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/host.h"
#include "memory/job.h"

namespace situ::detail {

struct foreign_task {
  std::string launcher;  // "mpirun (Open MPI)"
  std::string job;       // what the tasks of one job on this host have in common, and no other's
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
};

// Nothing: no other launcher started this as one of several, or SITU_ALONE=1 is in the environment. Throws bad_launch
// for tasks that cannot become one job: on several hosts, or without a rank.
[[nodiscard]] std::optional<foreign_task> read_foreign_task();

// Meets the other tasks, each of which must call this, and returns their job; the slots have the processes. Says who is
// missing every ten seconds. Throws bad_launch where they cannot meet. Not thread-safe: a process joins one job after
// the other.
[[nodiscard]] job meet_tasks(const foreign_task& self);

// A thread that watches the process of the next place that is there: where it ends without having left, that place is
// lost. The first place that is there also looks for a standstill.
class neighbour_watch {
 public:
  neighbour_watch(job_control& control, std::uint32_t own);
  ~neighbour_watch();
  neighbour_watch(const neighbour_watch&) = delete;
  neighbour_watch& operator=(const neighbour_watch&) = delete;

 private:
  void run();
  // Until that process has ended; false where this watch is to end.
  bool await_end_of(std::uint32_t place);
  [[nodiscard]] bool is_first() const;

  job_control& control_;
  const std::uint32_t own_;
  const int stop_;  // an eventfd
  worker thread_;
};

}  // namespace situ::detail
