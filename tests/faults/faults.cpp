// libsitu_faults.so: brought into programs by LD_PRELOAD, it makes one of their looks at the system fail. Calls of
// Situ's own code are counted, and of the C++ library, which makes some of them for it; what libraries, loaders and the
// C library do among themselves is not. Numbers run over all programs that share a plan (plan.h).
//
// Variable arguments are passed on as the kernel takes them: six words.
#include "plan.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define SITU_VISIBLE __attribute__((visibility("default")))

namespace situ_faults {
namespace {

plan* shared = nullptr;  // null: nothing is counted, and nothing fails

constexpr int reasons[static_cast<int>(call::count)][3] = {
    {},                              // none
    {EMFILE, ENFILE, EACCES},        // open
    {EMFILE, ENFILE, EACCES},        // fopen
    {EMFILE, ENFILE, EACCES},        // opendir
    {EACCES, ENOMEM, EIO},           // stat
    {EACCES, EIO},                   // access
    {EACCES, ENOMEM},                // readlink
    {EIO, EINTR},                    // read
    {EPERM},                         // kill
    {EACCES, EINTR, EAGAIN},         // connect
    {EMFILE, ENFILE},                // socket
    {EMFILE, ENFILE, ECONNABORTED},  // accept
    {EINTR, ENOMEM},                 // receive
    {EMFILE, ENFILE, ENOMEM},        // pidfd_open
    {EMFILE, ENFILE},                // make_descriptor
    {EMFILE},                        // duplicate
    {ENOMEM},                        // map
    {EAGAIN, ENOMEM},                // fork
    {EINTR},                         // wait
};

template <class Function>
Function next_of(const char* name) noexcept {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

bool ends_with_library(const char* path, const char* name) noexcept {
  const char* const slash = std::strrchr(path, '/');
  return std::strncmp(slash == nullptr ? path : slash + 1, name, std::strlen(name)) == 0;
}

// Whether the call is made by the program, by a library of Situ's, or by the C++ library.
bool is_ours(void* from) noexcept {
  dl_find_object found{};
  if (::_dl_find_object(from, &found) != 0) return false;
  const char* const name = found.dlfo_link_map->l_name;
  if (name[0] == '\0') return true;
  if (ends_with_library(name, "libsitu_faults")) return false;
  return ends_with_library(name, "libsitu") || ends_with_library(name, "libstdc++");
}

// errno's value where this call is to fail, else 0.
int next(call what, void* from, const char* detail = nullptr) noexcept {
  if (shared == nullptr || !is_ours(from)) return 0;
  if (shared->first != 0 && shared->first != static_cast<std::uint32_t>(what)) return 0;
  if ((shared->passed_over >> static_cast<unsigned>(what) & 1) != 0) return 0;
  const std::uint64_t number = shared->calls.fetch_add(1) + 1;
  if (number <= most_calls) shared->kinds[number - 1].store(static_cast<std::uint8_t>(what));
  if (number != shared->fails) return 0;
  const int reason = shared->reason < 3 ? reasons[static_cast<int>(what)][shared->reason] : 0;
  shared->process = ::getpid();
  shared->what = static_cast<std::uint32_t>(what);
  if (detail != nullptr) std::strncpy(shared->detail, detail, sizeof shared->detail - 1);
  shared->failed.store(reason != 0 ? reason : -1);
  return reason;
}

__attribute__((constructor)) void begin() {
  const char* const path = std::getenv(variable);
  if (path == nullptr) return;
  const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return;
  void* const at = ::mmap(nullptr, sizeof(plan), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
  ::syscall(SYS_close, file);
  if (at == MAP_FAILED) return;
  auto* const found = static_cast<plan*>(at);
  char program[4096];
  const long length = ::syscall(SYS_readlink, "/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  if (found->magic == magic && std::strncmp(program, found->programs, std::strlen(found->programs)) == 0)
    shared = found;
  else
    ::munmap(at, sizeof(plan));
}

}  // namespace
}  // namespace situ_faults

using situ_faults::call;
using situ_faults::next;

#define SITU_FAIL(what, failed, ...)                                                         \
  if (const int reason = next(what, __builtin_return_address(0) __VA_OPT__(, ) __VA_ARGS__)) \
  return errno = reason, failed

// NOLINTBEGIN: the C library's names and types
extern "C" {

#define SITU_OPEN(name)                                                     \
  SITU_VISIBLE int name(const char* path, int flags, ...) {                 \
    va_list rest;                                                           \
    va_start(rest, flags);                                                  \
    const auto mode = va_arg(rest, unsigned);                               \
    va_end(rest);                                                           \
    static const auto go_on = situ_faults::next_of<decltype(&name)>(#name); \
    SITU_FAIL(call::open, -1, path);                                        \
    return go_on(path, flags, mode);                                        \
  }
SITU_OPEN(open)
SITU_OPEN(open64)
#define SITU_OPENAT(name)                                                   \
  SITU_VISIBLE int name(int folder, const char* path, int flags, ...) {     \
    va_list rest;                                                           \
    va_start(rest, flags);                                                  \
    const auto mode = va_arg(rest, unsigned);                               \
    va_end(rest);                                                           \
    static const auto go_on = situ_faults::next_of<decltype(&name)>(#name); \
    SITU_FAIL(call::open, -1, path);                                        \
    return go_on(folder, path, flags, mode);                                \
  }
SITU_OPENAT(openat)
SITU_OPENAT(openat64)

// One with fixed parameters: its result, its name, its parameters, their names, what it is, how it fails, a path.
#define SITU_CALL(result, name, parameters, names, what, failed, ...)            \
  SITU_VISIBLE result name parameters {                                          \
    static const auto go_on = situ_faults::next_of<result(*) parameters>(#name); \
    SITU_FAIL(what, failed __VA_OPT__(, ) __VA_ARGS__);                          \
    return go_on names;                                                          \
  }
SITU_CALL(FILE*, fopen, (const char* path, const char* mode), (path, mode), call::fopen, nullptr, path)
SITU_CALL(FILE*, fopen64, (const char* path, const char* mode), (path, mode), call::fopen, nullptr, path)
SITU_CALL(DIR*, opendir, (const char* path), (path), call::opendir, nullptr, path)
SITU_CALL(int, stat, (const char* path, struct stat* to), (path, to), call::stat, -1, path)
SITU_CALL(int, stat64, (const char* path, struct stat64* to), (path, to), call::stat, -1, path)
SITU_CALL(int, lstat, (const char* path, struct stat* to), (path, to), call::stat, -1, path)
SITU_CALL(int, lstat64, (const char* path, struct stat64* to), (path, to), call::stat, -1, path)
SITU_CALL(int, fstat, (int file, struct stat* to), (file, to), call::stat, -1)
SITU_CALL(int, fstat64, (int file, struct stat64* to), (file, to), call::stat, -1)
SITU_CALL(int, fstatat, (int folder, const char* path, struct stat* to, int flags), (folder, path, to, flags),
          call::stat, -1, path)
SITU_CALL(int, fstatat64, (int folder, const char* path, struct stat64* to, int flags), (folder, path, to, flags),
          call::stat, -1, path)
SITU_CALL(int, access, (const char* path, int how), (path, how), call::access, -1, path)
SITU_CALL(ssize_t, readlink, (const char* path, char* to, size_t bytes), (path, to, bytes), call::readlink, -1, path)
SITU_CALL(ssize_t, read, (int file, void* to, size_t bytes), (file, to, bytes), call::read, -1)
SITU_CALL(ssize_t, pread, (int file, void* to, size_t bytes, off_t at), (file, to, bytes, at), call::read, -1)
SITU_CALL(ssize_t, pread64, (int file, void* to, size_t bytes, off64_t at), (file, to, bytes, at), call::read, -1)
SITU_CALL(int, kill, (pid_t process, int signal), (process, signal), call::kill, -1)
SITU_CALL(int, connect, (int socket, const sockaddr* to, socklen_t bytes), (socket, to, bytes), call::connect, -1)
SITU_CALL(int, socket, (int family, int type, int protocol), (family, type, protocol), call::socket, -1)
SITU_CALL(int, socketpair, (int family, int type, int protocol, int* ends), (family, type, protocol, ends),
          call::make_descriptor, -1)
SITU_CALL(int, accept4, (int socket, sockaddr* from, socklen_t* bytes, int flags), (socket, from, bytes, flags),
          call::accept, -1)
SITU_CALL(ssize_t, recv, (int socket, void* to, size_t bytes, int flags), (socket, to, bytes, flags), call::receive, -1)
SITU_CALL(ssize_t, recvmsg, (int socket, msghdr* to, int flags), (socket, to, flags), call::receive, -1)
SITU_CALL(int, pipe2, (int* ends, int flags), (ends, flags), call::make_descriptor, -1)
SITU_CALL(int, eventfd, (unsigned begin, int flags), (begin, flags), call::make_descriptor, -1)
SITU_CALL(int, epoll_create1, (int flags), (flags), call::make_descriptor, -1)
SITU_CALL(int, signalfd, (int file, const sigset_t* which, int flags), (file, which, flags), call::make_descriptor, -1)
SITU_CALL(int, memfd_create, (const char* name, unsigned flags), (name, flags), call::make_descriptor, -1, name)
SITU_CALL(void*, mmap, (void* at, size_t bytes, int access, int flags, int file, off_t offset),
          (at, bytes, access, flags, file, offset), call::map, MAP_FAILED)
SITU_CALL(pid_t, fork, (), (), call::fork, -1)
SITU_CALL(int, poll, (pollfd * looked, nfds_t count, int ms), (looked, count, ms), call::wait, -1)
SITU_CALL(int, epoll_wait, (int set, epoll_event* found, int most, int ms), (set, found, most, ms), call::wait, -1)
SITU_CALL(pid_t, waitpid, (pid_t process, int* status, int options), (process, status, options), call::wait, -1)
SITU_CALL(int, waitid, (idtype_t kind, id_t which, siginfo_t* to, int options), (kind, which, to, options), call::wait,
          -1)

#define SITU_FCNTL(NAME)                                                            \
  SITU_VISIBLE int NAME(int file, int what, ...) {                                  \
    va_list rest;                                                                   \
    va_start(rest, what);                                                           \
    void* const argument = va_arg(rest, void*);                                     \
    va_end(rest);                                                                   \
    static const auto go_on = situ_faults::next_of<decltype(&NAME)>(#NAME);         \
    if (what == F_DUPFD || what == F_DUPFD_CLOEXEC) SITU_FAIL(call::duplicate, -1); \
    return go_on(file, what, argument);                                             \
  }
SITU_FCNTL(fcntl)
SITU_FCNTL(fcntl64)
SITU_VISIBLE long syscall(long number, ...) noexcept {
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (long& each : words) each = va_arg(rest, long);
  va_end(rest);
  static const auto go_on = situ_faults::next_of<long (*)(long, ...)>("syscall");
  if (number == SYS_pidfd_open) SITU_FAIL(call::pidfd_open, -1);
  return go_on(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"
// NOLINTEND
