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
#include <utility>

extern char** environ;

namespace situ::studies {
namespace {

constexpr int look_ms = 100;  // at is_stopped()

// A stream of the program's, and where to it is read.
class child_stream {
 public:
  explicit child_stream(std::string& text) : text_{text} {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw_error(errc::bad_launch, std::string{"no pipe to a program: "} + std::strerror(errno));
  }
  ~child_stream() {
    close_end(0);
    close_end(1);
  }
  child_stream(const child_stream&) = delete;
  child_stream& operator=(const child_stream&) = delete;

  [[nodiscard]] int write_end() const noexcept { return ends_[1]; }
  void close_write_end() noexcept { close_end(1); }
  [[nodiscard]] pollfd awaited() const noexcept { return {.fd = ends_[0], .events = POLLIN, .revents = 0}; }
  // What there is; closes it at its end.
  void read() {
    std::array<char, 4096> part;
    const ssize_t count = ::read(ends_[0], part.data(), part.size());
    if (count > 0) text_.append(part.data(), static_cast<std::size_t>(count));
    if (count == 0) close_end(0);
  }
  [[nodiscard]] bool is_closed() const noexcept { return ends_[0] < 0; }

 private:
  void close_end(std::size_t which) noexcept {
    if (const int end = std::exchange(ends_[which], -1); end >= 0) ::close(end);
  }
  std::array<int, 2> ends_{-1, -1};
  std::string& text_;
};

// What the program writes, until it has closed its ends. False where it was stopped.
bool read_until_closed(std::array<child_stream*, 2> streams, const std::function<bool()>& is_stopped) {
  while (!streams[0]->is_closed() || !streams[1]->is_closed()) {
    if (is_stopped && is_stopped()) return false;
    std::array<pollfd, 2> ready{streams[0]->awaited(), streams[1]->awaited()};  // those of fd -1 are passed over
    if (::poll(ready.data(), ready.size(), look_ms) <= 0) continue;
    for (std::size_t i = 0; i < ready.size(); ++i)
      if (ready[i].revents != 0) streams[i]->read();
  }
  return true;
}

}  // namespace

std::string program_beside(const std::string& name) {
  const std::filesystem::path found = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  return ::access(found.c_str(), X_OK) == 0 ? found.string() : std::string{};
}

program_result run_program(const std::vector<std::string>& arguments, const std::function<bool()>& is_stopped) {
  program_result result;
  child_stream output{result.output}, errors{result.errors};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.write_end(), STDERR_FILENO);
  std::vector<char*> pointers;
  for (const std::string& each : arguments) pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw_error(errc::bad_launch, "cannot start " + arguments[0] + ": " + std::strerror(failure));
  output.close_write_end();
  errors.close_write_end();
  if (!read_until_closed({&output, &errors}, is_stopped)) {
    result.was_stopped = true;
    ::kill(child, SIGTERM);
  }
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
