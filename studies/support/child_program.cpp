#include "support/child_program.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "os/child.h"
#include "os/find_program.h"

namespace situ::studies {

std::string missing_programs(const std::vector<std::string_view>& names) {
  std::vector<std::string_view> missing, targets{"situ-study", "situ-model"};  // the study runs in the build then
  for (const std::string_view name : names) {
    if (!os::find_own_program(std::string{name}).empty()) continue;
    missing.push_back(name);
    if (std::ranges::find(targets, name) == targets.end()) targets.push_back(name);
  }
  if (missing.empty()) return {};
  return fmt::format(
      "{} {} not in {}: in Situ's sources run `cmake --build build/release --target {}`, then "
      "`build/release/bin/situ study`",
      fmt::join(missing, " and "), missing.size() == 1 ? "is" : "are", fmt::join(os::own_program_folders(), " or "),
      fmt::join(targets, " "));
}

program_result run_program(const std::vector<std::string>& arguments, const std::function<bool()>& is_stopped) {
  os::output_capture streams;
  if (!streams) throw_error(errc::bad_launch, std::string{"no pipe to a program: "} + std::strerror(errno));
  const os::exec_texts texts{arguments};
  os::child program = os::child::start({.file = arguments[0].c_str(),
                                        .arguments = texts,
                                        .output = streams.output_end(),
                                        .errors = streams.errors_end()});
  if (!program) throw_error(errc::bad_launch, "cannot start " + arguments[0] + ": " + std::strerror(errno));
  program_result result;
  result.was_stopped = !streams.read_until_closed(is_stopped);
  if (result.was_stopped) program.send(SIGTERM);
  result.exit_code = program.wait().shell_code();
  result.output = std::move(streams.output());
  result.errors = std::move(streams.errors());
  return result;
}

study_folder::study_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "situ-study-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw_error(errc::bad_file, "cannot make a folder " + name + ": " + std::strerror(errno));
  path_ = name;
}

study_folder::~study_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace situ::studies
