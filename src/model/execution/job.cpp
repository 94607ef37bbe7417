// The job of a modelled run: its places are threads, each on a core of its own tile. This file is compiled with the
// hooks, as it makes the library's own structures.
#include "memory/job.h"

#include <fcntl.h>

#include <cstdlib>
#include <new>
#include <string>

#include "model/execution/calls.h"

extern "C" void situ_model_make_job(std::uint32_t places) {
  using situ::detail::job;
  auto& made = *new job{job::create({.place_count = places})};  // lives until the process ends
  made.control().oversubscribed = false;                        // each place has a core
  made.control().sender_fences = false;                         // no store waits in a buffer
  ::fcntl(made.descriptor(), F_SETFD, 0);
  ::setenv("SITU_JOB_FD", std::to_string(made.descriptor()).c_str(), 1);
  ::setenv("SITU_IN_PROCESS", "1", 1);
}
