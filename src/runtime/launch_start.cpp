// Starts the processes of a job's places on this host.
#include "runtime/launch_start.h"

#include "os/descriptor.h"

#include <situ/base/error_code.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

namespace situ::detail {
namespace {

// Signals that a person or a batch system sends to end, reload or query a program; the kernel handles those that stop
// and continue.
constexpr int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// The environment of a place, made before the fork: a child of a program with threads must not allocate.
class place_environment {
 public:
  place_environment(const program_options& options, int descriptor) {
    for (char** each = environ; *each != nullptr; ++each)
      if (!is_ours(*each)) texts_.emplace_back(*each);
    texts_.push_back(fmt::format("SITU_JOB_FD={}", descriptor));
    if (options.tag) texts_.emplace_back("SITU_TAG=1");
    texts_.emplace_back(options.in_process ? "SITU_IN_PROCESS=1" : "SITU_PLACE=0");
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  // Sets the variable for the next place, if places are processes.
  void set_place(std::uint32_t place) {
    texts_.back() = fmt::format("SITU_PLACE={}", place);
    pointers_[pointers_.size() - 2] = texts_.back().data();
  }
  [[nodiscard]] char* const* data() const noexcept { return pointers_.data(); }

 private:
  static bool is_ours(std::string_view text) {
    for (const std::string_view name : {"SITU_JOB_FD=", "SITU_PLACE=", "SITU_IN_PROCESS=", "SITU_TAG="})
      if (text.starts_with(name)) return true;
    return false;
  }
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// The message of a child that cannot become its program. Exec closes the pipe, so the end of the pipe means that all
// children have started.
struct start_failure {
  int reason;
  std::uint32_t place;
};
class failure_pipe {
 public:
  failure_pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0 || !above_standard(ends_))
      throw_error(errc::bad_launch, fmt::format("cannot make a pipe: {}", ::strerrordesc_np(errno)));
  }
  ~failure_pipe() {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  failure_pipe(const failure_pipe&) = delete;
  failure_pipe& operator=(const failure_pipe&) = delete;
  [[noreturn]] void fail_in_child(std::uint32_t place, int reason) const noexcept {
    const start_failure failure{reason, place};
    [[maybe_unused]] const ssize_t ignored = ::write(ends_[1], &failure, sizeof failure);
    ::_exit(127);
  }
  // Returns the first failure, once every child executes its program or has failed.
  std::optional<start_failure> wait() {
    ::close(std::exchange(ends_[1], -1));
    start_failure failure{};
    ssize_t length = 0;
    do length = ::read(ends_[0], &failure, sizeof failure);
    while (length < 0 && errno == EINTR);
    return length == static_cast<ssize_t>(sizeof failure) ? std::optional{failure} : std::nullopt;
  }

 private:
  int ends_[2];
};

struct bound_processors {
  cpu_set_t sets[8];  // 8192 processors
};

std::vector<bound_processors> processor_sets(binding how) {
  std::vector<bound_processors> sets;
  if (how == binding::none) return sets;
  for (const std::vector<int>& group : binding_groups(how)) {
    bound_processors& made = sets.emplace_back();
    CPU_ZERO_S(sizeof made.sets, made.sets);
    for (const int processor : group) CPU_SET_S(processor, sizeof made.sets, made.sets);
  }
  return sets;
}

// The data that a child needs between fork and exec, when it may only make system calls.
struct starter {
  const places_to_start& start;
  std::vector<char*> arguments;
  const failure_pipe& failures;
  std::vector<bound_processors> sets;
  pid_t launcher;

  // index: the position of the process among those started here.
  [[noreturn]] void become_place(std::uint32_t index, char* const* environment) const noexcept {
    const std::uint32_t place = start.places[index];
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(EXIT_FAILURE);  // the launcher died before the line above
    // Otherwise it would read input of another place, or write output that is not labelled.
    if (place != 0 && !read_nothing()) failures.fail_in_child(place, errno);
    if (start.output != nullptr && !start.output->redirect_in_child(index)) failures.fail_in_child(place, errno);
    if (!sets.empty()) {
      const bound_processors& set = sets[index % sets.size()];
      if (::sched_setaffinity(0, sizeof set.sets, set.sets) != 0) failures.fail_in_child(place, errno);
    }
    ::fcntl(start.shared.descriptor(), F_SETFD, 0);
    start.limit.restore();
    start.signals.restore();
    ::signal(SIGQUIT, SIG_IGN);  // a terminal sends it to the whole group, but it asks for the launcher's report
    ::execve(start.file.c_str(), arguments.data(), environment);
    failures.fail_in_child(place, errno);
  }

  // Standard input belongs to the first place.
  static bool read_nothing() noexcept {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0;
  }
};

std::vector<char*> pointers_to(std::span<const std::string> texts) {
  std::vector<char*> pointers;
  // execve's type is older than const
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

signal_reader::signal_reader(bool wanted) {
  sigset_t set;
  ::sigemptyset(&set);
  if (wanted)
    for (const int signal : passed_signals) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  if (!wanted) return;
  descriptor_ = above_standard(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (descriptor_ >= 0) return;
  const int reason = errno;  // blocked and unread, the signals would end no process
  restore();
  throw_error(errc::bad_launch, fmt::format("signals cannot be passed on: {}", ::strerrordesc_np(reason)));
}

signal_reader::~signal_reader() {
  if (descriptor_ >= 0) {
    // A signal that arrived after the last place had ended was meant for the places; if it stayed pending, it would end
    // this program.
    signalfd_siginfo late{};
    while (::read(descriptor_, &late, sizeof late) > 0) {}
    ::close(descriptor_);
  }
  restore();
}

descriptor_limit::descriptor_limit() {
  ::getrlimit(RLIMIT_NOFILE, &before_);
  rlimit raised = before_;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
}

std::vector<std::uint32_t> all_places(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  return all;
}

void start_places(const places_to_start& start, launch_monitor& monitor) {
  const program_options& options = start.options;
  failure_pipe failures;
  const starter how{start, pointers_to(start.arguments), failures, processor_sets(options.bind), ::getpid()};
  place_environment environment{options, start.shared.descriptor()};
  const std::size_t processes = options.in_process ? 1 : start.places.size();
  for (std::uint32_t i = 0; i < processes; ++i) {
    if (!options.in_process) environment.set_place(start.places[i]);
    const pid_t child = ::fork();
    if (child == 0) how.become_place(i, environment.data());
    if (child < 0)
      throw_error(errc::bad_launch, fmt::format("cannot start a process for place {} of {}: {}", start.places[i],
                                                start.shared.control().place_count, ::strerrordesc_np(errno)));
    monitor.watch(child, start.places[i], options.in_process ? static_cast<std::uint32_t>(start.places.size()) : 1);
  }
  if (const auto failure = failures.wait())
    throw_error(errc::bad_launch, fmt::format("cannot start \"{}\" as place {}: {}", start.file, failure->place,
                                              ::strerrordesc_np(failure->reason)));
}

}  // namespace situ::detail
