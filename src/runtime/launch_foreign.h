// Programs that another launcher started, as mpirun: its tasks become the places of one job. So do those on one host;
// of several see launch_hosts.h.
//
//   the first rank                                               every other rank
//   job::create; listens at an address of the job's name         connects to it, again and again until it is there
//                                            <---------------    its rank
//   once all have come: the descriptor       --------------->    job::attach
//
// The address is an abstract one of AF_UNIX: no file, gone with the process. Both ends check that the other runs for
// the same user. Nobody of ours waits for these processes' ends, so each place watches another (neighbour_watch).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/host.h"
#include "memory/job.h"

namespace situ::detail {

struct foreign_task {
  std::string launcher;  // "mpirun (Open MPI)"
  std::string job;       // what the tasks of one job on this host have in common, and no other's
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  const char* size_variable = nullptr;  // by which the launcher told
  bool spans_hosts = false;
  std::vector<std::uint32_t> ranks_here{};  // in order; empty: all
};

// Nothing: no other launcher started this as one of several, or SITU_ALONE=1 is in the environment. Throws bad_launch
// for tasks that cannot become one job: without a rank.
[[nodiscard]] std::optional<foreign_task> read_foreign_task();

// Throws bad_launch: the launcher has started several tasks, and why they are not one job.
[[noreturn]] void refuse_tasks(const foreign_task& self, std::string_view why);

// What the tasks of one host of several do while they meet.
struct meeting_of_host {
  std::function<job()> make{};        // the first, once all others of the host have come: the job
  std::function<void()> made{};       // the first, once the slots have the processes
  std::function<void()> meanwhile{};  // the others, while the first makes it
};

// Meets the other tasks on this host, each of which must call this, and returns their job; the slots have the
// processes. Says who is missing every ten seconds. Throws bad_launch where they cannot meet. Not thread-safe: a
// process joins one job after the other.
[[nodiscard]] job meet_tasks(const foreign_task& self, const meeting_of_host& doing = {});

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
