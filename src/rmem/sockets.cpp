#include "rmem/sockets.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "os/local_socket.h"
#include "os/network_socket.h"

namespace situ::rmem::detail {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr int most_queued = 4096;  // connections waiting to be accepted; the kernel has its own limit (somaxconn)

os::socket_address unix_address(std::string_view path) {
  constexpr std::size_t most = os::local_address::most_bytes;
  if (!path.starts_with('/') || path.size() > most)
    throw_error(errc::bad_argument,
                fmt::format("a Unix socket is unix:/path with at most {} characters: unix:{}", most, path));
  return os::socket_address{os::local_address::of_path(path)};
}

// Returns the first address that the system has for an endpoint.
os::socket_address address_of(std::string_view endpoint) {
  if (endpoint.starts_with(unix_prefix)) return unix_address(endpoint.substr(unix_prefix.size()));
  const std::size_t colon = endpoint.rfind(':');
  std::string host{endpoint.substr(0, std::min(colon, endpoint.size()))};
  if (host.size() > 2 && host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (colon == std::string_view::npos || host.empty() || colon + 1 == endpoint.size())
    throw_error(errc::bad_argument,
                fmt::format("an endpoint is HOST:PORT, [ADDRESS]:PORT or unix:/path: \"{}\"", endpoint));
  os::found_addresses found = os::find_addresses(host, std::string{endpoint.substr(colon + 1)}, SOCK_STREAM);
  if (found.failure != 0)
    throw_error(errc::bad_argument,
                fmt::format("the endpoint {} has no address: {}", endpoint, ::gai_strerror(found.failure)));
  return found.all.front();
}

std::string text_of_bound(const os::descriptor& socket, const std::string& asked) {
  if (asked.starts_with(unix_prefix)) return asked;
  std::optional<std::string> text = os::address_of_socket(socket).text();
  if (!text) throw_error(errc::bad_launch, fmt::format("cannot tell where {} listens", asked));
  return *std::move(text);
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
int try_to_connect(const os::socket_address& at, const std::string& endpoint) {
  const os::descriptor probe = os::open_local_socket(SOCK_STREAM | SOCK_NONBLOCK);
  if (!probe) throw_error(errc::bad_launch, fmt::format("cannot listen at {}: {}", endpoint, std::strerror(errno)));
  return os::connect_to(probe, at);
}

// Removes a socket at which nobody answers, and nothing else. A server that is just starting has bound its socket and
// does not listen yet: so a socket is stale only if it refuses three times.
void remove_stale(const os::socket_address& at, const std::string& path, const std::string& endpoint) {
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

}  // namespace

bool is_on_this_host(std::string_view endpoint) noexcept { return endpoint.starts_with(unix_prefix); }

listener::listener(std::string& endpoint) {
  const os::socket_address at = address_of(endpoint);
  const bool is_unix = at.family() == AF_UNIX;
  const std::string path = is_unix ? endpoint.substr(unix_prefix.size()) : "";
  socket_ = os::open_socket(at.family(), SOCK_STREAM | SOCK_NONBLOCK);
  if (is_unix) {
    remove_stale(at, path, endpoint);
    // bind() gives the file the socket's mode.
    if (socket_) ::fchmod(socket_.number(), 0600);
  } else if (socket_) {
    os::set_address_reuse(socket_);
    bound_buffers(socket_);  // accepted sockets inherit it, and TCP must know before the connection
  }
  const auto refuse = [&] {
    const int why = errno;
    remove_own_file();
    throw_error(errc::bad_launch, fmt::format("cannot listen at {}: {}", endpoint, std::strerror(why)));
  };
  if (!socket_ || !os::bind_to(socket_, at)) refuse();
  if (is_unix) {
    const found_file made = look_at(path, endpoint);
    if (made.is_socket) path_ = path, device_ = made.device, inode_ = made.inode;
  }
  if (!os::listen_on(socket_, most_queued)) refuse();
  endpoint = text_of_bound(socket_, endpoint);
}

listener::~listener() { remove_own_file(); }

// Removes the file only if it is still the listener's own: another file may have the name by now.
void listener::remove_own_file() const noexcept {
  struct stat seen{};
  if (socket_ && !path_.empty() && ::lstat(path_.c_str(), &seen) == 0 && seen.st_dev == device_ &&
      seen.st_ino == inode_)
    ::unlink(path_.c_str());
}

std::string text_of_peer(const os::descriptor& socket, bool is_on_this_host) {
  if (!is_on_this_host) return os::address_of_peer(socket).text().value_or("");
  const std::optional<ucred> peer = os::peer_of(socket);
  return peer && peer->pid != 0 ? fmt::format("process {}", peer->pid) : "";
}

void bound_buffers(const os::descriptor& socket) noexcept {
  for (const int which : {SO_SNDBUF, SO_RCVBUF})
    ::setsockopt(socket.number(), SOL_SOCKET, which, &most_kernel_bytes, sizeof most_kernel_bytes);
}

void set_stream_options(const os::descriptor& socket, std::chrono::milliseconds patience) noexcept {
  const int yes = 1;
  const auto most_ms = static_cast<unsigned>(patience.count());
  const int seconds = std::max(1, static_cast<int>(patience.count() / 1000));
  os::set_no_delay(socket);
  ::setsockopt(socket.number(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof most_ms);
}

os::descriptor connect_to(std::string_view endpoint, std::chrono::milliseconds timeout) {
  const os::socket_address at = address_of(endpoint);
  const bool is_unix = at.family() == AF_UNIX;
  os::descriptor made = os::open_socket(at.family(), is_unix ? SOCK_STREAM : SOCK_STREAM | SOCK_NONBLOCK);
  const auto fail = [&](int why) {
    throw_error(errc::link_lost, fmt::format("cannot connect to {}: {}", endpoint, std::strerror(why)));
  };
  if (!made) fail(errno);
  if (const int bad = os::set_call_timeout(made, timeout); bad != 0) fail(bad);
  // On a Unix socket connect() waits for room in the server's queue; EAGAIN: there was none in time.
  if (const int bad = is_unix ? os::connect_to(made, at) : os::connect_within(made, at, timeout); bad != 0)
    fail(bad == EAGAIN ? ETIMEDOUT : bad);
  set_stream_options(made, timeout);
  if (const int bad = os::set_blocking(made, true); bad != 0) fail(bad);
  return made;
}

}  // namespace situ::rmem::detail
