// What a job tells of itself that no launcher of Situ's has made: a program alone, or tasks of mpirun, srun and the
// like.
//
//   SITU_STATS=1      the tables of `situ run --stats`, to the standard error of place 0
//   SITU_TRACE=FILE   the trace of `situ run --trace FILE`, which place 0 writes
//
//   all places   leaving barrier | take in what is left | leaving barrier |                         | leaving barrier
//   place 0                                                               | fetches the rows, tells |
//
// What place 0 has in its environment counts for all. It fetches the rows of other hosts' places from their servers, so
// a place that has ended is told, too, and a host that is lost is left out. Belongs to place 0's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/job.h"
#include "runtime/shown_rows.h"

namespace situ::detail {

class place_network;

// What is asked for.
struct observation {
  bool stats = false;
  bool trace = false;
};
// By this process's environment. Throws bad_argument where SITU_STATS is neither 0 nor 1.
[[nodiscard]] observation observation_by_environment();
// A job of so many places, for what has no launcher: its memory is by the environment as well.
[[nodiscard]] job_options options_of_own_job(std::uint32_t places, const observation& asked);

class own_report {
 public:
  // Looks at the clocks of other hosts, for a trace. network: null in a job of one host; both outlive this. pre: the
  // job tells itself, all have joined, and this is place 0.
  own_report(job_control& control, place_network* network);
  // Once, when places have ended what they do, or the job is broken. Waits for other hosts' servers alone, and for none
  // that is lost. Logs what cannot be had or written. The place waits on its wire alone from now on.
  void tell() noexcept;

 private:
  void fetch_from(std::uint16_t host);
  void look_at_clock_of(std::uint16_t host);

  job_control& control_;
  place_network* const network_;
  const std::string trace_file_;
  std::vector<clock_difference> clocks_;  // of each host
};

}  // namespace situ::detail
