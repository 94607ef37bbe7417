#include "os/local_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace situ::os {
namespace {

// Room for one descriptor. Because of its alignment there is room for two, so the kernel may install a second one.
struct descriptor_room {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int))]{};
};

// Returns the descriptor that a message has passed. Closes all, and returns none, if there are several.
descriptor take_only(msghdr& from) noexcept {
  descriptor last;
  std::size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&from); part != nullptr; part = CMSG_NXTHDR(&from, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= part->cmsg_len; at += sizeof(int), ++count) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + at, sizeof number);
      last = descriptor{number};
    }
  }
  if (count > 1) last.close();
  return last;
}

}  // namespace

local_address::local_address(std::string_view text, std::size_t at) noexcept {
  address_.sun_family = AF_UNIX;
  // A path has a zero byte behind it; an abstract name has one before it.
  const std::size_t length = text.copy(address_.sun_path + at, most_bytes);
  bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

descriptor open_local_socket(int type) noexcept { return descriptor{::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)}; }

socket_pair socket_pair::make(int type) noexcept {
  int both[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, both) != 0) return {};
  socket_pair made{descriptor{both[0]}, descriptor{both[1]}};
  if (made.one && made.other) return made;
  return {};
}

bool bind_to(const descriptor& socket, const local_address& at) noexcept {
  return ::bind(socket.number(), at.get(), at.bytes()) == 0;
}

bool listen_on(const descriptor& socket, int most_queued) noexcept {
  return ::listen(socket.number(), most_queued) == 0;
}

bool listen_at(const descriptor& socket, const local_address& at, int most_queued) noexcept {
  return bind_to(socket, at) && listen_on(socket, most_queued);
}

descriptor accept_from(const descriptor& listener, int flags) noexcept {
  return descriptor{::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | flags)};
}

std::optional<ucred> peer_of(const descriptor& socket) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return {};
  return peer;
}

ssize_t send_message(const descriptor& socket, std::span<const iovec> parts, int passed) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  descriptor_room room;
  if (passed >= 0) {
    message.msg_control = room.bytes;
    message.msg_controllen = sizeof room.bytes;
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof passed);
    std::memcpy(CMSG_DATA(part), &passed, sizeof passed);
  }
  ssize_t sent = -1;
  do sent = ::sendmsg(socket.number(), &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent;
}

received_message receive_message(const descriptor& socket, std::span<std::byte> to) noexcept {
  iovec part{to.data(), to.size()};
  received_message got;
  descriptor_room room;
  msghdr message{};
  do {
    message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.bytes;
    message.msg_controllen = sizeof room.bytes;
    got.bytes = ::recvmsg(socket.number(), &message, MSG_CMSG_CLOEXEC);
  } while (got.bytes < 0 && errno == EINTR);
  if (got.bytes < 0) return got;
  got.passed = take_only(message);
  got.is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  return got;
}

}  // namespace situ::os
