// `situ run`: the places of a job as processes that execute a program.
#include "launch/launch.h"

#include "launch/monitor.h"
#include "launch/output.h"
#include "launch/start.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

namespace situ::detail {
namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string why_not_executable(const fs::path& path) {
  std::error_code failed;
  const fs::file_status found = fs::status(path, failed);
  if (found.type() == fs::file_type::not_found) return "there is no such file";
  if (failed) return failed.message();
  return fs::is_directory(found) ? "it is a folder" : "it is not executable (chmod +x)";
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_executable(name)) return name;
    throw_error(errc::bad_launch, fmt::format("cannot start \"{}\": {}", name, why_not_executable(name)));
  }
  std::vector<std::string> folders;
  std::error_code unknown;  // without the path of this program, only PATH is searched
  if (const fs::path own = fs::read_symlink("/proc/self/exe", unknown); !unknown)
    folders.push_back(own.parent_path().string());
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const std::string& folder : folders)
    if (is_executable(fs::path{folder} / name)) return fs::path{folder} / name;
  throw_error(
      errc::bad_launch,
      fmt::format(
          "cannot find the program \"{}\"; looked beside situ and in PATH: {}{}", name, fmt::join(folders, ", "),
          is_executable(name) ? fmt::format(". There is one in this folder: write ./{}", name) : std::string{}));
}

launch_result launch_program(const program_options& options, std::span<const std::string> arguments) {
  if (arguments.empty()) throw_error(errc::bad_argument, "no program to start");
  if (options.in_process && (options.tag || options.bind != binding::none))
    throw_error(errc::bad_argument, "--tag and --bind are for places as processes; leave --in-process or them out");
  const std::string file = find_program(arguments[0]);
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
