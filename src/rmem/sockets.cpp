#include "rmem/sockets.h"

#include <situ/base/error_code.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "os/local_socket.h"

namespace situ::rmem::detail {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr int most_queued = 4096;  // connections waiting to be accepted; the kernel has its own limit (somaxconn)

struct socket_address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
};

socket_address unix_address(std::string_view path) {
  constexpr std::size_t most = os::local_address::most_bytes;
  if (!path.starts_with('/') || path.size() > most)
    throw_error(errc::bad_argument,
                fmt::format("a Unix socket is unix:/path with at most {} characters: unix:{}", most, path));
  const auto made = os::local_address::of_path(path);
  socket_address all;
  std::memcpy(&all.bytes, made.get(), made.bytes());
  all.length = made.bytes();
  return all;
}

// Returns the first address that the system has for an endpoint.
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

os::descriptor make_socket(int family, int flags) {
  return os::descriptor{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)};
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

// The file at a path; symbolic links are not followed.
struct found_file {
  bool is_there = false;
  bool is_socket = false;
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const found_file&, const found_file&) = default;
};

// Throws bad_launch if lstat fails: a file that cannot be seen does not count as absent.
found_file look_at(const std::string& path, const std::string& endpoint) {
  struct stat seen{};
  if (::lstat(path.c_str(), &seen) == 0) return {true, S_ISSOCK(seen.st_mode), seen.st_dev, seen.st_ino};
  if (errno == ENOENT) return {};
  throw_error(errc::bad_launch, fmt::format("cannot listen at {}: {}", endpoint, std::strerror(errno)));
}

// Returns errno's value; 0: a process listens there.
int try_to_connect(const socket_address& at, const std::string& endpoint) {
  const os::descriptor probe = os::open_local_socket(SOCK_STREAM | SOCK_NONBLOCK);
  if (!probe) throw_error(errc::bad_launch, fmt::format("cannot listen at {}: {}", endpoint, std::strerror(errno)));
  return ::connect(probe.number(), at.get(), at.length) == 0 ? 0 : errno;
}

// Removes a socket at which nobody answers, and nothing else. A server that is just starting has bound its socket and
// does not listen yet: so a socket is stale only if it refuses three times.
void remove_stale(const socket_address& at, const std::string& path, const std::string& endpoint) {
  const found_file seen = look_at(path, endpoint);
  if (!seen.is_there) return;
  if (!seen.is_socket)
    throw_error(errc::bad_launch, fmt::format("cannot listen at {}: there is a file that is no socket; name another "
                                              "path, or remove the file",
                                              endpoint));
  for (int tries = 0; tries < 3; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds{20});
    const int refused = try_to_connect(at, endpoint);
    if (refused == ENOENT) return;
    if (refused == 0 || refused == EAGAIN)
      throw_error(errc::bad_launch, fmt::format("cannot listen at {}: another process listens there; name another "
                                                "path, or end that process",
                                                endpoint));
    if (refused != ECONNREFUSED)
      throw_error(errc::bad_launch,
                  fmt::format("cannot listen at {}: whether somebody answers at the socket there cannot be told: {}; "
                              "name another path, or remove the socket",
                              endpoint, std::strerror(refused)));
  }
  if (look_at(path, endpoint) == seen) ::unlink(path.c_str());
}

// Waits for a connection to complete. Returns 0, or errno's value.
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

// Both connect, and return 0 or errno's value.
int start_and_finish(int socket, const socket_address& at, std::chrono::milliseconds timeout) {
  if (::connect(socket, at.get(), at.length) == 0) return 0;
  return errno == EINPROGRESS ? finish_connecting(socket, timeout) : errno;
}
int connect_and_wait(int socket, const socket_address& at) {
  for (;;) {
    if (::connect(socket, at.get(), at.length) == 0) return 0;
    if (errno != EINTR) return errno;  // a signal ended the wait, and the socket is not connected
  }
}

}  // namespace

bool is_on_this_host(std::string_view endpoint) noexcept { return endpoint.starts_with(unix_prefix); }

listener::listener(std::string& endpoint) {
  const socket_address at = address_of(endpoint);
  const bool is_unix = at.bytes.ss_family == AF_UNIX;
  const std::string path = is_unix ? endpoint.substr(unix_prefix.size()) : "";
  socket_ = make_socket(at.bytes.ss_family, SOCK_NONBLOCK);
  const int yes = 1;
  if (is_unix) {
    remove_stale(at, path, endpoint);
    // bind() gives the file the socket's mode.
    if (socket_) ::fchmod(socket_.number(), 0600);
  } else if (socket_) {
    ::setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    bound_buffers(socket_.number());  // accepted sockets inherit it, and TCP must know before the connection
  }
  const auto refuse = [&] {
    const int why = errno;
    remove_own_file();
    throw_error(errc::bad_launch, fmt::format("cannot listen at {}: {}", endpoint, std::strerror(why)));
  };
  if (!socket_ || ::bind(socket_.number(), at.get(), at.length) != 0) refuse();
  if (is_unix) {
    const found_file made = look_at(path, endpoint);
    if (made.is_socket) path_ = path, device_ = made.device, inode_ = made.inode;
  }
  if (::listen(socket_.number(), most_queued) != 0) refuse();
  endpoint = text_of_bound(socket_.number(), endpoint);
}

listener::~listener() { remove_own_file(); }

// Removes the file only if it is still the listener's own: another file may have the name by now.
void listener::remove_own_file() const noexcept {
  struct stat seen{};
  if (socket_ && !path_.empty() && ::lstat(path_.c_str(), &seen) == 0 && seen.st_dev == device_ &&
      seen.st_ino == inode_)
    ::unlink(path_.c_str());
}

void bound_buffers(int socket) noexcept {
  for (const int which : {SO_SNDBUF, SO_RCVBUF})
    ::setsockopt(socket, SOL_SOCKET, which, &most_kernel_bytes, sizeof most_kernel_bytes);
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

os::descriptor connect_to(std::string_view endpoint, std::chrono::milliseconds timeout) {
  const socket_address at = address_of(endpoint);
  const bool is_unix = at.bytes.ss_family == AF_UNIX;
  os::descriptor made = make_socket(at.bytes.ss_family, is_unix ? 0 : SOCK_NONBLOCK);
  const auto fail = [&](int why) {
    throw_error(errc::link_lost, fmt::format("cannot connect to {}: {}", endpoint, std::strerror(why)));
  };
  if (!made) fail(errno);
  const timeval most{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  if (::setsockopt(made.number(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) != 0 ||
      ::setsockopt(made.number(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) != 0)
    fail(errno);
  // On a Unix socket connect() waits for room in the server's queue; EAGAIN: there was none in time.
  if (const int bad = is_unix ? connect_and_wait(made.number(), at) : start_and_finish(made.number(), at, timeout);
      bad != 0)
    fail(bad == EAGAIN ? ETIMEDOUT : bad);
  set_stream_options(made.number(), timeout);
  const int flags = ::fcntl(made.number(), F_GETFL);
  if (flags < 0 || ::fcntl(made.number(), F_SETFL, flags & ~O_NONBLOCK) != 0) fail(errno);
  return made;
}

}  // namespace situ::rmem::detail
