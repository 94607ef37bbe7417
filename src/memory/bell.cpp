#include "memory/bell.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "os/local_socket.h"

namespace situ::detail {
namespace {

[[nodiscard]] os::local_address address_of(std::uint64_t key) noexcept {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "situ-bell-%016llx", static_cast<unsigned long long>(key));
  return os::local_address::abstract(name.data());
}

[[nodiscard]] os::descriptor open_datagrams() noexcept { return os::open_local_socket(SOCK_DGRAM | SOCK_NONBLOCK); }

[[nodiscard]] std::uint64_t random_key() noexcept {
  std::uint64_t key = 0;
  while (::getrandom(&key, sizeof key, 0) != sizeof key || key == 0) {}
  return key;
}

}  // namespace

bell::bell(place_slot& own) : own_{own}, socket_{open_datagrams()} {
  const std::uint64_t key = random_key();
  const os::local_address at = address_of(key);
  if (!socket_ || !os::bind_to(socket_, at))
    throw_error(errc::bad_launch, fmt::format("there is no socket to wake a place by that waits for other hosts: {}",
                                              std::strerror(errno)));
  own_.bell.store(key);
}

bell::~bell() { own_.bell.store(0); }

void bell::silence() const noexcept {
  char none = 0;
  while (::recv(socket_.number(), &none, sizeof none, MSG_DONTWAIT) >= 0) {}
}

void ring_bell(std::uint64_t key) noexcept {
  // One socket per process, for all bells that it rings. A program may have closed descriptors that it does not know
  // (closefrom), and may use the number itself by now: then sending fails, and this opens another socket.
  static std::atomic<int> kept{-1};
  const os::local_address at = address_of(key);
  for (int tries = 0; tries < 3; ++tries) {
    int with = kept.load();
    if (with < 0) {
      os::descriptor made = open_datagrams();
      if (!made) return;  // a sleep by a bell times out soon
      if (!kept.compare_exchange_strong(with, made.number())) continue;
      with = made.release();  // stays open until the process ends
    }
    if (::sendto(with, nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL, at.get(), at.bytes()) >= 0) return;
    // The bell no longer exists, or it rings already.
    if (errno == ECONNREFUSED || errno == ENOENT || errno == EAGAIN || errno == ENOBUFS) return;
    kept.compare_exchange_strong(with, -1);
  }
}

bool await_descriptors(int one, int other, std::int64_t timeout_ns) noexcept {
  constexpr std::int64_t second_ns = 1'000'000'000;
  pollfd awaited[]{{.fd = one, .events = POLLIN, .revents = 0}, {.fd = other, .events = POLLIN, .revents = 0}};
  const timespec time{.tv_sec = timeout_ns / second_ns, .tv_nsec = timeout_ns % second_ns};
  return ::ppoll(awaited, 2, timeout_ns < 0 ? nullptr : &time, nullptr) != 0;
}

}  // namespace situ::detail
