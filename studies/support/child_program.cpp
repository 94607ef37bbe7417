#include "support/child_program.h"

#include <situ/base/error.h>

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "os/child.h"

namespace situ::studies {
std::string program_beside(const std::string& name) {
  const std::filesystem::path found = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  return ::access(found.c_str(), X_OK) == 0 ? found.string() : std::string{};
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
