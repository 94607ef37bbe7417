// Stream sockets by what people write: "HOST:PORT", "[ADDRESS]:PORT", "unix:/path". All of them close on exec, and none
// is a standard stream.
#pragma once

#include <sys/socket.h>

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
// A listening socket that does not block. `endpoint` becomes what it is: with the port that it got. Of a Unix socket
// only the user may connect. Throws bad_launch; bad_argument for a text that is no endpoint.
[[nodiscard]] descriptor listen_on(std::string& endpoint);
// Removes what a Unix socket leaves in its folder.
void forget_endpoint(const std::string& endpoint) noexcept;
// A connected socket that blocks, each call for at most `timeout`. Throws link_lost; bad_argument as above.
[[nodiscard]] descriptor connect_to(std::string_view endpoint, std::chrono::milliseconds timeout);
// For one that has been accepted or connected: small messages go at once, and a peer whose host is gone is noticed.
// Nothing for a Unix socket.
void set_stream_options(int socket, std::chrono::milliseconds patience) noexcept;
// From here on its calls return at once.
void set_nonblocking(int socket) noexcept;

}  // namespace situ::rmem::detail
