// A place finds its job at its start, before it has a runtime, in the first of four ways that applies:
//
//   by a ticket       situ::launch has started the thread or the process, or another place's found_job the thread
//   by variables      `situ run` or a host's agent has started the process. With --in-process it stands for all places:
//                     main runs once more, in a thread with a ticket, for each of the others
//   as a task         of mpirun, srun and the like (foreign.h, foreign_hosts.h)
//   alone             the place makes a job of its own
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/foreign.h"
#include "launch/launch.h"
#include "memory/job.h"
#include "os/worker.h"

namespace situ::detail {

// The job of the calling thread's place, and what lives as long as the place is joined. Belongs to that thread.
class found_job {
 public:
  // arguments: of the program's main, for further places of this process. Throws bad_launch if the variables or the
  // tasks make no job, version_mismatch if the places of the job run different programs, and as job::create.
  explicit found_job(std::vector<std::string> arguments);
  ~found_job() = default;
  found_job(const found_job&) = delete;
  found_job& operator=(const found_job&) = delete;

  [[nodiscard]] const job& shared() const noexcept { return *shared_; }
  [[nodiscard]] job_control& control() const noexcept { return shared_->control(); }
  [[nodiscard]] std::uint32_t place() const noexcept { return place_; }
  // Returns the mapping of the job's slices: the process's, if all its places share one, else this place's, which the
  // first call makes. Collective over the job then. Throws as address_space::map.
  [[nodiscard]] const address_space& map();
  // No more looks for the end of other places' processes: the place leaves.
  void end_watch() noexcept { neighbour_.reset(); }
  // Waits until main has returned for the other places of this process, if this place has started them.
  void await_other_mains() noexcept { mains_.clear(); }

 private:
  void be_place_of(const start_ticket& ticket);
  void join_by_environment(const start_environment& environment);
  void run_main_as(const start_ticket& ticket);

  const std::vector<std::string> arguments_;
  std::optional<job> owned_;
  std::optional<neighbour_watch> neighbour_;
  std::optional<address_space> owned_space_;
  const job* shared_ = nullptr;
  const address_space* space_ = nullptr;  // of the process; null until map()
  std::uint32_t place_ = 0;
  std::vector<os::worker> mains_;  // of the other places of an in-process job
};

}  // namespace situ::detail
