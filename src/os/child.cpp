#include "os/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "os/worker.h"

namespace situ::os {
namespace {

constexpr int not_started = 127;  // the exit code, as a shell has it
constexpr int look_ms = 100;      // at is_stopped()

char* const* environment_of(const program& what) noexcept {
  return what.environment != nullptr ? what.environment->data() : environ;
}

// --- Fork and exec: in the child -------------------------------------------------------------------------------------

bool become_stream(int from, int stream) noexcept {
  if (from == program::inherited) return true;
  if (from == program::nothing) from = ::open("/dev/null", (stream == STDIN_FILENO ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
  return from == stream ? ::fcntl(stream, F_SETFD, 0) == 0 : from >= 0 && ::dup2(from, stream) >= 0;
}

// Has the child end, by this signal, when its parent does; 0: does nothing.
void end_with(pid_t parent, int signal) noexcept {
  if (signal == 0) return;
  ::prctl(PR_SET_PDEATHSIG, signal);
  if (::getppid() != parent) ::_exit(EXIT_FAILURE);  // the parent ended before the line above
}

// Returns with errno if the child has not become the program.
void become(const program& what, const child_setup& setup, const sigset_t& mask) noexcept {
  if (!become_stream(what.input, STDIN_FILENO) || !become_stream(what.output, STDOUT_FILENO) ||
      !become_stream(what.errors, STDERR_FILENO))
    return;
  if (setup.in_child && !setup.in_child()) return;
  for (const int each : what.kept)
    if (each >= 0) ::fcntl(each, F_SETFD, 0);
  for (int each = 1; what.has_default_signals && each < NSIG; ++each) ::signal(each, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (what.is_in_path)
    ::execvpe(what.file, what.arguments.data(), environment_of(what));
  else
    ::execve(what.file, what.arguments.data(), environment_of(what));
}

// --- posix_spawn -----------------------------------------------------------------------------------------------------

// The attributes and actions of posix_spawn for a program. Functions return errno's value, or 0.
class spawn_form {
 public:
  spawn_form() noexcept {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~spawn_form() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&files_);
  }
  spawn_form(const spawn_form&) = delete;
  spawn_form& operator=(const spawn_form&) = delete;

  int fill(const program& what) noexcept {
    int failed = add_stream(what.input, STDIN_FILENO);
    if (failed == 0) failed = add_stream(what.output, STDOUT_FILENO);
    if (failed == 0) failed = add_stream(what.errors, STDERR_FILENO);
    // Equal numbers: stays open at exec.
    for (const int each : what.kept)
      if (failed == 0 && each >= 0) failed = ::posix_spawn_file_actions_adddup2(&files_, each, each);
    short flags = 0;
    if (what.mask != nullptr) {
      ::posix_spawnattr_setsigmask(&attributes_, what.mask);
      flags |= POSIX_SPAWN_SETSIGMASK;
    }
    if (what.has_default_signals) {
      sigset_t all;
      ::sigfillset(&all);
      ::posix_spawnattr_setsigdefault(&attributes_, &all);
      flags |= POSIX_SPAWN_SETSIGDEF;
    }
    ::posix_spawnattr_setflags(&attributes_, flags);
    return failed;
  }
  int start(const program& what, pid_t& process) const noexcept {
    const auto spawn = what.is_in_path ? &::posix_spawnp : &::posix_spawn;
    return spawn(&process, what.file, &files_, &attributes_, what.arguments.data(), environment_of(what));
  }

 private:
  int add_stream(int from, int stream) noexcept {
    if (from == program::inherited) return 0;
    if (from == program::nothing)
      return ::posix_spawn_file_actions_addopen(&files_, stream, "/dev/null",
                                                stream == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
    return ::posix_spawn_file_actions_adddup2(&files_, from, stream);
  }

  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

// --- What a program gets ---------------------------------------------------------------------------------------------

exec_texts::exec_texts(std::vector<std::string> texts) : texts_{std::move(texts)} {
  for (std::string& text : texts_) pointers_.push_back(text.data());
  pointers_.push_back(nullptr);
}

void exec_texts::replace_last(std::string text) {
  texts_.back() = std::move(text);
  pointers_[texts_.size() - 1] = texts_.back().data();
}

std::vector<std::string> own_environment(std::span<const std::string_view> without) {
  std::vector<std::string> texts;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text{*each};
    if (std::ranges::find(without, text.substr(0, text.find('='))) == without.end()) texts.emplace_back(text);
  }
  return texts;
}

int become_program(const std::string& file, std::vector<std::string> arguments) {
  const exec_texts texts{std::move(arguments)};
  ::execv(file.c_str(), texts.data());
  return errno;
}

// --- The process -----------------------------------------------------------------------------------------------------

void continue_in_child() noexcept {
  if (const pid_t child = ::fork(); child != 0) ::_exit(child < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

std::optional<start_failure> start_failures::wait() noexcept {
  ends_.write.close();
  start_failure failure{};
  ssize_t length = 0;
  do length = ::read(ends_.read.number(), &failure, sizeof failure);
  while (length < 0 && errno == EINTR);
  return length == static_cast<ssize_t>(sizeof failure) ? std::optional{failure} : std::nullopt;
}

child& child::operator=(child&& other) noexcept {
  if (this == &other) return *this;
  end_now();
  id_ = std::exchange(other.id_, -1);
  end_ = std::move(other.end_);
  return *this;
}

child child::start(const program& what) noexcept {
  spawn_form form;
  pid_t process = -1;
  int failed = form.fill(what);
  if (failed == 0) failed = form.start(what, process);
  if (failed == 0) return child{process};
  errno = failed;
  return {};
}

child child::start(const program& what, const child_setup& setup, const start_failures& failures,
                   std::uint32_t number) noexcept {
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  const pid_t parent = ::getpid();
  const signals_blocked held;  // else a handler of this program could run in the child
  const pid_t process = ::fork();
  if (process != 0) return child{process};
  end_with(parent, setup.signal_at_parents_end);
  become(what, setup, what.mask != nullptr ? *what.mask : before);
  const start_failure failure{errno, number};
  [[maybe_unused]] const ssize_t ignored = ::write(failures.ends_.write.number(), &failure, sizeof failure);
  ::_exit(not_started);
}

child child::fork(const std::function<int()>& body, int signal_at_parents_end) {
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process != 0) return child{process};
  end_with(parent, signal_at_parents_end);
  ::_exit([&]() noexcept { return body(); }());  // an exception must not get into the caller's frames
}

int child::watch() noexcept {
  end_ = descriptor{static_cast<int>(::syscall(SYS_pidfd_open, id_, 0))};
  // These two errors cannot mean that a right is missing.
  return end_ || errno == ENOSYS || errno == EPERM ? 0 : errno;
}

void child::send(int signal) const noexcept {
  if (id_ <= 0) return;
  if (!end_ ||
      (::syscall(SYS_pidfd_send_signal, end_.number(), signal, nullptr, 0) != 0 && (errno == ENOSYS || errno == EPERM)))
    ::kill(id_, signal);
}

bool child::is_over() const noexcept {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno == ECHILD
                                                                                          : info.si_pid != 0;
}

std::optional<exit_status> child::status(int options) noexcept {
  siginfo_t info{};
  int waited = 0;
  do waited = ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | options);
  while (waited != 0 && errno == EINTR);
  if (waited == 0 && info.si_pid == 0) return std::nullopt;
  id_ = -1;
  if (waited != 0) return exit_status{.is_known = false};
  return info.si_code == CLD_EXITED ? exit_status{.code = info.si_status} : exit_status{.signal = info.si_status};
}

void child::leave_to_parent() noexcept {
  id_ = -1;
  end_.close();
}

// Looks first: the number of a child that was waited for elsewhere may belong to another process.
void child::end_now() noexcept {
  if (id_ <= 0) return;
  const int before = errno;
  if (!try_wait()) {
    send(SIGKILL);
    wait();
  }
  errno = before;
}

// --- Children that no object owns ------------------------------------------------------------------------------------

namespace {

pid_t look_for_ended_child(int options) noexcept {
  siginfo_t ended{};
  return ::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT | options) == 0 ? ended.si_pid : -1;
}

}  // namespace

pid_t find_ended_child() noexcept { return look_for_ended_child(WNOHANG); }

pid_t await_ended_child() noexcept { return look_for_ended_child(0); }

void drop_ended_child(pid_t process) noexcept { ::waitpid(process, nullptr, WNOHANG); }

// --- What it writes --------------------------------------------------------------------------------------------------

void output_capture::stream::read_some() {
  std::array<char, 65536> part;
  const ssize_t count = ::read(ends.read.number(), part.data(), part.size());
  if (count > 0)
    text.append(part.data(), static_cast<std::size_t>(count));
  else if (count == 0 || (errno != EINTR && errno != EAGAIN))
    ends.read.close();
}

bool output_capture::read_until_closed(const std::function<bool()>& is_stopped) {
  const std::array both{&output_, &errors_};
  for (stream* const each : both) each->ends.write.close();
  while (output_.ends.read || errors_.ends.read) {
    if (is_stopped && is_stopped()) return false;
    std::array<pollfd, 2> ready;  // a descriptor of -1 is passed over
    for (std::size_t i = 0; i < both.size(); ++i)
      ready[i] = {.fd = both[i]->ends.read.number(), .events = POLLIN, .revents = 0};
    if (::poll(ready.data(), ready.size(), look_ms) <= 0) continue;
    for (std::size_t i = 0; i < both.size(); ++i)
      if (ready[i].revents != 0) both[i]->read_some();
  }
  return true;
}

std::optional<captured_program> run_and_capture(program what) {
  output_capture streams;
  if (!streams) return std::nullopt;
  what.output = streams.output_end();
  child process = child::start(what);
  if (!process) return std::nullopt;
  (void)streams.read_until_closed({});
  return captured_program{std::move(streams.output()), process.wait()};
}

}  // namespace situ::os
