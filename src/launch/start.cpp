// Starts the processes of a job's places on this host.
#include "launch/start.h"

#include "os/child.h"
#include "os/signals.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <numeric>
#include <utility>

namespace situ::detail {
namespace {

// Returns the environment of the places. The last text names the place, if places are processes.
std::vector<std::string> environment_of_places(const program_options& options, int descriptor) {
  constexpr std::string_view ours[] = {"SITU_JOB_FD", "SITU_PLACE", "SITU_IN_PROCESS", "SITU_TAG"};
  std::vector<std::string> texts = os::own_environment(ours);
  texts.push_back(fmt::format("SITU_JOB_FD={}", descriptor));
  if (options.tag) texts.emplace_back("SITU_TAG=1");
  texts.emplace_back(options.in_process ? "SITU_IN_PROCESS=1" : "SITU_PLACE=0");
  return texts;
}

struct bound_processors {
  cpu_set_t sets[8];  // 8192 processors
};

std::vector<bound_processors> processor_sets(binding how) {
  std::vector<bound_processors> sets;
  if (how == binding::none) return sets;
  for (const std::vector<int>& group : binding_groups(how)) {
    bound_processors& made = sets.emplace_back();
    CPU_ZERO_S(sizeof made.sets, made.sets);
    for (const int processor : group) CPU_SET_S(processor, sizeof made.sets, made.sets);
  }
  return sets;
}

}  // namespace

descriptor_limit::descriptor_limit() {
  ::getrlimit(RLIMIT_NOFILE, &before_);
  rlimit raised = before_;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
}

std::vector<std::uint32_t> all_places(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  return all;
}

void start_places(const places_to_start& start, launch_monitor& monitor) {
  const program_options& options = start.options;
  const os::exec_texts arguments{{start.arguments.begin(), start.arguments.end()}};
  os::exec_texts environment{environment_of_places(options, start.shared.descriptor())};
  const std::vector<bound_processors> sets = processor_sets(options.bind);
  os::start_failures failures;
  if (!failures) throw_error(errc::bad_launch, fmt::format("cannot make a pipe: {}", ::strerrordesc_np(errno)));
  const std::size_t processes = options.in_process ? 1 : start.places.size();
  for (std::uint32_t i = 0; i < processes; ++i) {
    const std::uint32_t place = start.places[i];
    if (!options.in_process) environment.replace_last(fmt::format("SITU_PLACE={}", place));
    const auto in_child = [&start, &sets, i] {
      const bound_processors* const set = sets.empty() ? nullptr : &sets[i % sets.size()];
      if (set != nullptr && ::sched_setaffinity(0, sizeof set->sets, set->sets) != 0) return false;
      start.limit.restore();
      os::ignore_signal(SIGQUIT);  // a terminal sends it to the whole group, but it asks for the launcher's report
      return true;
    };
    const auto stream = [&start, i](int which) {
      return start.output != nullptr ? start.output->end_for(i, which) : os::program::inherited;
    };
    os::child process =
        os::child::start({.file = start.file.c_str(),
                          .arguments = arguments,
                          .environment = &environment,
                          // Standard input belongs to the first place. Otherwise a place would read input of another.
                          .input = place == 0 ? os::program::inherited : os::program::nothing,
                          .output = stream(STDOUT_FILENO),
                          .errors = stream(STDERR_FILENO),
                          .kept = {start.shared.descriptor(), -1},
                          .mask = start.signals != nullptr ? &start.signals->mask_before() : nullptr},
                         {.signal_at_parents_end = SIGKILL, .in_child = in_child}, failures, place);
    if (!process)
      throw_error(errc::bad_launch, fmt::format("cannot start a process for place {} of {}: {}", place,
                                                start.shared.control().place_count, ::strerrordesc_np(errno)));
    monitor.watch(std::move(process), place, options.in_process ? static_cast<std::uint32_t>(start.places.size()) : 1);
  }
  if (const auto failure = failures.wait())
    throw_error(errc::bad_launch, fmt::format("cannot start \"{}\" as place {}: {}", start.file, failure->number,
                                              ::strerrordesc_np(failure->reason)));
}

}  // namespace situ::detail
