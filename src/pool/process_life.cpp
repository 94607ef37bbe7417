#include "pool/process_life.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/descriptor.h"

namespace situ::detail {
namespace {

struct process_stat {
  char state = 0;
  std::uint64_t threads = 0;
  std::uint64_t begun = 0;
};

// Returns false if the kernel does not show the file.
bool read_stat(const char* path, process_stat& into) noexcept {
  const os::descriptor file{::open(path, O_RDONLY | O_CLOEXEC)};
  if (!file) return false;
  char text[1024];
  ssize_t length = 0;
  do length = ::read(file.number(), text, sizeof text - 1);
  while (length < 0 && errno == EINTR);
  if (length <= 0) return false;
  text[length] = 0;
  // The process's name, in brackets, may hold any character; the state follows it as field 3.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return false;
  into.state = at[2];
  ++at;
  for (int field = 3; at != nullptr; at = std::strchr(at + 1, ' '), ++field) {
    if (field == 20) into.threads = std::strtoull(at, nullptr, 10);
    if (field != 22) continue;
    into.begun = std::strtoull(at, nullptr, 10);
    return into.begun != 0;
  }
  return false;
}

// Returns true if /proc is mounted and numbers processes as this process's own name space does: a container may show
// another one's.
bool is_own_proc() noexcept {
  char text[24];
  const ssize_t length = ::readlink("/proc/self", text, sizeof text - 1);
  if (length <= 0) return false;
  text[length] = 0;
  return std::strtoull(text, nullptr, 10) == static_cast<std::uint64_t>(::getpid());
}

// Reads the name spaces again at each call, because a process may enter others. Returns 0 if they are unknown.
std::uint64_t own_spaces() noexcept {
  struct stat of_numbers{};
  struct stat of_time{};
  if (!is_own_proc() || ::stat("/proc/self/ns/pid", &of_numbers) != 0) return 0;
  if (::stat("/proc/self/ns/time", &of_time) != 0) {
    if (errno != ENOENT) return 0;
    of_time.st_ino = 1;  // a kernel before 5.6 has no time name spaces
  }
  // Inode numbers of name spaces have 32 bits.
  return static_cast<std::uint64_t>(of_numbers.st_ino) + (static_cast<std::uint64_t>(of_time.st_ino) << 32);
}

}  // namespace

process_identity own_identity() noexcept {
  process_identity own;
  own.number = static_cast<std::uint64_t>(::getpid());
  own.spaces = own_spaces();
  process_stat found;
  if (own.spaces != 0 && read_stat("/proc/self/stat", found)) own.begun = found.begun;
  return own;
}

bool has_ended(const process_identity& process) noexcept {
  if (process.number == 0 || process.number > INT_MAX) return false;
  if (process.spaces == 0 || process.spaces != own_spaces()) return false;
  if (::kill(static_cast<pid_t>(process.number), 0) != 0 && errno == ESRCH) return true;
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%llu/stat", static_cast<unsigned long long>(process.number));
  process_stat found;
  if (process.begun == 0 || !read_stat(path, found)) return false;
  if (found.begun != process.begun) return true;
  return found.state == 'X' || found.state == 'x' || (found.state == 'Z' && found.threads <= 1);
}

}  // namespace situ::detail
