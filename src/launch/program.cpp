// `situ run`: the places of a job as processes that execute a program.
#include "launch/launch.h"

#include "launch/monitor.h"
#include "launch/output.h"
#include "launch/start.h"
#include "os/find_program.h"

#include <situ/base/error_code.h>

#include <memory>
#include <optional>

namespace situ::detail {
launch_result launch_program(const program_options& options, std::span<const std::string> arguments) {
  if (arguments.empty()) throw_error(errc::bad_argument, "no program to start");
  if (options.in_process && (options.tag || options.bind != binding::none))
    throw_error(errc::bad_argument, "--tag and --bind are for places as processes; leave --in-process or them out");
  const std::string file = os::find_program(arguments[0]);
  job shared = job::create(options.job);

  const descriptor_limit limit;
  std::optional<os::passed_signals> signals;
  if (options.forward_signals) signals.emplace();
  const os::passed_signals* const passed = signals ? &*signals : nullptr;
  std::unique_ptr<labelled_output> output;  // ends after the monitor: then no place writes any more
  if (options.tag) output = std::make_unique<labelled_output>(options.job.place_count);
  launch_monitor::limits limits{
      .grace = options.grace, .time_limit = options.time_limit, .watchdog = options.watchdog, .reports_on_quit = true};
  if (options.report) limits.report = [&](std::string_view why) { options.report(shared.control(), why); };
  launch_monitor monitor{shared.control(), limits, passed};
  start_places({.options = options,
                .file = file,
                .arguments = arguments,
                .shared = shared,
                .places = all_places(options.job.place_count),
                .output = output ? &output->pipes() : nullptr,
                .signals = passed,
                .limit = limit},
               monitor);
  // The descriptor stays open: `situ top` finds the job by it.
  if (output != nullptr) output->start();
  launch_result result = monitor.run();
  output.reset();
  if (options.finished) options.finished(shared.control());
  return result;
}

}  // namespace situ::detail
