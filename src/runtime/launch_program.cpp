// `situ run`: the places of a job as processes that execute a program.
#include "runtime/launch.h"

#include "base/descriptor.h"
#include "runtime/launch_monitor.h"
#include "runtime/launch_output.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

namespace situ::detail {
namespace {

namespace fs = std::filesystem;

// Signals that a person or a batch system sends to end, to reload or to ask; those that stop and continue are the
// kernel's.
constexpr int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// Blocks the signals above for the life of the object; they are read from descriptor() then.
class signal_reader {
 public:
  explicit signal_reader(bool wanted) {
    sigset_t set;
    ::sigemptyset(&set);
    if (wanted)
      for (const int signal : passed_signals) ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    if (wanted) descriptor_ = above_standard(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~signal_reader() {
    if (descriptor_ >= 0) {
      // What came in after the last place had ended was for the places; pending, it would end this program instead.
      signalfd_siginfo late{};
      while (::read(descriptor_, &late, sizeof late) > 0) {}
      ::close(descriptor_);
    }
    restore();
  }
  signal_reader(const signal_reader&) = delete;
  signal_reader& operator=(const signal_reader&) = delete;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  void restore() const noexcept { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

// As many descriptors as the system allows while the launcher has a few for each place; the places get the limit from
// before.
class descriptor_limit {
 public:
  descriptor_limit() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit raised = before_;
    raised.rlim_cur = raised.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &raised);
  }
  ~descriptor_limit() { restore(); }
  descriptor_limit(const descriptor_limit&) = delete;
  descriptor_limit& operator=(const descriptor_limit&) = delete;
  void restore() const noexcept { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

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
  // For the next place, if places are processes.
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

// What a child says when it cannot become its program. Closed by exec, so that the end of the pipe means all have.
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
  // The first failure, once every child executes its program or has failed.
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

// Everything a child needs between fork and exec, where it may only make system calls.
struct starter {
  const program_options& options;
  const std::string& file;
  std::vector<char*> arguments;
  const signal_reader& signals;
  const descriptor_limit& limit;
  const failure_pipe& failures;
  const labelled_output* output;
  std::vector<bound_processors> sets;
  int job_descriptor;
  pid_t launcher;

  [[noreturn]] void become_place(std::uint32_t place, char* const* environment) const noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(EXIT_FAILURE);  // it died before the line above
    if (place != 0) read_nothing();
    if (output != nullptr) output->redirect_in_child(place);
    if (!sets.empty()) {
      const bound_processors& set = sets[place % sets.size()];
      if (::sched_setaffinity(0, sizeof set.sets, set.sets) != 0) failures.fail_in_child(place, errno);
    }
    ::fcntl(job_descriptor, F_SETFD, 0);
    limit.restore();
    signals.restore();
    ::signal(SIGQUIT, SIG_IGN);  // a terminal sends it to every process of its group: the launcher's report is meant
    ::execve(file.c_str(), arguments.data(), environment);
    failures.fail_in_child(place, errno);
  }

  // Standard input is the first place's.
  static void read_nothing() noexcept {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  }
};

std::vector<char*> pointers_to(std::span<const std::string> texts) {
  std::vector<char*> pointers;
  // execve's type is older than const
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

void start_places(const starter& start, place_environment& environment, launch_monitor& monitor) {
  const std::uint32_t places = start.options.job.place_count;
  const std::uint32_t processes = start.options.in_process ? 1 : places;
  for (std::uint32_t i = 0; i < processes; ++i) {
    if (!start.options.in_process) environment.set_place(i);
    const pid_t child = ::fork();
    if (child == 0) start.become_place(i, environment.data());
    if (child < 0)
      throw_error(errc::bad_launch,
                  fmt::format("cannot start a process for place {} of {}: {}", i, places, ::strerrordesc_np(errno)));
    monitor.watch(child, i, start.options.in_process ? places : 1);
  }
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_executable(name)) return name;
    std::error_code ignored;
    throw_error(errc::bad_launch, fmt::format("cannot start \"{}\": {}", name,
                                              fs::is_directory(name, ignored) ? "it is a folder"
                                              : fs::exists(name, ignored)     ? "it is not executable (chmod +x)"
                                                                              : "there is no such file"));
  }
  std::error_code ignored;
  std::vector<std::string> folders{fs::read_symlink("/proc/self/exe", ignored).parent_path().string()};
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
  const signal_reader signals{options.forward_signals};
  std::unique_ptr<labelled_output> output;  // ends after the monitor: no place writes any more
  if (options.tag) output = std::make_unique<labelled_output>(options.job.place_count);
  launch_monitor::limits limits{
      .grace = options.grace, .time_limit = options.time_limit, .watchdog = options.watchdog, .reports_on_quit = true};
  if (options.report) limits.report = [&](std::string_view why) { options.report(shared.control(), why); };
  launch_monitor monitor{shared.control(), limits, signals.descriptor()};
  failure_pipe failures;
  const starter start{options,
                      file,
                      pointers_to(arguments),
                      signals,
                      limit,
                      failures,
                      output.get(),
                      processor_sets(options.bind),
                      shared.descriptor(),
                      ::getpid()};
  place_environment environment{options, shared.descriptor()};
  start_places(start, environment, monitor);
  if (const auto failure = failures.wait())
    throw_error(errc::bad_launch, fmt::format("cannot start \"{}\" as place {}: {}", file, failure->place,
                                              ::strerrordesc_np(failure->reason)));
  // The descriptor stays open: `situ top` finds the job by it.
  if (output != nullptr) output->start();
  launch_result result = monitor.run();
  output.reset();
  if (options.finished) options.finished(shared.control());
  return result;
}

}  // namespace situ::detail
