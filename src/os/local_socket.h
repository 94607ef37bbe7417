// Sockets of one host (AF_UNIX), and messages that pass a descriptor with their bytes. Every socket and every received
// descriptor closes on exec and has a number above 2. On failure errno has the reason. Thread-safe as the calls of the
// system are.
//
// The peer may be hostile. Whatever a received message passes, no descriptor stays open that nobody owns: if there are
// several, all are closed.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "os/descriptor.h"

namespace situ::os {

// The address of a socket: a file's path, or an abstract name, which has no file and ends with its socket.
class local_address {
 public:
  // The longest path or name.
  static constexpr std::size_t most_bytes = sizeof(sockaddr_un::sun_path) - 1;

  // pre: the text has at most most_bytes; the rest is cut.
  [[nodiscard]] static local_address of_path(std::string_view path) noexcept { return {path, 0}; }
  [[nodiscard]] static local_address abstract(std::string_view name) noexcept { return {name, 1}; }

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
  [[nodiscard]] socklen_t bytes() const noexcept { return bytes_; }

 private:
  local_address(std::string_view text, std::size_t at) noexcept;

  sockaddr_un address_{};
  socklen_t bytes_;
};

// Returns a new socket; empty on failure. type: SOCK_STREAM, SOCK_SEQPACKET or SOCK_DGRAM, with SOCK_NONBLOCK if its
// calls shall not wait.
[[nodiscard]] descriptor open_local_socket(int type) noexcept;
// Two connected sockets. Both are empty on failure.
struct socket_pair {
  descriptor one;
  descriptor other;
  [[nodiscard]] static socket_pair make(int type) noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(one); }
};
// Gives the socket its address. Returns false on failure.
[[nodiscard]] bool bind_to(const descriptor& socket, const local_address& at) noexcept;
// Lets up to most_queued connections wait to be accepted, also by a bound TCP socket. Returns false on failure.
[[nodiscard]] bool listen_on(const descriptor& socket, int most_queued) noexcept;
// Does both.
[[nodiscard]] bool listen_at(const descriptor& socket, const local_address& at, int most_queued) noexcept;
// Accepts one connection, also of a TCP socket; empty on failure, with EAGAIN if none waits. flags: SOCK_NONBLOCK or 0.
[[nodiscard]] descriptor accept_from(const descriptor& listener, int flags = 0) noexcept;

// Returns the credentials of the process at the other end, as they were when it connected; the pid is 0 if that process
// is in another pid namespace. Returns nullopt on failure.
[[nodiscard]] std::optional<ucred> peer_of(const descriptor& socket) noexcept;

// Sends bytes by one call; without a descriptor also on a TCP socket. passed: the descriptor of which the peer gets a
// duplicate; -1: none. Returns the number of bytes that were sent, or -1. Starts again if a signal interrupts it, and
// raises no SIGPIPE.
[[nodiscard]] ssize_t send_message(const descriptor& socket, std::span<const iovec> parts, int passed = -1) noexcept;

struct received_message {
  ssize_t bytes = -1;   // 0: the peer has closed the connection, or the message is empty; -1: failure
  descriptor passed;    // empty if the message passed none, or more than one
  bool is_cut = false;  // passed descriptors were dropped, since this process has no number left, or for lack of room
};
// Receives bytes by one call, from a TCP socket as well. Starts again if a signal interrupts it.
[[nodiscard]] received_message receive_message(const descriptor& socket, std::span<std::byte> to) noexcept;

}  // namespace situ::os
