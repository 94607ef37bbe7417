// Stream sockets by what people write: "HOST:PORT", "[ADDRESS]:PORT", "unix:/path". All of them close on exec, and none
// is a standard stream.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace situ::rmem::detail {

// Closes itself. Movable.
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

// What goes beside the bytes of a message: one descriptor.
class descriptor_room {
 public:
  // The message passes it.
  void pass(int number, msghdr& with) noexcept;
  // The message may bring one.
  void attach(msghdr& to) noexcept;
  // pre: attached. What it has brought, if anything.
  [[nodiscard]] descriptor take(const msghdr& from) const;

 private:
  alignas(cmsghdr) char bytes_[CMSG_SPACE(sizeof(int))]{};
};

// Whether it is a Unix socket, by which descriptors can be passed.
[[nodiscard]] bool is_on_this_host(std::string_view endpoint) noexcept;

// A socket that listens and does not block. Its end removes the file that its bind made, and no other. Movable.
class listener {
 public:
  // `endpoint` becomes what it is: with the port that it got. Only the user may connect to a Unix socket. Of what lies
  // at its path, listener removes only a socket that nobody answers. Throws bad_launch; bad_argument for a text that is
  // no endpoint.
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

// A connected socket that blocks, each call for at most `timeout`. A Unix socket waits as long where the server's queue
// is full. Throws link_lost; bad_argument as above.
[[nodiscard]] descriptor connect_to(std::string_view endpoint, std::chrono::milliseconds timeout);
// Bounds what the kernel keeps for one connection: at most twice so many bytes, which the kernel adds for its own, in
// each direction.
inline constexpr int most_kernel_bytes = 256 * 1024;
void bound_buffers(int socket) noexcept;
// For one that has been accepted or connected: small messages go at once, and a peer whose host is gone is noticed.
// Nothing for a Unix socket.
void set_stream_options(int socket, std::chrono::milliseconds patience) noexcept;
// From here on its calls return at once.
void set_nonblocking(int socket) noexcept;

}  // namespace situ::rmem::detail
