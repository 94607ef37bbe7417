#include "support/child_program.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace situ::studies {
namespace {

constexpr int look_ms = 100;  // at is_stopped()

// What the program writes, until it has closed its end. False where it was stopped.
bool read_until_closed(int from, std::string& output, const std::function<bool()>& is_stopped) {
  std::array<char, 4096> part;
  while (true) {
    if (is_stopped && is_stopped()) return false;
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, look_ms) <= 0) continue;
    const ssize_t count = ::read(from, part.data(), part.size());
    if (count == 0) return true;
    if (count > 0) output.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string program_beside(const std::string& name) {
  const std::filesystem::path found = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  return ::access(found.c_str(), X_OK) == 0 ? found.string() : std::string{};
}

program_result run_program(const std::vector<std::string>& arguments, const std::function<bool()>& is_stopped) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw_error(errc::bad_launch, std::string{"no pipe to a program: "} + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> pointers;
  for (const std::string& each : arguments) pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  program_result result;
  if (failure == 0 && !read_until_closed(ends[0], result.output, is_stopped)) {
    result.was_stopped = true;
    ::kill(child, SIGTERM);
  }
  ::close(ends[0]);
  if (failure != 0) throw_error(errc::bad_launch, "cannot start " + arguments[0] + ": " + std::strerror(failure));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
