#include "base/file_size.h"

#include <situ/base/units.h>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace situ::detail {
namespace {

sigset_t only_file_size_signal() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  return set;
}

bool is_pending() noexcept {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

std::uint64_t file_size_limit() noexcept {
  rlimit most{};
  if (::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return no_file_size_limit;
  return most.rlim_cur;
}

int set_file_size(int descriptor, std::uint64_t bytes) noexcept {
  const file_size_signal_held held;  // for a limit that is lowered at this moment
  return ::ftruncate(descriptor, static_cast<off_t>(bytes));
}

std::string write_failure(int reason) {
  if (reason == EFBIG && file_size_limit() != no_file_size_limit)
    return fmt::format("the limit on the size of files is {}; raise it (ulimit -f)", format_bytes(file_size_limit()));
  const char* const words = ::strerrordesc_np(reason);
  return words != nullptr ? words : fmt::format("error {}", reason);
}

// The kernel sends the signal to the writing thread, so that thread's mask decides.
file_size_signal_held::file_size_signal_held() noexcept : is_held_{file_size_limit() != no_file_size_limit} {
  if (!is_held_) return;
  const int before = errno;
  const sigset_t signal = only_file_size_signal();
  was_pending_ = is_pending();
  ::pthread_sigmask(SIG_BLOCK, &signal, &before_);
  errno = before;
}

// Consumes a signal that arrived while the object lived, so that it is not delivered afterwards; an earlier pending
// one stays.
file_size_signal_held::~file_size_signal_held() {
  if (!is_held_) return;
  const int before = errno;
  if (!was_pending_ && is_pending()) {
    const sigset_t signal = only_file_size_signal();
    const timespec at_once{};
    ::sigtimedwait(&signal, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = before;
}

}  // namespace situ::detail
