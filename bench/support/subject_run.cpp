#include "subject_run.h"

#include "page.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace situ::bench {
namespace {

volatile sig_atomic_t interruption = 0;
constexpr std::array handled_signals{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, handled_signals.size()> previous_actions;

using clock = std::chrono::steady_clock;

class descriptor {
 public:
  explicit descriptor(int fd = -1) noexcept : fd_{fd} {}
  descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() { reset(); }
  void reset() noexcept {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void throw_errno(const char* what) { throw std::system_error{errno, std::generic_category(), what}; }

struct pipe_ends {
  descriptor read;
  descriptor write;
};

pipe_ends make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe");
  return {descriptor{ends[0]}, descriptor{ends[1]}};
}

// Unnamed, and reached by path: mpirun closes the descriptors that its ranks inherit.
descriptor make_page() {
  descriptor page{memfd_create("situ-bench-page", MFD_CLOEXEC)};
  if (page.get() < 0 || ftruncate(page.get(), BENCH_PAGE_BYTES) != 0) throw_errno("memfd_create");
  return page;
}

std::vector<std::string> environment_of(const subject_request& request, int page) {
  std::vector<std::string> added;
  for (const auto& [name, value] : request.environment) added.push_back(name + "=" + value);
  std::string cases = ",";
  for (const std::string& name : request.cases) cases += name + ",";
  added.push_back("SITU_BENCH_PAGE=/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(page));
  added.push_back("SITU_BENCH_CASES=" + cases);
  added.push_back("SITU_BENCH_SECONDS=" + std::to_string(request.seconds));
  return added;
}

// In the child. A process group of its own, so that all of it can be ended; it ends with its parent.
[[noreturn]] void become(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                         int output, int errors) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const int signal_number : handled_signals) signal(signal_number, SIG_DFL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // a rival crashes as a matter of course
  for (const std::string& setting : environment) putenv(const_cast<char*>(setting.c_str()));
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, 0);
  dup2(output, 1);
  dup2(errors, 2);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  dprintf(2, "cannot run %s: %s\n", arguments[0], strerror(errno));
  _exit(127);
}

pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment, int output,
            int errors) {
  const pid_t child = fork();
  if (child < 0) throw_errno("fork");
  if (child == 0) become(command, environment, output, errors);
  setpgid(child, child);  // here too: whoever comes first
  return child;
}

// Reads what there is; false at the end.
bool read_into(descriptor& from, std::string& text) {
  char buffer[65536];
  const ssize_t n = read(from.get(), buffer, sizeof buffer);
  if (n > 0)
    text.append(buffer, static_cast<std::size_t>(n));
  else if (n == 0 || (errno != EINTR && errno != EAGAIN))
    from.reset();
  return from.get() >= 0;
}

// Takes whole lines off the text.
void take_lines(std::string& text, subject_outcome& outcome) {
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line{text.data() + begin, end - begin};
    if (auto s = parse_sample(line))
      outcome.samples.push_back(std::move(*s));
    else if (auto flags = parse_flags_line(line))
      outcome.flags.push_back(std::move(*flags));
    else if (is_end_line(line))
      outcome.end = subject_end::complete;
  }
  text.erase(0, begin);
}

// Reads both pipes until both are closed, the time is over, or a signal came.
void collect(descriptor output, descriptor errors, clock::time_point deadline, subject_outcome& outcome) {
  std::string pending;
  constexpr std::size_t kept = 4000;
  while (output.get() >= 0 || errors.get() >= 0) {
    if (interruption != 0 || clock::now() > deadline) {
      outcome.end = interruption != 0 ? subject_end::interrupted : subject_end::timed_out;
      return;
    }
    pollfd ready[2] = {{output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}};  // poll skips negative descriptors
    if (poll(ready, 2, 200) <= 0) continue;
    if (ready[0].revents != 0) {
      read_into(output, pending);
      take_lines(pending, outcome);
    }
    if (ready[1].revents != 0) read_into(errors, outcome.error_output);
    if (outcome.error_output.size() > kept) outcome.error_output.erase(0, outcome.error_output.size() - kept);
  }
}

// Waits for the child so long; whether it is gone.
bool reap_within(pid_t child, std::chrono::milliseconds time) {
  const auto deadline = clock::now() + time;
  do {
    const pid_t reaped = waitpid(child, nullptr, WNOHANG);
    if (reaped == child || (reaped < 0 && errno == ECHILD)) return true;
    usleep(5000);
  } while (clock::now() < deadline);
  return false;
}

// Politely first: mpirun and `situ run` end the ranks that they started.
void end_process_group(pid_t child, bool finished) {
  using namespace std::chrono_literals;
  if (finished && reap_within(child, 10s)) {
    kill(-child, SIGKILL);
    return;
  }
  kill(child, SIGTERM);
  const bool gone = reap_within(child, 5s);
  kill(-child, SIGKILL);
  if (!gone) waitpid(child, nullptr, 0);
}

// The processes that this one has, its own children and the orphans that it adopted.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::ifstream list{"/proc/self/task/" + std::to_string(getpid()) + "/children"};
  for (pid_t child; list >> child;) found.push_back(child);
  return found;
}

// Ranks outlive a launcher that is killed, in process groups of their own. Adopted (PR_SET_CHILD_SUBREAPER) they are
// ended here.
void end_orphans() {
  for (int round = 0; round < 200; ++round) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {}
    const std::vector<pid_t> left = children();
    if (left.empty()) return;
    if (round > 20)  // they had 100 ms to end by themselves
      for (const pid_t orphan : left) kill(orphan, SIGKILL);
    usleep(5000);
  }
}

void note_interruption(int signal_number) { interruption = signal_number; }

}  // namespace

subject_outcome run_subject(const subject_request& request) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const descriptor page = make_page();
  pipe_ends output = make_pipe(), errors = make_pipe();
  const auto environment = environment_of(request, page.get());
  const pid_t child = start(request.command, environment, output.write.get(), errors.write.get());
  output.write.reset();
  errors.write.reset();
  subject_outcome outcome;
  collect(std::move(output.read), std::move(errors.read), clock::now() + request.timeout, outcome);
  end_process_group(child, outcome.end == subject_end::complete || outcome.end == subject_end::failed);
  end_orphans();
  return outcome;
}

interruption_guard::interruption_guard() {
  interruption = 0;
  struct sigaction action{};
  action.sa_handler = note_interruption;
  for (std::size_t i = 0; i < handled_signals.size(); ++i) sigaction(handled_signals[i], &action, &previous_actions[i]);
}

interruption_guard::~interruption_guard() {
  for (std::size_t i = 0; i < handled_signals.size(); ++i) sigaction(handled_signals[i], &previous_actions[i], nullptr);
}

bool interruption_guard::interrupted() noexcept { return interruption != 0; }

namespace {

// Waits for the command; an interruption ends it.
int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    if (interruption != 0) kill(-child, SIGTERM);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

int run_quietly(const std::vector<std::string>& command) {
  const descriptor nowhere{open("/dev/null", O_WRONLY | O_CLOEXEC)};
  return status_of(start(command, {}, nowhere.get(), nowhere.get()));
}

int run_saying(const std::vector<std::string>& command) { return status_of(start(command, {}, 2, 2)); }

std::string output_of(const std::vector<std::string>& command) {
  const descriptor nowhere{open("/dev/null", O_WRONLY | O_CLOEXEC)};
  pipe_ends output = make_pipe();
  const pid_t child = start(command, {}, output.write.get(), nowhere.get());
  output.write.reset();
  std::string text;
  while (read_into(output.read, text)) {}
  return status_of(child) == 0 ? text : "";
}

}  // namespace situ::bench
