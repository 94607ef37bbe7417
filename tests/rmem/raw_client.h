// A client of remote memory by hand, byte for byte, for tests.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

#include "rmem/handshake.h"
#include "rmem/protocol.h"
#include "rmem/servers.h"
#include "rmem/sockets.h"

namespace situ_rmem_test {

using namespace situ::rmem::detail;

// A client by hand.
class raw_client {
 public:
  explicit raw_client(const std::string& endpoint) : socket_{connect_to(endpoint, 20s)} {}
  raw_client(const std::string& endpoint, const rmem::application_key& key) : raw_client{endpoint} {
    const auto heard = receive<hello>();
    login said{protocol_magic, protocol_version, 0, fixed<application_bytes>(key.application), {}, {}};
    said.proof = client_proof(key, heard, said);
    send(bytes_of(said));
    EXPECT_EQ(receive<welcome>().status, 0);
  }
  void send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t gone = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (gone <= 0) return;  // it has been closed
      bytes = bytes.subspan(static_cast<std::size_t>(gone));
    }
  }
  template <class T>
  T receive() {
    T got{};
    EXPECT_EQ(::recv(socket_.number(), &got, sizeof got, MSG_WAITALL), static_cast<ssize_t>(sizeof got));
    return got;
  }
  [[nodiscard]] int socket() const noexcept { return socket_.number(); }
  // Whether the server closes it, whatever it sends before.
  bool is_closed() {
    std::byte bytes[4096];
    ssize_t got = 1;
    while (got > 0) got = ::recv(socket_.number(), bytes, sizeof bytes, 0);
    return got == 0 || errno == ECONNRESET;
  }

 private:
  os::descriptor socket_;
};

inline request_head head_for(operation what, const capability& with, std::uint64_t bytes) {
  request_head made{};
  made.operation = static_cast<std::uint16_t>(what);
  made.address = with.address;
  made.bytes = bytes;
  made.grant = with.number;
  made.secret = with.secret;
  return made;
}

}  // namespace situ_rmem_test
