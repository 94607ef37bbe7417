// A blocking TCP echo, beside which operations on memory elsewhere are measured: what can be done by hand with sockets.
// A head of 64 bytes goes there with the data of a write, one of 32 bytes comes back with that of a read, each by one
// call where they are short. Errors of the system are std::system_error.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>
#include <vector>

#include "os/network_socket.h"

namespace tcp_echo {

namespace os = situ::os;

using head = std::array<std::uint64_t, 8>;    // [0] bytes that follow, [1] bytes wanted
using answer = std::array<std::uint64_t, 4>;  // before what was wanted

// In network order.
struct address {
  in_addr_t ip;
  in_port_t port;
};

inline void must(bool holds, const char* what) {
  if (!holds) throw std::system_error{errno, std::generic_category(), what};
}

inline void send_all(int socket, std::span<const std::byte> first, std::span<const std::byte> second) {
  std::size_t done = 0;
  const std::size_t all = first.size() + second.size();
  while (done < all) {
    const std::size_t in_first = std::min(done, first.size());
    iovec parts[2]{{const_cast<std::byte*>(first.data()) + in_first, first.size() - in_first},
                   {const_cast<std::byte*>(second.data()) + (done - in_first), second.size() - (done - in_first)}};
    const ssize_t gone = ::writev(socket, parts, 2);
    must(gone > 0, "writev");
    done += static_cast<std::size_t>(gone);
  }
}
// False at the end. Head and data by one call as far as they have come.
inline bool receive_all(int socket, std::span<std::byte> first, std::span<std::byte> second) {
  std::size_t done = 0;
  const std::size_t all = first.size() + second.size();
  while (done < all) {
    const std::size_t in_first = std::min(done, first.size());
    iovec parts[2]{{first.data() + in_first, first.size() - in_first},
                   {second.data() + (done - in_first), second.size() - (done - in_first)}};
    const ssize_t got = ::readv(socket, parts, 2);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

// Serves one client, until that closes its socket. pre: it asks for, and sends, no more than so many bytes at a time.
class server {
 public:
  server(in_addr_t ip, std::size_t most_bytes)
      : listener_{os::open_socket(AF_INET, SOCK_STREAM)}, in_(sizeof(head) + most_bytes), out_(most_bytes) {
    must(os::bind_to(listener_, os::socket_address::ipv4(ip, 0)) && os::listen_on(listener_, 1), "listen");
    const os::socket_address at = os::address_of_socket(listener_);
    must(static_cast<bool>(at), "listen");
    way_ = {ip, at.port()};
  }
  [[nodiscard]] address way() const noexcept { return way_; }

  void serve() {
    const os::descriptor socket = os::accept_from(listener_);
    must(static_cast<bool>(socket), "accept");
    os::set_no_delay(socket);
    while (serve_one(socket.number())) {}
  }

 private:
  // A head and short data come by one call.
  bool serve_one(int socket) {
    const ssize_t got = ::recv(socket, in_.data(), in_.size(), 0);
    if (got < static_cast<ssize_t>(sizeof(head))) return false;
    head asked{};
    std::memcpy(&asked, in_.data(), sizeof asked);
    const std::size_t rest = sizeof asked + asked[0] - static_cast<std::size_t>(got);
    if (rest > 0 && !receive_all(socket, std::span{in_}.subspan(static_cast<std::size_t>(got), rest), {})) return false;
    const answer said{asked[1]};
    send_all(socket, std::as_bytes(std::span{said}), std::span{out_}.first(asked[1]));
    return true;
  }
  os::descriptor listener_;
  address way_{};
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
};

class client {
 public:
  explicit client(const address& way) : socket_{os::open_socket(AF_INET, SOCK_STREAM)} {
    must(os::connect_to(socket_, os::socket_address::ipv4(way.ip, way.port)) == 0, "connect");
    os::set_no_delay(socket_);
  }

  // Sends these bytes, and waits for those.
  void ask(std::span<const std::byte> there, std::span<std::byte> back) {
    const head asked{there.size(), back.size()};
    answer said{};
    send_all(socket_.number(), std::as_bytes(std::span{asked}), there);
    must(receive_all(socket_.number(), std::as_writable_bytes(std::span{said}), back), "the echo");
  }

 private:
  os::descriptor socket_;
};

}  // namespace tcp_echo
