#include "rmem/sockets.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/descriptor.h"

namespace situ::rmem::detail {
namespace {

constexpr std::string_view unix_prefix = "unix:";

struct socket_address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
};

socket_address unix_address(std::string_view path) {
  sockaddr_un made{};
  made.sun_family = AF_UNIX;
  if (!path.starts_with('/') || path.size() >= sizeof made.sun_path)
    throw_error(errc::bad_argument, fmt::format("a Unix socket is unix:/path with at most {} characters: unix:{}",
                                                sizeof made.sun_path - 1, path));
  std::memcpy(made.sun_path, path.data(), path.size());
  socket_address all;
  std::memcpy(&all.bytes, &made, sizeof made);
  all.length = sizeof made;
  return all;
}

// The first address that the system has for it.
socket_address address_of(std::string_view endpoint) {
  if (endpoint.starts_with(unix_prefix)) return unix_address(endpoint.substr(unix_prefix.size()));
  const std::size_t colon = endpoint.rfind(':');
  std::string host{endpoint.substr(0, std::min(colon, endpoint.size()))};
  if (host.size() > 2 && host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (colon == std::string_view::npos || host.empty() || colon + 1 == endpoint.size())
    throw_error(errc::bad_argument,
                fmt::format("an endpoint is HOST:PORT, [ADDRESS]:PORT or unix:/path: \"{}\"", endpoint));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port{endpoint.substr(colon + 1)};
  if (const int bad = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); bad != 0)
    throw_error(errc::bad_argument, fmt::format("the endpoint {} has no address: {}", endpoint, ::gai_strerror(bad)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> frees{found, &::freeaddrinfo};
  socket_address all;
  std::memcpy(&all.bytes, found->ai_addr, found->ai_addrlen);
  all.length = found->ai_addrlen;
  return all;
}

descriptor make_socket(int family, int flags) {
  return descriptor{situ::detail::above_standard(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0))};
}

std::string text_of_bound(int socket, const std::string& asked) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (asked.starts_with(unix_prefix)) return asked;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&bound), length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    throw_error(errc::bad_launch, fmt::format("cannot tell where {} listens", asked));
  return bound.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

// A socket's file that nobody listens at any more.
void remove_stale(const socket_address& at, const char* path) {
  const descriptor probe = make_socket(AF_UNIX, SOCK_NONBLOCK);
  if (probe && ::connect(probe.get(), at.get(), at.length) != 0 && errno == ECONNREFUSED) ::unlink(path);
}

// Waits for a connection that is under way. 0, or errno's value.
int finish_connecting(int socket, std::chrono::milliseconds timeout) {
  pollfd waits{socket, POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&waits, 1, static_cast<int>(timeout.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return ready == 0 ? ETIMEDOUT : errno;
  int bad = 0;
  socklen_t length = sizeof bad;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &bad, &length) == 0 ? bad : errno;
}

}  // namespace

descriptor::~descriptor() {
  if (number_ >= 0) ::close(number_);
}

void descriptor_room::attach(msghdr& to) noexcept {
  to.msg_control = bytes_;
  to.msg_controllen = sizeof bytes_;
}
void descriptor_room::pass(int number, msghdr& with) noexcept {
  attach(with);
  cmsghdr* const part = CMSG_FIRSTHDR(&with);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof number);
  std::memcpy(CMSG_DATA(part), &number, sizeof number);
}
descriptor descriptor_room::take(const msghdr& from) const {
  const cmsghdr* const part = CMSG_FIRSTHDR(&from);
  int number = -1;
  if (part == nullptr || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
      part->cmsg_len != CMSG_LEN(sizeof number))
    return {};
  std::memcpy(&number, CMSG_DATA(part), sizeof number);
  return descriptor{situ::detail::above_standard(number)};
}

bool is_on_this_host(std::string_view endpoint) noexcept { return endpoint.starts_with(unix_prefix); }

descriptor listen_on(std::string& endpoint) {
  const socket_address at = address_of(endpoint);
  descriptor made = make_socket(at.bytes.ss_family, SOCK_NONBLOCK);
  const int yes = 1;
  if (at.bytes.ss_family == AF_UNIX) {
    remove_stale(at, endpoint.c_str() + unix_prefix.size());
  } else if (made) {
    ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  }
  // Before it listens nobody can connect, so a socket's file is never open to others.
  if (!made || ::bind(made.get(), at.get(), at.length) != 0 ||
      (at.bytes.ss_family == AF_UNIX && ::chmod(endpoint.c_str() + unix_prefix.size(), 0600) != 0) ||
      ::listen(made.get(), 128) != 0)
    throw_error(errc::bad_launch, fmt::format("cannot listen at {}: {}", endpoint, std::strerror(errno)));
  endpoint = text_of_bound(made.get(), endpoint);
  return made;
}

void forget_endpoint(const std::string& endpoint) noexcept {
  if (endpoint.starts_with(unix_prefix)) ::unlink(endpoint.c_str() + unix_prefix.size());
}

void set_stream_options(int socket, std::chrono::milliseconds patience) noexcept {
  const int yes = 1;
  const auto most_ms = static_cast<unsigned>(patience.count());
  const int seconds = std::max(1, static_cast<int>(patience.count() / 1000));
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof most_ms);
}

void set_nonblocking(int socket) noexcept { ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK); }

descriptor connect_to(std::string_view endpoint, std::chrono::milliseconds timeout) {
  const socket_address at = address_of(endpoint);
  descriptor made = make_socket(at.bytes.ss_family, SOCK_NONBLOCK);
  int bad = made ? 0 : errno;
  if (made && ::connect(made.get(), at.get(), at.length) != 0)
    bad = errno == EINPROGRESS ? finish_connecting(made.get(), timeout) : errno;
  if (bad != 0) throw_error(errc::link_lost, fmt::format("cannot connect to {}: {}", endpoint, std::strerror(bad)));
  set_stream_options(made.get(), timeout);
  const timeval most{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  const int flags = ::fcntl(made.get(), F_GETFL);
  if (::setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) != 0 ||
      ::setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) != 0 ||
      ::fcntl(made.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    throw_error(errc::link_lost, fmt::format("cannot set up a connection to {}: {}", endpoint, std::strerror(errno)));
  return made;
}

}  // namespace situ::rmem::detail
