// The tasks of mpirun, srun and the like: finds the rank and size of this process from the variables that its launcher
// set.
#include "launch/foreign.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "launch/launch.h"

namespace situ::detail {
namespace {

// The variables that a launcher sets for each of its tasks. Only variables of single tasks count: SLURM_NTASKS, for
// example, is also set for a batch script, which runs once.
struct launcher_variables {
  const char* launcher;
  const char* size;
  const char* rank;
  const char* size_here;  // tasks on this host; null: use `hosts`
  const char* hosts;      // null: use `size_here`
  const char* job;        // identifies its jobs; null: the parent process does
};
constexpr launcher_variables launchers[] = {
    {"mpirun (Open MPI)", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr,
     "PMIX_NAMESPACE"},
    {"mpirun (MVAPICH)", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", nullptr, nullptr},
    {"mpiexec (PMI)", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", nullptr, nullptr},
    {"srun (Slurm)", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", nullptr, "SLURM_STEP_NUM_NODES", "SLURM_STEP_ID"},
    {"flux run", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", nullptr, "FLUX_JOB_NNODES", "FLUX_JOB_ID"},
    {"jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_SIZE", nullptr, nullptr},
};

// Returns the number in a variable; `absent` if the variable is not set or not a number.
std::uint32_t number_in(const char* variable, std::uint32_t absent) {
  const char* const text = variable == nullptr ? nullptr : std::getenv(variable);
  if (text == nullptr) return absent;
  std::uint32_t value = absent;
  const char* const end = text + std::strlen(text);
  const auto [rest, failure] = std::from_chars(text, end, value);
  return failure == std::errc{} && rest == end ? value : absent;
}

[[noreturn]] void refuse(const char* launcher, const char* variable, std::string_view why) {
  throw_error(errc::bad_launch,
              fmt::format("{} started this program as one of several tasks ({}={}), and {}: each would be a job of one "
                          "place. On one machine, start it with `situ run -n N program`. To run that many jobs of one "
                          "place on purpose, set SITU_ALONE=1",
                          launcher, variable, std::getenv(variable), why));
}

// Returns the launcher's name of the job. If it sets none, the parent's number: all tasks that one launcher started
// share it.
std::string name_of_job(const launcher_variables& by) {
  const char* const job = by.job == nullptr ? nullptr : std::getenv(by.job);
  return job == nullptr ? fmt::format("{}", ::getppid()) : std::string{job};
}

}  // namespace

std::optional<foreign_task> read_foreign_task() {
  if (const char* const alone = std::getenv("SITU_ALONE"); alone != nullptr && std::strcmp(alone, "1") == 0) return {};
  constexpr std::uint32_t none = ~std::uint32_t{0};
  for (const launcher_variables& by : launchers) {
    const std::uint32_t size = number_in(by.size, 1);
    if (size < 2) continue;
    const std::uint32_t rank = number_in(by.rank, none);
    if (rank >= size) refuse(by.launcher, by.size, fmt::format("{} does not say which", by.rank));
    const bool spans_hosts = number_in(by.size_here, size) != size || number_in(by.hosts, 1) != 1;
    return foreign_task{.launcher = by.launcher,
                        .job = name_of_job(by),
                        .rank = rank,
                        .size = size,
                        .size_variable = by.size,
                        .spans_hosts = spans_hosts};
  }
  // PMIx gives no size, but rank 1 implies a rank 0.
  if (number_in("PMIX_RANK", 0) != 0) refuse("a PMIx launcher", "PMIX_RANK", "does not say of how many");
  return {};
}

void refuse_tasks(const foreign_task& self, std::string_view why) {
  refuse(self.launcher.c_str(), self.size_variable, why);
}

std::optional<std::string> other_launcher() {
  const std::optional<foreign_task> task = read_foreign_task();
  return task ? std::optional{task->launcher} : std::nullopt;
}

}  // namespace situ::detail
