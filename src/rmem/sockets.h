// Stream sockets by endpoint texts: "HOST:PORT", "[ADDRESS]:PORT", "unix:/path". All of them close on exec, and none is
// a standard stream.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

#include "os/descriptor.h"

namespace situ::rmem::detail {

// Returns true for a Unix socket's endpoint; such a socket can pass descriptors.
[[nodiscard]] bool is_on_this_host(std::string_view endpoint) noexcept;

// A socket that listens and does not block. Its destructor removes the file that its bind made, and no other. Movable.
class listener {
 public:
  // Replaces `endpoint` by the actual one, with the port that it got. Only the user may connect to a Unix socket. At
  // its path the constructor removes only a socket at which nobody answers. Throws bad_launch; bad_argument if the text
  // is no endpoint.
  explicit listener(std::string& endpoint);
  listener(listener&& other) noexcept = default;
  listener& operator=(listener&&) = delete;
  ~listener();
  [[nodiscard]] const os::descriptor& socket() const noexcept { return socket_; }

 private:
  void remove_own_file() const noexcept;

  os::descriptor socket_;
  std::string path_;  // of the file that bind made; empty: none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Returns the other end of an accepted connection, for the log: "10.0.0.1:52814", "process 4711"; empty if the system
// does not tell.
[[nodiscard]] std::string text_of_peer(const os::descriptor& socket, bool is_on_this_host);

// Returns a connected socket that blocks, each call for at most `timeout`. If a Unix server's queue is full, connecting
// waits as long. Throws link_lost; bad_argument as above.
[[nodiscard]] os::descriptor connect_to(std::string_view endpoint, std::chrono::milliseconds timeout);
// Bounds the kernel's buffers for one connection: at most twice this many bytes in each direction, as the kernel
// doubles the number for its own use.
inline constexpr int most_kernel_bytes = 256 * 1024;
void bound_buffers(const os::descriptor& socket) noexcept;
// Sets the options of an accepted or connected socket: small messages are sent at once, and the loss of the peer's host
// is noticed. Does nothing for a Unix socket.
void set_stream_options(const os::descriptor& socket, std::chrono::milliseconds patience) noexcept;

}  // namespace situ::rmem::detail
