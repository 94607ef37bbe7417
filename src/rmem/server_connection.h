// One connection of a server: its socket, the party that works for the other end, and what the other end owes. The
// server's loop decides when a connection is served, and which events it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "os/descriptor.h"
#include "rmem/party.h"
#include "rmem/service.h"

namespace situ::rmem::detail {

struct server_connection {
  server_connection(std::unique_ptr<party> with, os::descriptor socket)
      : with{std::move(with)}, socket{std::move(socket)} {}

  // Reads, works and writes until the socket would block or the client has had its bytes of this turn. Returns false if
  // the connection is over; its socket is closed then. cost: two system calls or more.
  [[nodiscard]] bool exchange(service& of);
  // Returns the reason for which the other end, or the system, has ended the connection; empty: neither has.
  [[nodiscard]] std::string_view reason() const noexcept { return reason_; }
  // Returns the epoll events to wait for. While the socket takes no output, the server reads nothing from it, so it
  // does not ask for input: epoll would report it at once.
  [[nodiscard]] std::uint32_t wanted_events() const;

  // Looks at what the other end owes now.
  void look(std::uint64_t now_ns) noexcept;
  // Returns true if the other end owes something, as of the last look.
  [[nodiscard]] bool is_awaited() const noexcept { return bytes.is_owed || taking.is_owed; }
  // Returns true if it has owed the same step for `ns` or longer.
  [[nodiscard]] bool is_silent(std::uint64_t ns, std::uint64_t now_ns) const noexcept {
    return bytes.is_older(ns, now_ns) || taking.is_older(ns, now_ns);
  }

  // The other end owes something: the current step of it, and since when.
  struct open_debt {
    bool is_owed = false;
    std::uint64_t step = 0;
    std::uint64_t since_ns = 0;
    void look(const party::debt& now, std::uint64_t now_ns) noexcept {
      if (!is_owed || step != now.step) since_ns = now_ns;
      is_owed = now.is_owed;
      step = now.step;
    }
    [[nodiscard]] bool is_older(std::uint64_t ns, std::uint64_t now_ns) const noexcept {
      return is_owed && now_ns - since_ns >= ns;
    }
  };
  std::unique_ptr<party> with;
  // The socket closes before the session frees its regions. So a reader that has mapped a region can tell, from the
  // closed connection, that the bytes no longer count.
  os::descriptor socket;
  std::uint32_t events = 0;
  bool is_low_priority = false;  // it waits in the server's epoll of low priority
  bool has_hung_up = false;      // the other end has closed the connection, or its half of it
  open_debt bytes;
  open_debt taking;

 private:
  [[nodiscard]] bool take(service& of, std::size_t& moved);
  [[nodiscard]] bool give(service& of, std::size_t& moved);
  void end(service& of, int why);
  std::string reason_;
};

}  // namespace situ::rmem::detail
