// For the tests of launch: waits inside a place that need nothing of the runtime, other processes, and what they leave
// behind.
#pragma once

#include "memory/liveness.h"
#include "os/host.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace situ::test {

using namespace std::chrono_literals;

inline detail::job_control& control() { return *detail::current->job; }
inline std::uint32_t my_place() { return detail::current->place; }

// Sleeps as a waiting place does, until a place is lost; throws place_lost_error then.
[[noreturn]] inline void sleep_until_loss() {
  detail::place_slot& slot = control().slot(my_place());
  for (;;) {
    slot.sleeping.store(1);
    if (control().failure_epoch.load() != 0) break;
    detail::wait_on_word(slot.sleeping, 1, -1);
  }
  slot.sleeping.store(0);
  detail::throw_place_lost(control(), my_place());
}

[[noreturn]] inline void sleep_for_ever() {
  for (;;) std::this_thread::sleep_for(1h);
}

// Memory that the test and its places share, as processes or threads: who is ready to see the victim die, and when it
// did.
class witness {
 public:
  witness()
      : shared_{static_cast<shared*>(
            ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))} {}
  ~witness() { ::munmap(shared_, sizeof(shared)); }
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;

  // A survivor, just before it waits for what never comes: once the victim answers no more calls.
  void arrive() const {
    while (shared_->victim_is_deaf.load() == 0) std::this_thread::sleep_for(1ms);
    shared_->ready.fetch_add(1);
  }
  // The victim: waits until so many have arrived and had the time to fall asleep, and notes the time of its death.
  void await(std::uint32_t survivors) const {
    shared_->victim_is_deaf.store(1);
    while (shared_->ready.load() < survivors) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(50ms);
    shared_->died_at.store(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  // Since the death; the steady clock is the machine's.
  [[nodiscard]] std::chrono::nanoseconds since_death() const {
    return std::chrono::steady_clock::now().time_since_epoch() -
           std::chrono::steady_clock::duration{shared_->died_at.load()};
  }

 private:
  struct shared {
    std::atomic<std::uint32_t> victim_is_deaf;
    std::atomic<std::uint32_t> ready;
    std::atomic<std::chrono::steady_clock::rep> died_at;
  };
  shared* shared_;
};

// What a program wrote and how it ended.
struct ended_program {
  int exit_code = -1;  // 128 + signal where one killed it
  std::string out;
  std::string err;
  std::chrono::milliseconds time{0};
};

// A program with its output in pipes, killed by the destructor. closed_streams: a bit for each of 0, 1, 2 that it
// starts without.
class running_program {
 public:
  running_program(std::vector<std::string> arguments, std::vector<std::string> environment = {}, std::string input = {},
                  unsigned closed_streams = 0) {
    int in[2], out[2], err[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      for (int stream = 0; stream < 3; ++stream)
        if ((closed_streams >> stream & 1) != 0) ::close(stream);
      for (std::string& text : environment) ::putenv(text.data());
      std::vector<char*> pointers;
      for (std::string& text : arguments) pointers.push_back(text.data());
      pointers.push_back(nullptr);
      ::execv(pointers[0], pointers.data());
      ::_exit(126);
    }
    ::close(in[0]), ::close(out[1]), ::close(err[1]);
    [[maybe_unused]] const ssize_t written = ::write(in[1], input.data(), input.size());
    ::close(in[1]);
    out_ = out[0];
    err_ = err[0];
  }
  ~running_program() {
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(out_), ::close(err_);
  }
  running_program(const running_program&) = delete;
  running_program& operator=(const running_program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const { ::kill(pid_, signal); }
  void send_group(int signal) const { ::kill(-pid_, signal); }

  // Reads until standard output holds the text; false after the time.
  bool wait_for_output(std::string_view text, std::chrono::milliseconds at_most = 20s) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (ended_.out.find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > end || !read_some()) return ended_.out.find(text) != std::string::npos;
    }
    return true;
  }
  // The same of standard error.
  bool wait_for_error(std::string_view text, std::chrono::milliseconds at_most = 20s) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (ended_.err.find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > end || !read_some()) return ended_.err.find(text) != std::string::npos;
    }
    return true;
  }
  [[nodiscard]] bool is_running() const {
    siginfo_t info{};  // left as it is where there is nothing to tell
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }
  [[nodiscard]] const std::string& output() const { return ended_.out; }

  // Waits for the end; kills after the time, and the exit code says so.
  ended_program wait(std::chrono::milliseconds at_most = 30s) {
    const auto end = started_ + at_most;
    while (read_some())
      if (std::chrono::steady_clock::now() > end) ::kill(-pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    ended_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ended_.time = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_);
    return ended_;
  }

 private:
  // False once both streams have ended.
  bool read_some() {
    pollfd waits[2] = {{out_open_ ? out_ : -1, POLLIN, 0}, {err_open_ ? err_ : -1, POLLIN, 0}};
    if (!out_open_ && !err_open_) return false;
    ::poll(waits, 2, 100);
    if (waits[0].revents != 0) out_open_ = append(out_, ended_.out);
    if (waits[1].revents != 0) err_open_ = append(err_, ended_.err);
    return true;
  }
  static bool append(int from, std::string& to) {
    char buffer[4096];
    const ssize_t length = ::read(from, buffer, sizeof buffer);
    if (length > 0) to.append(buffer, static_cast<std::size_t>(length));
    return length > 0;
  }

  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  ended_program ended_;
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  bool out_open_ = true, err_open_ = true;
};

inline ended_program run_program(std::vector<std::string> arguments, std::vector<std::string> environment = {},
                                 std::string input = {}) {
  return running_program{std::move(arguments), std::move(environment), std::move(input)}.wait();
}

// Whether the process is gone (a zombie is gone: somebody else has yet to reap it).
inline bool is_gone(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string line;
  if (!std::getline(file, line)) return true;
  return line.substr(line.rfind(')') + 2, 1) == "Z";
}

inline bool are_gone_within(const std::vector<pid_t>& pids, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (const pid_t pid : pids)
    while (!is_gone(pid)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(5ms);
    }
  return true;
}

// What a launch could leave in this process or on this machine.
struct leftovers {
  std::size_t descriptors = 0;
  std::size_t job_mappings = 0;
  std::size_t threads = 0;
  std::size_t shared_files = 0;
  bool operator==(const leftovers&) const = default;
};

inline leftovers count_leftovers() {
  namespace fs = std::filesystem;
  leftovers found;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator{"/proc/self/fd"}) ++found.descriptors;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator{"/proc/self/task"}) ++found.threads;
  // Not what is of tests that run beside this one: folders, and Open MPI's.
  for (const auto& each : fs::directory_iterator{"/dev/shm"})
    found.shared_files += !each.is_directory() && !each.path().filename().string().starts_with("vader_segment");
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) found.job_mappings += line.find("memfd:situ") != std::string::npos;
  return found;
}

// Whether this process has a child, running or not reaped.
inline bool has_children() { return ::waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == 0; }

}  // namespace situ::test
