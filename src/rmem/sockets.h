// Stream sockets by endpoint texts: "HOST:PORT", "[ADDRESS]:PORT", "unix:/path". All of them close on exec, and none is
// a standard stream.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace situ::rmem::detail {

// A file descriptor that closes itself. Movable.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_{number} {}
  descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor();
  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Room for one descriptor that is passed with the bytes of a message.
class descriptor_room {
 public:
  // Makes the message pass the descriptor.
  void pass(int number, msghdr& with) noexcept;
  // Prepares the message to receive a descriptor.
  void attach(msghdr& to) noexcept;
  // Returns the descriptor that the message has brought, if any. pre: attached.
  [[nodiscard]] descriptor take(const msghdr& from) const;

 private:
  alignas(cmsghdr) char bytes_[CMSG_SPACE(sizeof(int))]{};
};

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
  [[nodiscard]] int get() const noexcept { return socket_.get(); }

 private:
  void remove_own_file() const noexcept;

  descriptor socket_;
  std::string path_;  // of the file that bind made; empty: none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Returns a connected socket that blocks, each call for at most `timeout`. If a Unix server's queue is full, connecting
// waits as long. Throws link_lost; bad_argument as above.
[[nodiscard]] descriptor connect_to(std::string_view endpoint, std::chrono::milliseconds timeout);
// Bounds the kernel's buffers for one connection: at most twice this many bytes in each direction, as the kernel
// doubles the number for its own use.
inline constexpr int most_kernel_bytes = 256 * 1024;
void bound_buffers(int socket) noexcept;
// Sets the options of an accepted or connected socket: small messages are sent at once, and the loss of the peer's host
// is noticed. Does nothing for a Unix socket.
void set_stream_options(int socket, std::chrono::milliseconds patience) noexcept;
// Makes the socket's calls return at once.
void set_nonblocking(int socket) noexcept;

}  // namespace situ::rmem::detail
