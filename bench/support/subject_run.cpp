#include "subject_run.h"

#include "page.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "os/child.h"
#include "os/descriptor.h"
#include "os/mapping.h"
#include "os/signals.h"

namespace situ::bench {
namespace {

volatile sig_atomic_t interruption = 0;
constexpr std::array handled_signals{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, handled_signals.size()> previous_actions;

using clock = std::chrono::steady_clock;

[[noreturn]] void throw_errno(const char* what) { throw std::system_error{errno, std::generic_category(), what}; }

// Unnamed, and reached by path: mpirun closes the descriptors that its ranks inherit.
os::descriptor make_page() {
  os::descriptor page = os::memory_file("situ-bench-page");
  if (!page || ftruncate(page.number(), BENCH_PAGE_BYTES) != 0) throw_errno("memfd_create");
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

// Starts the command in a process group of its own, so that all of it can be ended; it ends with its parent.
// environment: "NAME=VALUE", in addition to this process's. output, errors: descriptors, or os::program::nothing.
os::child start(const std::vector<std::string>& command, const std::vector<std::string>& environment, int output,
                int errors) {
  std::vector<std::string_view> names;
  for (const std::string& each : environment) names.push_back(std::string_view{each}.substr(0, each.find('=')));
  std::vector<std::string> all = os::own_environment(names);
  all.insert(all.end(), environment.begin(), environment.end());
  const os::exec_texts variables{std::move(all)}, arguments{command};
  os::start_failures failures;
  if (!failures) throw_errno("pipe");
  const auto in_child = [] {
    setpgid(0, 0);
    for (const int signal_number : handled_signals) os::reset_signal(signal_number);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);  // a rival crashes as a matter of course
    return true;
  };
  os::child child = os::child::start({.file = command[0].c_str(),
                                      .arguments = arguments,
                                      .environment = &variables,
                                      .is_in_path = true,
                                      .input = os::program::nothing,
                                      .output = output,
                                      .errors = errors},
                                     {.signal_at_parents_end = SIGTERM, .in_child = in_child}, failures);
  if (!child) throw_errno("fork");
  setpgid(child.id(), child.id());  // here too: whoever comes first
  if (const auto failure = failures.wait())
    dprintf(errors, "cannot run %s: %s\n", command[0].c_str(), strerror(failure->reason));
  return child;
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

// Reads both streams until both are closed, the time is over, or a signal came. Then closes them: a subject that still
// writes must not wait for a reader.
void collect(os::output_capture streams, clock::time_point deadline, subject_outcome& outcome) {
  constexpr std::size_t kept = 4000;
  const auto take = [&] {
    take_lines(streams.output(), outcome);
    if (streams.errors().size() > kept) streams.errors().erase(0, streams.errors().size() - kept);
  };
  const auto is_stopped = [&] {
    take();
    if (interruption == 0 && clock::now() <= deadline) return false;
    outcome.end = interruption != 0 ? subject_end::interrupted : subject_end::timed_out;
    return true;
  };
  if (streams.read_until_closed(is_stopped)) take();
  outcome.error_output = std::move(streams.errors());
}

// Waits for the child so long; whether it is gone.
bool reap_within(os::child& child, std::chrono::milliseconds time) {
  const auto deadline = clock::now() + time;
  do {
    if (child.try_wait()) return true;
    usleep(5000);
  } while (clock::now() < deadline);
  return false;
}

// Politely first: mpirun and `situ run` end the ranks that they started.
void end_process_group(os::child child, bool finished) {
  using namespace std::chrono_literals;
  const pid_t group = child.id();
  if (finished && reap_within(child, 10s)) {
    kill(-group, SIGKILL);
    return;
  }
  child.send(SIGTERM);
  reap_within(child, 5s);
  kill(-group, SIGKILL);
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
    for (pid_t ended = 0; (ended = os::find_ended_child()) > 0;) os::drop_ended_child(ended);
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
  const os::descriptor page = make_page();
  os::output_capture streams;
  if (!streams) throw_errno("pipe");
  os::child child =
      start(request.command, environment_of(request, page.number()), streams.output_end(), streams.errors_end());
  subject_outcome outcome;
  collect(std::move(streams), clock::now() + request.timeout, outcome);
  end_process_group(std::move(child), outcome.end == subject_end::complete || outcome.end == subject_end::failed);
  end_orphans();
  return outcome;
}

interruption_guard::interruption_guard() {
  interruption = 0;
  for (std::size_t i = 0; i < handled_signals.size(); ++i)
    previous_actions[i] = os::handle_signal(handled_signals[i], note_interruption);
}

interruption_guard::~interruption_guard() {
  for (std::size_t i = 0; i < handled_signals.size(); ++i) os::restore_action(handled_signals[i], previous_actions[i]);
}

bool interruption_guard::interrupted() noexcept { return interruption != 0; }

namespace {

// Waits for the command; an interruption ends it.
int status_of(os::child child) {
  constexpr int look_ms = 100;  // at the interruption, which may come just before the wait
  (void)child.watch();
  bool is_told = interruption != 0;
  while (true) {
    if (const auto how = child.try_wait()) return how->signal == 0 ? how->code : -1;
    if (interruption != 0 && !std::exchange(is_told, true)) kill(-child.id(), SIGTERM);
    pollfd end{child.end(), POLLIN, 0};
    poll(&end, 1, look_ms);
  }
}

}  // namespace

int run_quietly(const std::vector<std::string>& command) {
  return status_of(start(command, {}, os::program::nothing, os::program::nothing));
}

int run_saying(const std::vector<std::string>& command) {
  return status_of(start(command, {}, STDERR_FILENO, STDERR_FILENO));
}

std::string output_of(const std::vector<std::string>& command) {
  os::output_capture streams;
  if (!streams) throw_errno("pipe");
  os::child child = start(command, {}, streams.output_end(), os::program::nothing);
  (void)streams.read_until_closed({});
  return status_of(std::move(child)) == 0 ? streams.output() : "";
}

}  // namespace situ::bench
