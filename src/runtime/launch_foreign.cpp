// Tells a program that another launcher started as many one-place jobs that it is not what its user meant.
#include "runtime/launch.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace situ::detail {
namespace {

// What launchers put into the environment of a task: the variable, the least value that means several tasks, and who
// sets it. Only variables of one task count: SLURM_NTASKS, for one, is also set for a batch script, which runs once.
struct trace_of_launcher {
  const char* variable;
  std::uint64_t several;
  const char* launcher;
};
constexpr trace_of_launcher traces[] = {
    {"OMPI_COMM_WORLD_SIZE", 2, "mpirun (Open MPI)"},
    {"PMI_SIZE", 2, "mpiexec (PMI)"},
    {"MV2_COMM_WORLD_SIZE", 2, "mpirun (MVAPICH)"},
    {"SLURM_STEP_NUM_TASKS", 2, "srun (Slurm)"},
    {"FLUX_JOB_SIZE", 2, "flux run"},
    {"JSM_NAMESPACE_SIZE", 2, "jsrun"},
    {"PMIX_RANK", 1, "a PMIx launcher"},  // PMIx names no size, but rank 1 has a rank 0 beside it
};

bool allowed_alone() {
  const char* const alone = std::getenv("SITU_ALONE");
  return alone != nullptr && std::strcmp(alone, "1") == 0;
}

std::uint64_t number(const char* text) {
  std::uint64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace

void refuse_foreign_singletons() {
  if (allowed_alone()) return;
  for (const trace_of_launcher& trace : traces) {
    const char* const value = std::getenv(trace.variable);
    if (value == nullptr || number(value) < trace.several) continue;
    throw_error(errc::bad_launch, fmt::format("{} started this program as one of several tasks ({}={}), and Situ "
                                              "cannot join its tasks into one job: each would be "
                                              "a job of one place. On one machine, start it with `situ run -n N "
                                              "program`. To run that many jobs of one place "
                                              "on purpose, set SITU_ALONE=1",
                                              trace.launcher, trace.variable, value));
  }
}

}  // namespace situ::detail
