#include "os/signals.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace situ::os {

passed_signals::passed_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  descriptor_ = os::descriptor{::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (descriptor_) return;
  const int reason = errno;  // blocked and unread, the signals would end no process
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  throw_error(errc::bad_launch, fmt::format("signals cannot be passed on: {}", ::strerrordesc_np(reason)));
}

passed_signals::~passed_signals() {
  while (next()) {}
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<passed_signal> passed_signals::next() const noexcept {
  signalfd_siginfo info{};
  if (::read(descriptor_.number(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return passed_signal{.number = static_cast<int>(info.ssi_signo), .is_from_kernel = info.ssi_code > 0};
}

}  // namespace situ::os
