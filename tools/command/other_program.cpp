#include "other_program.h"

#include "base/print.h"
#include "os/descriptor.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace fs = std::filesystem;
using situ::errc;
using situ::throw_error;

namespace {

using situ::detail::tell;

constexpr int look_ms = 50;
// The signals by which a person or a batch system ends a program, reloads it or queries it.
constexpr int signals_to_pass[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> made;
  for (std::string& text : texts) made.push_back(text.data());
  made.push_back(nullptr);
  return made;
}

}  // namespace

std::string preloaded_library() {
  std::error_code ignored, unknown;
  const fs::path here = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  if (unknown)  // a library from the current folder must not get into programs
    throw_error(errc::bad_launch, fmt::format("where this command lies cannot be seen (/proc/self/exe): {}, and so not "
                                              "where libsitu_intent.so is",
                                              unknown.message()));
  const fs::path places[] = {here.parent_path() / SITU_LIBRARY_DIRECTORY, here};
  for (const fs::path& folder : places)
    if (fs::path file = folder / "libsitu_intent.so"; fs::exists(file, ignored)) return file.string();
  throw_error(errc::bad_launch,
              fmt::format("libsitu_intent.so, which is brought into programs, is neither in {} nor in {}; "
                          "install Situ anew",
                          places[0].string(), places[1].string()));
}

passed_signals::passed_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals_to_pass) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  descriptor_ = situ::detail::above_standard(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (descriptor_ >= 0) return;
  const int reason = errno;  // signals that are blocked and unread would end nothing
  restore();
  throw_error(errc::bad_launch, fmt::format("signals cannot be passed on: {}", std::strerror(reason)));
}
passed_signals::~passed_signals() {
  signalfd_siginfo late{};  // a pending signal would end this program instead
  while (::read(descriptor_, &late, sizeof late) > 0) {}
  ::close(descriptor_);
  restore();
}
void passed_signals::restore() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
// Passes signals on, except for a terminal's: the terminal has sent it to the program, too.
void passed_signals::pass_to(pid_t program) const {
  signalfd_siginfo got{};
  while (::read(descriptor_, &got, sizeof got) == static_cast<ssize_t>(sizeof got))
    if (got.ssi_code != SI_KERNEL) ::kill(program, static_cast<int>(got.ssi_signo));
}

std::vector<std::string> environment_with(const std::string& library, std::string_view variable,
                                          const std::string& value) {
  std::vector<std::string> texts;
  constexpr std::string_view loaded_before = "LD_PRELOAD=";
  std::string preloaded = library;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text{*each};
    if (text.starts_with(loaded_before)) {
      if (text.size() > loaded_before.size())
        preloaded = fmt::format("{}:{}", text.substr(loaded_before.size()), library);
    } else if (!text.starts_with(fmt::format("{}=", variable))) {
      texts.emplace_back(text);
    }
  }
  texts.push_back(std::string{loaded_before} + preloaded);
  texts.push_back(fmt::format("{}={}", variable, value));
  return texts;
}

started_program start_program(const std::string& file, std::vector<std::string> arguments,
                              std::vector<std::string> environment, const passed_signals& signals,
                              const std::function<void()>& in_child) {
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0 || !situ::detail::above_standard(failure))
    throw_error(errc::bad_launch, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t launcher = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(EXIT_FAILURE);
    in_child();
    signals.restore();
    ::execve(file.c_str(), argument_pointers.data(), environment_pointers.data());
    const int reason = errno;
    [[maybe_unused]] const ssize_t ignored = ::write(failure[1], &reason, sizeof reason);
    ::_exit(127);
  }
  ::close(failure[1]);
  int reason = child < 0 ? errno : 0;
  // Opened at once: a program that cannot be watched ends before it has begun anything. If the system refuses the
  // call, the end is polled for.
  const int end = child < 0 ? -1 : situ::detail::above_standard(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (child > 0 && end < 0 && errno != ENOSYS && errno != EPERM) {
    const int unwatched = errno;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(failure[0]);
    throw_error(errc::bad_launch, fmt::format("cannot wait for \"{}\": {}", file, std::strerror(unwatched)));
  }
  ssize_t told = 0;
  if (child > 0) {
    do told = ::read(failure[0], &reason, sizeof reason);
    while (told < 0 && errno == EINTR);
  }
  if (told > 0) {
    ::waitpid(child, nullptr, 0);
    if (end >= 0) ::close(end);
  }
  ::close(failure[0]);
  if (reason != 0) throw_error(errc::bad_launch, fmt::format("cannot start \"{}\": {}", file, std::strerror(reason)));
  return {child, end};
}

// Tells whether a child has ended, without reaping it.
static bool is_over(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno == ECHILD
                                                                                            : info.si_pid != 0;
}

ended_program wait_for_program(const started_program& program, const passed_signals& signals,
                               const std::function<void()>& look, std::chrono::milliseconds time_limit,
                               std::optional<descendants>& others) {
  using clock = std::chrono::steady_clock;
  const auto until = clock::now() + time_limit;
  ended_program result{};
  while (true) {
    pollfd both[] = {{program.end, POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    ::poll(both, std::size(both), look_ms);
    if (both[1].revents != 0) signals.pass_to(program.process);
    look();
    if (program.end >= 0 ? both[0].revents != 0 : is_over(program.process)) break;
    if (!others) continue;
    others->reap(program.process);
    if (clock::now() < until || result.is_late) continue;
    result.is_late = true;
    ::kill(program.process, SIGKILL);
  }
  if (program.end >= 0) ::close(program.end);
  while (::waitpid(program.process, &result.status, 0) < 0 && errno == EINTR) {}
  if (!result.is_late) return result;
  try {
    for (const pid_t left : others->end_all())
      tell("situ: process {} of the program could not be ended (kill it as its user)\n", left);
  } catch (const situ::error& unseen) {
    tell("situ: {}\n", unseen.message());
  }
  return result;
}

void end_by_signal(int signal) {
  std::fflush(nullptr);
  const rlimit no_core{0, 0};  // if a core is written, the program has written it
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}
