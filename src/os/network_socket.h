// Sockets of a network (TCP, UDP), and what sockets of every family share: addresses, connecting, options. Every socket
// closes on exec and has a number above 2. On failure errno has the reason. Accepting, and sending and receiving
// messages: local_socket.h. Thread-safe as the calls of the system are.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "os/descriptor.h"
#include "os/local_socket.h"

namespace situ::os {

// The address of a socket, of any family. A default object is empty.
class socket_address {
 public:
  socket_address() = default;
  // Copies an address that the system has made. pre: it has at most sizeof(sockaddr_storage) bytes.
  socket_address(const sockaddr* from, socklen_t bytes) noexcept;
  explicit socket_address(const local_address& from) noexcept : socket_address{from.get(), from.bytes()} {}
  // Both in the network's byte order. Port 0: the system chooses one when a socket is bound.
  [[nodiscard]] static socket_address ipv4(in_addr_t host, in_port_t port) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return bytes_ != 0; }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
  [[nodiscard]] socklen_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] int family() const noexcept { return address_.ss_family; }
  // Returns the port in the network's byte order. pre: the family is AF_INET or AF_INET6.
  [[nodiscard]] in_port_t port() const noexcept;
  // Returns "ADDRESS:PORT", or "[ADDRESS]:PORT" for IPv6, in figures. Returns nullopt for other families.
  [[nodiscard]] std::optional<std::string> text() const;

 private:
  sockaddr_storage address_{};
  socklen_t bytes_ = 0;
};

struct found_addresses {
  std::vector<socket_address> all;  // in the system's order; not empty if there is no failure
  int failure = 0;                  // getaddrinfo's value: EAI_SYSTEM if errno has the reason; 0: none
};
// Asks the system for the addresses of a host. It may ask a server of names, and wait for it. host: a name or an
// address; port: a number; type: SOCK_STREAM or SOCK_DGRAM.
[[nodiscard]] found_addresses find_addresses(const std::string& host, const std::string& port, int type);

// Returns a new socket; empty on failure. type: SOCK_STREAM or SOCK_DGRAM, with SOCK_NONBLOCK if its calls shall not
// wait.
[[nodiscard]] descriptor open_socket(int family, int type) noexcept;
// Gives the socket its address. Returns false on failure.
[[nodiscard]] bool bind_to(const descriptor& socket, const socket_address& at) noexcept;
// Returns the address that the socket has here; empty on failure.
[[nodiscard]] socket_address address_of_socket(const descriptor& socket) noexcept;
// Returns the address of the socket's other end; empty on failure.
[[nodiscard]] socket_address address_of_peer(const descriptor& socket) noexcept;

// Connects; waits for it if the socket blocks, also if a signal interrupts that. A datagram socket sends nothing.
// Returns 0, or errno's value: EINPROGRESS if the socket does not block and is not connected yet; EAGAIN if a local
// server's queue stayed full for the time of set_call_timeout.
[[nodiscard]] int connect_to(const descriptor& socket, const socket_address& to) noexcept;
// Connects a socket that does not block. Returns 0, or errno's value: ETIMEDOUT after the timeout.
[[nodiscard]] int connect_within(const descriptor& socket, const socket_address& to,
                                 std::chrono::milliseconds timeout) noexcept;

// Bounds the time of each call that sends or receives, and of connecting to a local socket: then the call fails with
// EAGAIN. Returns 0, or errno's value.
[[nodiscard]] int set_call_timeout(const descriptor& socket, std::chrono::milliseconds timeout) noexcept;
// If not blocking, calls return at once. Returns 0, or errno's value.
int set_blocking(const descriptor& socket, bool is_blocking) noexcept;
// Lets TCP send small messages at once (TCP_NODELAY).
void set_no_delay(const descriptor& socket) noexcept;
// Lets a TCP port be bound again while connections of an ended server still wait there (SO_REUSEADDR).
void set_address_reuse(const descriptor& socket) noexcept;

}  // namespace situ::os
