#include "os/network_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace situ::os {
namespace {

constexpr int no_timeout = -1;

// Waits for a connection to complete. Returns 0, or errno's value.
int finish_connecting(const descriptor& socket, int timeout_ms) noexcept {
  pollfd waits{socket.number(), POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&waits, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return ready == 0 ? ETIMEDOUT : errno;
  int bad = 0;
  socklen_t length = sizeof bad;
  return ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &bad, &length) == 0 ? bad : errno;
}

}  // namespace

socket_address::socket_address(const sockaddr* from, socklen_t bytes) noexcept : bytes_{bytes} {
  std::memcpy(&address_, from, bytes);
}

socket_address socket_address::ipv4(in_addr_t host, in_port_t port) noexcept {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_addr.s_addr = host;
  made.sin_port = port;
  return {reinterpret_cast<const sockaddr*>(&made), sizeof made};
}

in_port_t socket_address::port() const noexcept {
  return family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&address_)->sin6_port
                              : reinterpret_cast<const sockaddr_in*>(&address_)->sin_port;
}

std::optional<std::string> socket_address::text() const {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if ((family() != AF_INET && family() != AF_INET6) ||
      ::getnameinfo(get(), bytes_, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return std::nullopt;
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

found_addresses find_addresses(const std::string& host, const std::string& port, int type) {
  addrinfo wanted{};
  wanted.ai_socktype = type;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* first = nullptr;
  found_addresses found;
  found.failure = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &first);
  if (found.failure != 0) return found;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned{first, &::freeaddrinfo};
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next)
    found.all.emplace_back(each->ai_addr, each->ai_addrlen);
  return found;
}

descriptor open_socket(int family, int type) noexcept { return descriptor{::socket(family, type | SOCK_CLOEXEC, 0)}; }

bool bind_to(const descriptor& socket, const socket_address& at) noexcept {
  return ::bind(socket.number(), at.get(), at.bytes()) == 0;
}

socket_address address_of_socket(const descriptor& socket) noexcept {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  if (::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &bytes) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&own), bytes};
}

socket_address address_of_peer(const descriptor& socket) noexcept {
  sockaddr_storage peer{};
  socklen_t bytes = sizeof peer;
  if (::getpeername(socket.number(), reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&peer), bytes};
}

int connect_to(const descriptor& socket, const socket_address& to) noexcept {
  for (;;) {
    if (::connect(socket.number(), to.get(), to.bytes()) == 0) return 0;
    if (errno != EINTR) return errno;
    // A signal ended the wait: a local socket is not connected, and one of TCP goes on connecting.
    if (to.family() != AF_UNIX) return finish_connecting(socket, no_timeout);
  }
}

int connect_within(const descriptor& socket, const socket_address& to, std::chrono::milliseconds timeout) noexcept {
  if (::connect(socket.number(), to.get(), to.bytes()) == 0) return 0;
  return errno == EINPROGRESS ? finish_connecting(socket, static_cast<int>(timeout.count())) : errno;
}

int set_call_timeout(const descriptor& socket, std::chrono::milliseconds timeout) noexcept {
  const timeval most{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO})
    if (::setsockopt(socket.number(), SOL_SOCKET, which, &most, sizeof most) != 0) return errno;
  return 0;
}

int set_blocking(const descriptor& socket, bool is_blocking) noexcept {
  const int flags = ::fcntl(socket.number(), F_GETFL);
  if (flags < 0) return errno;
  return ::fcntl(socket.number(), F_SETFL, is_blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) == 0 ? 0 : errno;
}

void set_no_delay(const descriptor& socket) noexcept {
  const int yes = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void set_address_reuse(const descriptor& socket) noexcept {
  const int yes = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

}  // namespace situ::os
