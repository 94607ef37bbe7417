// For the tests of launch: waits inside a place that need nothing of the runtime, programs, and what they leave behind.
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
    note_death();
  }
  // The victim, just before it dies.
  void note_death() const { shared_->died_at.store(std::chrono::steady_clock::now().time_since_epoch().count()); }
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

// Takes the ends of children that this process has adopted; waits until none is left, or leaves those that run.
inline void reap_adopted(bool until_none_is_left = false) {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | (until_none_is_left ? 0 : WNOHANG)) == 0 && info.si_pid != 0) info = {};
}

// Whether this process has a child, running or not reaped.
inline bool has_children() { return ::waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) == 0; }

}  // namespace situ::test
