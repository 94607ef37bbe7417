// Programs that a test runs, with what they write. All tests start programs here or by os::child.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "os/child.h"
#include "os/descriptor.h"
#include "support/forked.h"

namespace situ::test {

// Returns this process's environment with these variables ("NAME=value"), the last one if several have the same name.
[[nodiscard]] inline std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string_view> names;
  for (const std::string_view each : variables) names.push_back(each.substr(0, each.find('=')));
  std::vector<std::string> all = os::own_environment(names);
  all.insert(all.begin(), variables.rbegin(), variables.rend());  // a program finds the first of a name
  return all;
}

// --- A shell's command line ------------------------------------------------------------------------------------------

struct shell_result {
  int exit_code;     // -1: a signal has ended it
  std::string text;  // standard output, and standard error among it
};

// Runs a command line by /bin/sh, to its end and that of all processes that have its output. Its standard input is the
// test's.
[[nodiscard]] inline shell_result run_shell(const std::string& command) {
  const os::exec_texts arguments{{"sh", "-c", command}};
  os::output_capture capture;
  if (!capture) throw std::system_error{errno, std::generic_category(), "a test has no pipe for a program"};
  os::child shell = os::child::start(
      {.file = "/bin/sh", .arguments = arguments, .output = capture.output_end(), .errors = capture.output_end()});
  if (!shell) throw std::system_error{errno, std::generic_category(), "a test cannot start /bin/sh"};
  (void)capture.read_until_closed({});
  const os::exit_status end = shell.wait();
  return {end.is_known && end.signal == 0 ? end.code : -1, std::move(capture.output())};
}

// Returns true if the shell knows one of these programs at least.
[[nodiscard]] inline bool is_installed(const std::string& programs) {
  return run_shell("command -v " + programs).exit_code == 0;
}

// --- A program -------------------------------------------------------------------------------------------------------

// What a program wrote and how it ended.
struct ended_program {
  int exit_code = -1;  // 128 and the signal's number if a signal has ended it
  std::string out;
  std::string err;
  std::chrono::milliseconds time{0};
  int signal = 0;  // 0: it has ended by itself
};

struct program_streams {
  int in;
  int out;
  int err;
  unsigned closed = 0;  // a bit for each of 0, 1, 2 that the program starts without
};

// Starts a program in a process group of its own, whose number is the program's. environment: variables ("NAME=value")
// in addition to the test's. Fails the test if the program cannot be executed; it has ended with 127 then.
[[nodiscard]] inline os::child start_in_group(std::vector<std::string> arguments,
                                              const std::vector<std::string>& environment,
                                              const program_streams& streams) {
  const std::string file = arguments.front();
  const os::exec_texts words{std::move(arguments)};
  const os::exec_texts variables{environment_with(environment)};
  os::start_failures failures;
  const os::child_setup setup{.in_child = [closed = streams.closed] {
    for (int stream = 0; stream < 3; ++stream)
      if ((closed >> stream & 1) != 0) ::close(stream);
    return ::setpgid(0, 0) == 0;
  }};
  os::child started = os::child::start({.file = file.c_str(),
                                        .arguments = words,
                                        .environment = &variables,
                                        .input = streams.in,
                                        .output = streams.out,
                                        .errors = streams.err},
                                       setup, failures);
  if (!failures || !started) throw std::system_error{errno, std::generic_category(), "a test cannot start " + file};
  if (const auto failed = failures.wait()) ADD_FAILURE() << file << ": " << std::strerror(failed->reason);
  return started;
}

// A program with its output in pipes; the destructor kills its group. input: at most as many bytes as a pipe holds.
class running_program {
 public:
  running_program(std::vector<std::string> arguments, const std::vector<std::string>& environment = {},
                  std::string_view input = {}, unsigned closed_streams = 0) {
    os::pipe_ends in = os::pipe_ends::make();
    os::pipe_ends out = os::pipe_ends::make();
    os::pipe_ends err = os::pipe_ends::make();
    if (!in || !out || !err) std::abort();
    child_ = start_in_group(std::move(arguments), environment,
                            {in.read.number(), out.write.number(), err.write.number(), closed_streams});
    pid_ = child_.id();
    [[maybe_unused]] const ssize_t written = ::write(in.write.number(), input.data(), input.size());
    out_ = std::move(out.read);
    err_ = std::move(err.read);
  }
  ~running_program() {
    if (child_) send_group(SIGKILL);
  }
  running_program(const running_program&) = delete;
  running_program& operator=(const running_program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const { child_.send(signal); }
  void send_group(int signal) const { ::kill(-pid_, signal); }

  // Reads until standard output holds the text; false after the time.
  bool wait_for_output(std::string_view text, std::chrono::milliseconds at_most = std::chrono::seconds{20}) {
    return wait_for(ended_.out, text, at_most);
  }
  // The same of standard error.
  bool wait_for_error(std::string_view text, std::chrono::milliseconds at_most = std::chrono::seconds{20}) {
    return wait_for(ended_.err, text, at_most);
  }
  [[nodiscard]] bool is_running() const { return child_ && !child_.is_over(); }
  [[nodiscard]] const std::string& output() const { return ended_.out; }

  // Waits for the end, and until no process has its output open; kills its group after the time, and the exit code says
  // so.
  ended_program wait(std::chrono::milliseconds at_most = std::chrono::seconds{30}) {
    const auto end = started_ + at_most;
    while (read_some())
      if (std::chrono::steady_clock::now() > end) send_group(SIGKILL);
    const os::exit_status how = child_.wait();
    ended_.exit_code = code_of(how);
    ended_.signal = how.signal;
    ended_.time = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_);
    return ended_;
  }

 private:
  bool wait_for(const std::string& in, std::string_view text, std::chrono::milliseconds at_most) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (in.find(text) == std::string::npos)
      if (std::chrono::steady_clock::now() > end || !read_some()) return in.find(text) != std::string::npos;
    return true;
  }
  // False once both streams have ended.
  bool read_some() {
    if (!out_ && !err_) return false;
    pollfd waits[2] = {{out_.number(), POLLIN, 0}, {err_.number(), POLLIN, 0}};  // -1 is passed over
    ::poll(waits, 2, 100);
    if (waits[0].revents != 0) append(out_, ended_.out);
    if (waits[1].revents != 0) append(err_, ended_.err);
    return true;
  }
  static void append(os::descriptor& from, std::string& to) {
    char buffer[4096];
    const ssize_t length = ::read(from.number(), buffer, sizeof buffer);
    if (length > 0)
      to.append(buffer, static_cast<std::size_t>(length));
    else
      from.close();
  }

  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  ended_program ended_;
  os::child child_;
  pid_t pid_ = -1;
  os::descriptor out_, err_;
};

inline ended_program run_program(std::vector<std::string> arguments, const std::vector<std::string>& environment = {},
                                 std::string_view input = {}) {
  return running_program{std::move(arguments), environment, input}.wait();
}

// An unnamed file that several processes append to: the kernel keeps a memfd's shared position only for one writer.
class output_file {
 public:
  output_file() {
    if (!file_ || ::fcntl(file_.number(), F_SETFL, O_APPEND) != 0) std::abort();
  }
  [[nodiscard]] int number() const noexcept { return file_.number(); }
  [[nodiscard]] std::string text() const {
    std::string all(static_cast<std::size_t>(::lseek(file_.number(), 0, SEEK_END)), '\0');
    const ssize_t count = ::pread(file_.number(), all.data(), all.size(), 0);
    all.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return all;
  }

 private:
  os::descriptor file_{::memfd_create("output", MFD_CLOEXEC)};
};

// Runs a program whose output goes to unnamed files, so that it may leave processes behind that have its output open,
// as a browser does. It is killed after 100 s, with its group, which fails the test. input: a file.
inline ended_program run_command(std::vector<std::string> arguments, const std::vector<std::string>& environment = {},
                                 const std::string& input = "/dev/null") {
  const output_file out;
  const output_file err;
  const os::descriptor in{::open(input.c_str(), O_RDONLY | O_CLOEXEC)};
  const std::string name = arguments.front();
  const auto begin = std::chrono::steady_clock::now();
  os::child child = start_in_group(std::move(arguments), environment, {in.number(), out.number(), err.number()});
  std::optional<os::exit_status> end;
  for (bool is_late = false; !(end = child.try_wait());) {
    if (!is_late && std::chrono::steady_clock::now() - begin > std::chrono::seconds{100}) {
      is_late = true;
      ADD_FAILURE() << "still running after 100 s: " << name;
      ::kill(-child.id(), SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return {code_of(*end), out.text(), err.text(),
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin), end->signal};
}

}  // namespace situ::test
