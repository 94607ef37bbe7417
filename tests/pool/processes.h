// Processes of a test, and memory that they share.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <new>
#include <string>
#include <thread>

#include "support/forked.h"

namespace situ_pool_test {

inline constexpr unsigned most_seconds = 100;  // after which a process of a test ends itself

// A child that runs a body, which says whether all was well.
class process {
 public:
  template <class Body>
  explicit process(Body body) : child_{situ::test::fork_child(body, {.seconds = most_seconds})}, number_{child_.id()} {}
  void kill() {
    child_.send(SIGKILL);
    (void)wait();
  }
  [[nodiscard]] bool wait() {
    if (!child_) return false;
    return situ::test::code_of(child_.wait()) == 0;
  }
  [[nodiscard]] pid_t number() const { return number_; }

 private:
  situ::os::child child_;
  pid_t number_;
};

// Forks a child that sleeps and that its parent leaves behind; returns its number.
inline pid_t leave_a_sleeper() {
  situ::os::child sleeper = situ::test::fork_child(
      []() -> int {
        for (;;) ::pause();
      },
      {.seconds = most_seconds, .ends_with_parent = false});
  const pid_t number = sleeper.id();
  sleeper.leave_to_parent();
  return number;
}

// Memory that a test and its children share.
template <class T>
class common {
 public:
  common() : at_{new(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) T{}} {}
  ~common() { ::munmap(at_, sizeof(T)); }
  common(const common&) = delete;
  common& operator=(const common&) = delete;
  T* operator->() const { return at_; }
  T& operator*() const { return *at_; }

 private:
  T* at_;
};

inline bool write_to(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return is_written;
}

// Other name spaces for the calling process, which may mount then. False where the system does not let this user.
inline bool enter_spaces(int which) {
  const std::string user = std::to_string(::geteuid()) + " ";
  const std::string group = std::to_string(::getegid()) + " ";
  if (::unshare(which) != 0)
    return ::unshare(which | CLONE_NEWUSER) == 0 && write_to("/proc/self/setgroups", "deny") &&
           write_to("/proc/self/uid_map", "0 " + user + "1") && write_to("/proc/self/gid_map", "0 " + group + "1");
  return true;
}
inline bool has_mounts_of_its_own() {
  return enter_spaces(CLONE_NEWNS) && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

template <class Condition>
bool comes_true(Condition condition, std::chrono::milliseconds within = std::chrono::seconds{20}) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  return true;
}

}  // namespace situ_pool_test
