#include "count_instructions.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace situ::test {
namespace {

constexpr int begin_signal = SIGUSR1;  // taken by the parent: the child has no handler of them
constexpr int end_signal = SIGUSR2;
constexpr int exit_untraced = 99;

// Resumes the child until it stops again. False where it has ended.
bool resume(pid_t child, bool by_steps, int signal, int& status) {
  if (::ptrace(by_steps ? PTRACE_SINGLESTEP : PTRACE_CONT, child, nullptr, signal) != 0) return false;
  return ::waitpid(child, &status, 0) == child && WIFSTOPPED(status);
}

// Parent and child take turns at each step: on one processor a turn is one switch, on two a sleep and a wake-up.
class on_one_processor {
 public:
  on_one_processor() noexcept {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ~on_one_processor() { ::sched_setaffinity(0, sizeof before_, &before_); }
  on_one_processor(const on_one_processor&) = delete;
  on_one_processor& operator=(const on_one_processor&) = delete;

 private:
  cpu_set_t before_{};
};

std::vector<std::uint64_t> follow(pid_t child, int& status) {
  std::vector<std::uint64_t> counts;
  bool counting = false;
  std::uint64_t steps = 0;
  for (int signal = 0; resume(child, counting, signal, status);) {
    signal = 0;
    switch (const int stopped_by = WSTOPSIG(status)) {
      case begin_signal:
        counting = true;
        steps = 0;
        break;
      case end_signal:
        counting = false;
        counts.push_back(steps);
        break;
      case SIGTRAP: ++steps; break;
      default: signal = stopped_by;
    }
  }
  return counts;
}

}  // namespace

void begin_steps() noexcept { ::raise(begin_signal); }
void end_steps() noexcept { ::raise(end_signal); }

std::vector<std::uint64_t> counts_of(void (*body)(), std::string& why) {
  const on_one_processor both;
  const pid_t child = ::fork();  // not test::fork_child: it is traced, and each stop is waited for
  if (child < 0) {
    why = std::string{"fork: "} + std::strerror(errno);
    return {};
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(exit_untraced);
    ::raise(SIGSTOP);
    body();
    ::_exit(0);
  }
  int status = 0;
  std::vector<std::uint64_t> counts;
  if (::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) counts = follow(child, status);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return counts;
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_untraced) {
    why = "this process may not be traced";
  } else {
    why = "the child has ended with status " + std::to_string(status);
    if (!WIFEXITED(status) && !WIFSIGNALED(status)) ::kill(child, SIGKILL), ::waitpid(child, nullptr, 0);
  }
  return {};
}

}  // namespace situ::test
