// libsitu_intent.so: the library that LD_PRELOAD brings into a program that knows nothing of Situ. It begins before
// main, goes on in children, and ends with the process. hooks.cpp intercepts the functions that get memory. The
// functions below are intercepted for the watcher's thread: the kernel refuses some of them to a process with a second
// thread, and others change the rights of the calling thread only, which the C library then does for every thread that
// it knows. So the watcher's thread ends before them and begins anew after them.
#include "preload/remote.h"
#include "preload/watcher.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#define SITU_VISIBLE __attribute__((visibility("default")))

namespace situ::preload {
namespace {

constinit std::atomic<bool> is_paused{false};  // set by one thread at a time

// Finds the control block that the variable names: "/proc/4711/fd/3#0123456789abcdef". Returns null if there is none,
// or another one.
control* find_control() noexcept {
  const char* const where = std::getenv(control_variable);
  const char* const mark = where == nullptr ? nullptr : std::strchr(where, '#');
  char path[64];
  if (mark == nullptr || static_cast<std::size_t>(mark - where) >= sizeof path) return nullptr;
  std::memcpy(path, where, static_cast<std::size_t>(mark - where));
  path[mark - where] = '\0';
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;  // the launcher has ended, or is out of sight
  void* const mapped = ::lseek(file, 0, SEEK_END) == static_cast<off_t>(sizeof(control))
                           ? ::mmap(nullptr, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
  ::close(file);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const found = static_cast<control*>(mapped);
  if (found->magic == control_magic && found->key == std::strtoull(mark + 1, nullptr, 16)) return found;
  ::munmap(mapped, sizeof(control));
  return nullptr;
}

// Valgrind reports a thread that it has not created as an error.
bool is_under_valgrind() noexcept {
  const char* const brought = std::getenv("LD_PRELOAD");
  return brought != nullptr && std::strstr(brought, "vgpreload") != nullptr;
}

void begin_in_child() {
  is_paused.store(false);  // a thread of the parent may have set it
  the_watcher.begin_in_child();
}

__attribute__((constructor)) void begin() {
  const int before = errno;
  if (control* const all = find_control()) {
    watcher::restore_data_limit(*all);  // also for processes that do not take part
    if (all->is_for_children == 0 && all->first_process.load() != ::getpid())
      tell_calling_thread(*all, {});
    else if (!is_under_valgrind() && ::pthread_atfork(nullptr, nullptr, &begin_in_child) == 0)
      the_watcher.begin(*all);
  }
  // Fork uses memory of the C library, which is never remote: so these handlers may run last before a fork, and first
  // after it.
  if (!is_under_valgrind() &&
      ::pthread_atfork([] { the_remote_memory.before_fork(); }, [] { the_remote_memory.after_fork(); },
                       [] { the_remote_memory.begin_in_child(); }) == 0)
    the_remote_memory.begin();
  errno = before;
}

__attribute__((destructor)) void end() {
  const int before = errno;
  the_watcher.end();
  errno = before;
}

template <class Result, class... Arguments>
Result call_alone(const char* name, Arguments... arguments) noexcept {
  auto* const next = reinterpret_cast<Result (*)(Arguments...)>(::dlsym(RTLD_NEXT, name));
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  while (is_paused.exchange(true)) ::sched_yield();
  const bool was_there = the_watcher.pause();
  const Result result = next(arguments...);
  const int reason = errno;
  if (was_there) the_watcher.go_on();
  is_paused.store(false);
  errno = reason;
  return result;
}

[[noreturn]] void leave(int code) noexcept {
  the_watcher.end();
  while (true) system_call(SYS_exit_group, code);
}

}  // namespace
}  // namespace situ::preload

extern "C" {

// These end a process without running destructors.
[[noreturn]] SITU_VISIBLE void _exit(int code) noexcept { situ::preload::leave(code); }
[[noreturn]] SITU_VISIBLE void _Exit(int code) noexcept { situ::preload::leave(code); }

SITU_VISIBLE int unshare(int flags) noexcept { return situ::preload::call_alone<int>("unshare", flags); }
SITU_VISIBLE int setns(int file, int kind) noexcept { return situ::preload::call_alone<int>("setns", file, kind); }
SITU_VISIBLE int setuid(uid_t user) noexcept { return situ::preload::call_alone<int>("setuid", user); }
SITU_VISIBLE int seteuid(uid_t user) noexcept { return situ::preload::call_alone<int>("seteuid", user); }
SITU_VISIBLE int setreuid(uid_t real, uid_t effective) noexcept {
  return situ::preload::call_alone<int>("setreuid", real, effective);
}
SITU_VISIBLE int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return situ::preload::call_alone<int>("setresuid", real, effective, saved);
}
SITU_VISIBLE int setgid(gid_t group) noexcept { return situ::preload::call_alone<int>("setgid", group); }
SITU_VISIBLE int setegid(gid_t group) noexcept { return situ::preload::call_alone<int>("setegid", group); }
SITU_VISIBLE int setregid(gid_t real, gid_t effective) noexcept {
  return situ::preload::call_alone<int>("setregid", real, effective);
}
SITU_VISIBLE int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return situ::preload::call_alone<int>("setresgid", real, effective, saved);
}
SITU_VISIBLE int setgroups(size_t count, const gid_t* groups) noexcept {
  return situ::preload::call_alone<int>("setgroups", count, groups);
}
SITU_VISIBLE int initgroups(const char* user, gid_t group) {
  return situ::preload::call_alone<int>("initgroups", user, group);
}

}  // extern "C"
