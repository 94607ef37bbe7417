#include <situ/rmem/server.h>

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "base/descriptor.h"
#include "base/host.h"
#include "rmem/handshake.h"
#include "rmem/registrar.h"
#include "rmem/session.h"
#include "rmem/sockets.h"

namespace situ::rmem {
namespace {

using detail::descriptor;
using situ::detail::steady_ns;

// Bytes of one client, in and out, before it is another one's turn.
constexpr std::size_t most_bytes_a_turn = std::size_t{1} << 20;
// Connections that have not logged in: the oldest makes room for the next.
constexpr std::size_t most_strangers = 64;
constexpr std::uint64_t listener_numbers = 1'000'000;  // below it: the wake-up (0) and listeners; above it: connections

void check(const server_options& options) {
  const auto demand = [](bool holds, const std::string& what) {
    if (!holds) throw_error(errc::bad_argument, what);
  };
  demand(!options.listen.empty(), "a server listens somewhere: give it an endpoint");
  demand(options.index < 256, fmt::format("a server's index is 0 to 255, not {}", options.index));
  demand(!options.keys.empty(), "a server without keys has no clients: give it those of its applications");
  demand(options.most_clients > 1, "a server has room for two clients at least");
  demand(options.patience.count() > 0, "a server's patience is longer than nothing");
  for (const application_key& each : options.keys)
    demand(detail::is_application_name(each.application),
           fmt::format("\"{}\" is no application's name", each.application));
  demand(options.names.empty() || std::any_of(options.keys.begin(), options.keys.end(),
                                              [](const application_key& each) { return each.is_operator; }),
         "a server links its name by the key of an operator: give it one");
  demand(options.names.empty() || options.capacity_bytes > 0, "a server that links its name has memory");
  const auto is_everywhere = [](const std::string& at) {
    return at.starts_with("0.0.0.0:") || at.starts_with("[::]:");
  };
  demand(options.names.empty() || !options.advertised.empty() || !is_everywhere(options.listen[0]),
         fmt::format("{} leads no client to this host: say what its name shall lead to (advertised, --advertise)",
                     options.listen[0]));
  const std::uint64_t most = situ::detail::usable_memory_bytes();
  if (!options.memory.has_file() && options.capacity_bytes > most)
    throw_error(errc::out_of_memory,
                fmt::format("a server of {} does not fit this machine, or its control group, which has {}",
                            format_bytes(options.capacity_bytes), format_bytes(most)));
}

}  // namespace

class server::impl {
 public:
  explicit impl(server_options options);
  ~impl();
  void run();
  void stop() noexcept;
  [[nodiscard]] const std::vector<std::string>& endpoints() const noexcept { return options_.listen; }
  [[nodiscard]] statistics counted() const { return service_.counted(); }

 private:
  struct connection {
    connection(impl& of, descriptor socket, std::uint64_t number)
        : with{of.service_, number}, socket{std::move(socket)}, progress_ns{steady_ns()} {}
    detail::session with;
    descriptor socket;
    std::uint64_t progress_ns;
    std::uint32_t events = 0;
    bool is_awaited = false;
  };

  void watch(int what, std::uint64_t number, std::uint32_t events, int how);
  void accept_from(int listener);
  void make_room_for_a_stranger();
  void serve(std::uint64_t number);
  void exchange(connection& one, std::uint64_t number);
  bool take_from(connection& one, std::size_t& bytes);
  void end(connection& one, int why);
  bool give_to(connection& one, std::size_t& bytes);
  void settle(connection& one, std::uint64_t number);
  void close(std::uint64_t number);
  void end_silent_ones();
  void end() noexcept;

  server_options options_;
  detail::service service_;
  std::vector<descriptor> listeners_;
  descriptor epoll_;
  descriptor wake_;
  std::map<std::uint64_t, std::unique_ptr<connection>> connections_;  // by number, the oldest first
  std::uint64_t next_number_ = listener_numbers;
  std::size_t awaited_ = 0;  // connections whose client owes something
  std::uint64_t last_look_ns_ = 0;
};

server::impl::impl(server_options options)
    : options_{(check(options), std::move(options))},
      service_{options_.index, options_.capacity_bytes, options_.memory, options_.keys,
               std::max(1U, options_.most_clients / 2)},
      epoll_{situ::detail::above_standard(::epoll_create1(EPOLL_CLOEXEC))},
      wake_{situ::detail::above_standard(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))} {
  if (!epoll_ || !wake_)
    throw_error(errc::bad_launch, fmt::format("cannot wait for clients: {}", std::strerror(errno)));
  watch(wake_.get(), 0, EPOLLIN, EPOLL_CTL_ADD);
  try {
    for (std::string& endpoint : options_.listen) {
      listeners_.push_back(detail::listen_on(endpoint));
      watch(listeners_.back().get(), listeners_.size(), EPOLLIN, EPOLL_CTL_ADD);
    }
  } catch (...) {
    end();
    throw;
  }
}

server::impl::~impl() { end(); }

// Nobody can connect any more, or waits for an answer.
void server::impl::end() noexcept {
  for (std::size_t i = 0; i < listeners_.size(); ++i) detail::forget_endpoint(options_.listen[i]);
  listeners_.clear();
  connections_.clear();
  awaited_ = 0;
}

void server::impl::watch(int what, std::uint64_t number, std::uint32_t events, int how) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  if (::epoll_ctl(epoll_.get(), how, what, &event) != 0)
    throw_error(errc::bad_launch, fmt::format("cannot wait for a client: {}", std::strerror(errno)));
}

void server::impl::stop() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

// Who waits sleeps: without a time limit while no client owes anything.
void server::impl::run() {
  std::optional<detail::registrar> named;
  if (!options_.names.empty()) {
    const auto by =
        std::find_if(options_.keys.begin(), options_.keys.end(), [](const auto& k) { return k.is_operator; });
    named.emplace(options_.names, *by, detail::server_name(options_.index),
                  options_.advertised.empty() ? options_.listen[0] : options_.advertised);
  }
  std::array<epoll_event, 64> events{};
  const int look_ms = static_cast<int>(std::clamp<std::int64_t>(options_.patience.count() / 4, 1, 1000));
  for (;;) {
    const int got = ::epoll_wait(epoll_.get(), events.data(), events.size(), awaited_ > 0 ? look_ms : -1);
    if (got < 0 && errno != EINTR)
      throw_error(errc::bad_launch, fmt::format("cannot wait for clients: {}", std::strerror(errno)));
    for (int i = 0; i < got; ++i) {
      const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
      if (number == 0) return end();
      if (number < listener_numbers) {
        accept_from(listeners_[number - 1].get());
      } else {
        serve(number);
      }
    }
    end_silent_ones();
  }
}

void server::impl::make_room_for_a_stranger() {
  if (connections_.size() - service_.counters().clients < most_strangers) return;
  const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                   [](const auto& each) { return !each.second->with.is_logged_in(); });
  ++service_.counters().turned_away;
  close(oldest->first);
}

void server::impl::accept_from(int listener) {
  descriptor socket{situ::detail::above_standard(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))};
  if (!socket) {
    // Out of descriptors: the one who knocks would wake us at once again.
    if (errno != EMFILE && errno != ENFILE) return;
    ++service_.counters().turned_away;
    if (!connections_.empty()) close(connections_.rbegin()->first);
    return;
  }
  if (service_.counters().clients >= options_.most_clients) {
    ++service_.counters().turned_away;
    return;
  }
  make_room_for_a_stranger();
  detail::set_stream_options(socket.get(), options_.patience);
  const std::uint64_t number = ++next_number_;
  auto fresh = std::make_unique<connection>(*this, std::move(socket), number);
  fresh->events = EPOLLIN;
  watch(fresh->socket.get(), number, fresh->events, EPOLL_CTL_ADD);
  connections_[number] = std::move(fresh);
  serve(number);
}

void server::impl::serve(std::uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  try {
    exchange(*found->second, number);
  } catch (const std::exception& failure) {  // no memory for this client: the others go on
    log(log_level::warning, fmt::format("remote memory: a connection is closed: {}", failure.what()));
    close(number);
  }
}

// Until it would block, or others have waited long enough.
void server::impl::exchange(connection& one, std::uint64_t number) {
  std::size_t bytes = 0;
  bool goes_on = true;
  while (goes_on && bytes < most_bytes_a_turn) {
    const std::size_t before = bytes;
    goes_on = give_to(one, bytes) && take_from(one, bytes) && bytes != before;
    if (!one.socket) return close(number);
  }
  if (!give_to(one, bytes) && !one.socket) return close(number);
  if (bytes > 0 && one.with.is_logged_in()) one.progress_ns = steady_ns();
  settle(one, number);
}

// False where nothing more is there to be read; the socket is closed where the connection is over.
bool server::impl::take_from(connection& one, std::size_t& bytes) {
  const std::span<std::byte> room = one.with.room();
  if (room.empty()) return true;
  const ssize_t got = ::recv(one.socket.get(), room.data(), room.size(), 0);
  if (got > 0) {
    bytes += static_cast<std::size_t>(got);
    one.with.received(static_cast<std::size_t>(got));
    return static_cast<std::size_t>(got) == room.size();  // less was all that there is
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  end(one, got < 0 ? errno : 0);
  return false;
}

// The link is over, by an error or (0) by the client. The kernel's own patience (TCP_USER_TIMEOUT) may end before ours.
void server::impl::end(connection& one, int why) {
  if (why == ETIMEDOUT && one.is_awaited) {
    ++service_.counters().timeouts;
  } else if (one.with.is_within_message()) {
    ++service_.counters().cut_messages;
  }
  one.socket = descriptor{};
}

bool server::impl::give_to(connection& one, std::size_t& bytes) {
  for (;;) {
    const detail::session::pieces out = one.with.output();
    std::array<iovec, 2> parts{};
    msghdr message{};
    message.msg_iov = parts.data();
    std::size_t all = 0;
    for (const auto& each : out) {
      if (each.empty()) continue;
      parts[message.msg_iovlen++] = {const_cast<std::byte*>(each.data()), each.size()};
      all += each.size();
    }
    if (all == 0) {
      if (one.with.has_ended()) one.socket = descriptor{};
      return static_cast<bool>(one.socket);
    }
    if (bytes >= most_bytes_a_turn) return false;
    const ssize_t gone = ::sendmsg(one.socket.get(), &message, MSG_NOSIGNAL);
    if (gone < 0) {
      if (errno != EAGAIN && errno != EINTR) end(one, errno);
      return false;
    }
    bytes += static_cast<std::size_t>(gone);
    one.with.sent(static_cast<std::size_t>(gone));
    if (static_cast<std::size_t>(gone) < all) return false;
  }
}

// What it waits for next.
void server::impl::settle(connection& one, std::uint64_t number) {
  const detail::session::pieces out = one.with.output();
  const bool has_output = !out[0].empty() || !out[1].empty();
  const std::uint32_t events =
      (has_output ? std::uint32_t{EPOLLOUT} : 0U) | (one.with.room().empty() ? 0U : std::uint32_t{EPOLLIN});
  if (events != one.events) watch(one.socket.get(), number, events, EPOLL_CTL_MOD);
  one.events = events;
  const bool is_awaited = one.with.is_awaited();
  if (is_awaited && !one.is_awaited) ++awaited_;
  if (!is_awaited && one.is_awaited) --awaited_;
  one.is_awaited = is_awaited;
}

void server::impl::close(std::uint64_t number) {
  const auto found = connections_.find(number);
  if (found->second->is_awaited) --awaited_;
  connections_.erase(found);
}

void server::impl::end_silent_ones() {
  if (awaited_ == 0) return;
  const std::uint64_t now = steady_ns();
  const std::uint64_t patience_ns = static_cast<std::uint64_t>(options_.patience.count()) * 1'000'000;
  if (now - last_look_ns_ < patience_ns / 8) return;
  last_look_ns_ = now;
  for (auto each = connections_.begin(); each != connections_.end();) {
    const std::uint64_t number = each->first;
    const connection& one = *(each++)->second;
    if (!one.is_awaited || now - one.progress_ns < patience_ns) continue;
    ++service_.counters().timeouts;
    close(number);
  }
}

server::server(server_options options) : impl_{std::make_unique<impl>(std::move(options))} {}
server::~server() = default;
void server::run() { impl_->run(); }
void server::stop() noexcept { impl_->stop(); }
const std::vector<std::string>& server::endpoints() const noexcept { return impl_->endpoints(); }
statistics server::counted() const { return impl_->counted(); }

}  // namespace situ::rmem
