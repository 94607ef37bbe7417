// The report of a job that no launcher of Situ has made: of a program alone, or of tasks of mpirun, srun and the like.
//
//   SITU_STATS=1      the tables of `situ run --stats`, to the standard error of place 0
//   SITU_TRACE=FILE   the trace of `situ run --trace FILE`, which place 0 writes
//
//   all places   leaving barrier | take in what is left | leaving barrier |                           | leaving barrier
//   place 0                                                               | fetches the rows, reports |
//
// The environment of place 0 counts for all places. Place 0 fetches the rows of other hosts' places from their servers.
// The report therefore includes places that have ended, and leaves out a host that is lost. Belongs to place 0's
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/shown_rows.h"

namespace situ::detail {

namespace cluster {
class far_place;
}
struct job_control;
struct job_options;

// The reports that the environment asks for.
struct observation {
  bool stats = false;
  bool trace = false;
};
// Reads this process's environment. Throws bad_argument if SITU_STATS is neither 0 nor 1.
[[nodiscard]] observation observation_by_environment();
// Returns the options of a job of `places` places without a launcher: its memory, too, is that of the environment.
[[nodiscard]] job_options options_of_own_job(std::uint32_t places, const observation& asked);

class own_report {
 public:
  // Reads the clocks of other hosts, for a trace. far: null in a job of one host; both outlive this. pre: the job
  // reports itself, all places have joined, and this is place 0.
  own_report(job_control& control, cluster::far_place* far);
  // Writes the report. Called once, when the places have ended their work, or the job is broken. Waits for other hosts'
  // servers only, and for none that is lost. Logs what it cannot fetch or write. From now on the place waits on its
  // wire without running tasks.
  void tell() noexcept;

 private:
  void fetch_from(std::uint16_t host);
  void look_at_clock_of(std::uint16_t host);

  job_control& control_;
  cluster::far_place* const far_;
  const std::string trace_file_;
  std::vector<clock_difference> clocks_;  // one for each host
};

}  // namespace situ::detail
