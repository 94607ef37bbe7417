#include "rmem/server_connection.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "os/host.h"
#include "os/local_socket.h"

namespace situ::rmem::detail {
namespace {

// The bytes of one client, in and out, that the server moves before it serves the next one.
constexpr std::size_t most_bytes_a_turn = std::size_t{256} << 10;

}  // namespace

bool server_connection::exchange(service& of) {
  std::size_t moved = 0;
  bool goes_on = true;
  while (goes_on && moved < most_bytes_a_turn) {
    const std::size_t before = moved;
    goes_on = give(of, moved) && take(of, moved) && moved != before;
    if (!socket) return false;
  }
  return give(of, moved) || socket;
}

// Returns false if there is nothing more to read. Closes the socket if the connection is over.
bool server_connection::take(service& of, std::size_t& moved) {
  const std::span<std::byte> room = with->room();
  if (room.empty()) return true;
  const ssize_t got = ::recv(socket.number(), room.data(), room.size(), 0);
  if (got > 0) {
    moved += static_cast<std::size_t>(got);
    // The lease is checked against the time at which the bytes were read: the thread may have been stopped before.
    if (of.member() != nullptr) of.set_now(situ::detail::steady_ns());
    with->received(static_cast<std::size_t>(got));
    return static_cast<std::size_t>(got) == room.size();  // a short read was all that there was
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  end(of, got < 0 ? errno : 0);
  return false;
}

// Returns false if the socket takes no more, the turn is over, or the connection is; then its socket is closed.
bool server_connection::give(service& of, std::size_t& moved) {
  for (;;) {
    const party::pieces out = with->output();
    std::array<iovec, 2> parts{};
    std::size_t count = 0;
    std::size_t all = 0;
    for (const auto& each : out) {
      if (each.empty()) continue;
      parts[count++] = {const_cast<std::byte*>(each.data()), each.size()};
      all += each.size();
    }
    if (all == 0) {
      if (with->has_ended()) socket.close();
      return static_cast<bool>(socket);
    }
    if (moved >= most_bytes_a_turn) return false;
    const int passed = with->passing();
    const ssize_t gone = os::send_message(socket, std::span{parts}.first(count), passed);
    if (gone < 0) {
      if (errno != EAGAIN) end(of, errno);
      return false;
    }
    if (passed >= 0) with->passed();
    moved += static_cast<std::size_t>(gone);
    with->sent(static_cast<std::size_t>(gone));
    if (static_cast<std::size_t>(gone) < all) return false;
  }
}

// Ends the connection, by the error `why`, or by the client if it is 0. The kernel's patience (TCP_USER_TIMEOUT) may
// end before the server's.
void server_connection::end(service& of, int why) {
  if (why == ETIMEDOUT && is_awaited()) {
    ++of.counters().timeouts;
  } else if (with->is_within_message()) {
    ++of.counters().cut_messages;
  }
  reason_ = why == 0 ? "it has ended without leaving, as if killed"
                     : fmt::format("the connection has failed: {}", std::strerror(why));
  socket.close();
}

std::uint32_t server_connection::wanted_events() const {
  const party::pieces out = with->output();
  const bool has_output = !out[0].empty() || !out[1].empty();
  const bool takes_input = !has_output && !with->room().empty();
  return has_output ? std::uint32_t{EPOLLOUT} : takes_input ? std::uint32_t{EPOLLIN | EPOLLRDHUP} : 0U;
}

void server_connection::look(std::uint64_t now_ns) noexcept {
  bytes.look(with->owes_bytes(), now_ns);
  taking.look(with->owes_taking(), now_ns);
}

}  // namespace situ::rmem::detail
