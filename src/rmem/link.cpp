#include "rmem/link.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "os/host.h"
#include "os/local_socket.h"
#include "os/network_socket.h"
#include "rmem/handshake.h"

namespace situ::rmem::detail {
namespace {

errc code_of(std::uint16_t why) noexcept {
  switch (static_cast<status>(why)) {
    case status::denied: return errc::access_denied;
    case status::bad_argument:
    case status::unknown_name: return errc::bad_argument;
    case status::misaligned: return errc::misaligned;
    case status::full: return errc::out_of_memory;
    case status::not_supported: return errc::not_supported;
    case status::not_serving:
    case status::outcome_lost: return errc::link_lost;
    case status::ok:
    case status::bad_message: break;
  }
  return errc::bad_message;
}

using situ::detail::steady_ns;
using namespace std::chrono_literals;

// For replicas: how long one may be silent before the link asks the name server which one serves, and the pause between
// two tries.
constexpr auto replica_patience = 200ms;
constexpr auto between_tries = 10ms;
// How long a client that leaves waits for the next bytes of an answer that it does not need any more.
constexpr auto leaving_patience = 100ms;
// The pause between two tries to log in.
constexpr std::chrono::milliseconds shortest_pause{5};
constexpr std::chrono::milliseconds longest_pause{200};

constexpr std::uint64_t to_ns(std::chrono::milliseconds time) noexcept {
  return static_cast<std::uint64_t>(time.count()) * 1'000'000;
}
bool is_closed_by_server(int reason) noexcept { return reason == ECONNRESET || reason == EPIPE; }

// Thrown if the server at the other end reports that another one serves by now.
struct not_serving {};
// Thrown if the servers no longer know whether this client's request was done: the link enrolls again as a new client.
struct outcome_unknown : error {
  explicit outcome_unknown(const error& why) : error{why} {}
};

}  // namespace

void link::close() noexcept {
  coming_.reset();
  silent_since_ns_ = 0;
  socket_.close();
  passed_.close();
  in_begin_ = in_end_ = 0;
}
// Ends the connection in order, so that the server does not report a loss. pre: no request is under way, except for a
// started read. Its answer is received and dropped: a socket that closes with unread bytes takes back what it has sent.
void link::leave() noexcept {
  if (socket_ && connected_by_ == ::getpid()) {
    const request_head last{.operation = static_cast<std::uint16_t>(operation::leave)};
    (void)::send(socket_.number(), &last, sizeof last, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (coming_ && os::set_call_timeout(socket_, leaving_patience) == 0)
      while (::recv(socket_.number(), in_.data(), in_.size(), 0) > 0) {}
  }
  close();
}

void link::lose(const std::string& why) {
  close();
  throw_error(errc::link_lost, fmt::format("the server of remote memory at {}: {}", endpoint_, why));
}
void link::disbelieve(const std::string& what) {
  close();
  throw_error(errc::bad_message,
              fmt::format("what {} sends is no answer of a server of remote memory: {}", endpoint_, what));
}

// --- connecting ---

const welcome& link::told() {
  connect();
  return told_;
}

bool link::stands() noexcept {
  std::byte next{};
  const ssize_t got = ::recv(socket_.number(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

// Connects if necessary. A connection that the server has closed is not written to: a request that is lost there may
// not be sent twice.
void link::connect() {
  take_in_coming();
  if (socket_) {
    if (stands()) return;
    close();
  }
  const server_place known = where_(false);
  try {
    connect_to_place(known);
  } catch (const error& failure) {
    // The name may lead elsewhere by now.
    if (known.epoch != 0) throw;
    const server_place now = failure.code() == errc::bad_argument ? server_place{} : where_(true);
    if (now.endpoint.empty() || now == known) throw;
    connect_to_place(now);
  }
}

void link::connect_to_place(const server_place& place) {
  endpoint_ = place.endpoint;
  epoch_ = place.epoch;
  timeout_ = epoch_ == 0 ? options_.timeout : std::min(options_.timeout, std::chrono::milliseconds{replica_patience});
  const std::uint64_t begun = steady_ns();
  for (auto pause = shortest_pause; !try_place(place, steady_ns() - begun > to_ns(timeout_));) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
  }
  if (epoch_ != 0) enroll();
  if (index_ && told_.server != *index_) lose(fmt::format("it is server {}, not {}", told_.server, *index_));
}

// Returns false if the server closed the connection before it answered the login: a server with too many strangers
// makes room so, and no request has been sent yet. For replicas carry_on retries.
bool link::try_place(const server_place& place, bool is_last) {
  was_closed_ = false;
  socket_ = connect_to(place.endpoint, timeout_);
  connected_by_ = ::getpid();
  ++connection_;
  try {
    log_in();
  } catch (const error&) {
    if (!was_closed_ || is_last || epoch_ != 0) throw;
    return false;
  }
  return true;
}

// Sends this client's number, so that a request that is sent again is done once.
void link::enroll() {
  while (client_ == 0) fill_random(std::as_writable_bytes(std::span{&client_, 1}));
  request_head head{.operation = static_cast<std::uint16_t>(operation::enroll)};
  head.flags = has_enrolled_ ? flag_known : std::uint16_t{0};
  head.address = epoch_;
  head.operand = client_;
  send(bytes_of(head));
  (void)receive_head(head);
  has_enrolled_ = true;
}

// Returns true if the name server's view has another endpoint than this link.
bool link::has_moved() {
  try {
    return where_(true).endpoint != endpoint_;
  } catch (const error&) {
    return false;  // the name server may answer later
  }
}

// Sends a request, and sends it again with the same number if replicas do not answer, until the timeout is over.
template <class Once>
auto link::carry_on(request_head& head, const Once& once) {
  const std::uint64_t begun = steady_ns();
  head.id = ++last_id_;
  is_sent_ = false;
  for (;;) {
    std::optional<error> lost;
    try {
      return once();
    } catch (const not_serving&) {
    } catch (const outcome_unknown&) {
      if (is_sent_) throw;  // the request may have been done
    } catch (const error& failure) {
      if (failure.code() != errc::link_lost || epoch_ == 0) throw;
      lost = failure;
    }
    close();
    const bool is_late = steady_ns() - begun > to_ns(options_.timeout);
    if (is_late && lost) throw *lost;
    if (is_late) lose("no replica serves this memory now");
    std::this_thread::sleep_for(between_tries);
    (void)has_moved();  // resolves the name again
  }
}

link::taken_socket link::release() {
  take_in_coming();
  taken_socket taken{
      std::move(socket_),
      {in_.begin() + static_cast<std::ptrdiff_t>(in_begin_), in_.begin() + static_cast<std::ptrdiff_t>(in_end_)}};
  close();
  return taken;
}

void link::log_in() {
  hello heard{};
  receive({reinterpret_cast<std::byte*>(&heard), sizeof heard});
  if (heard.magic != protocol_magic) disbelieve("it begins with other bytes");
  if (heard.version != protocol_version)
    disbelieve(fmt::format("it is of version {} of the protocol, this client of {}", heard.version, protocol_version));
  login said{protocol_magic, protocol_version, 0, fixed<application_bytes>(key_.application), {}, {}};
  fill_random(said.nonce);
  said.proof = client_proof(key_, heard, said);
  send(bytes_of(said));
  welcome got{};
  receive({reinterpret_cast<std::byte*>(&got), sizeof got});
  if (got.magic != protocol_magic) disbelieve("its welcome begins with other bytes");
  if (got.status == static_cast<std::uint16_t>(status::full))
    lose("it has too many clients, of this application or altogether");
  if (got.status != 0 || !same_secret(got.proof, server_proof(key_, heard, said, got))) {
    close();
    throw_error(errc::access_denied,
                fmt::format("the server of remote memory at {} {} the key of {}", endpoint_,
                            got.status != 0 ? "does not accept" : "does not have", key_.application));
  }
  told_ = got;
}

// --- bytes ---

// Returns true if it is worth waiting for a silent replica: the timeout is not over, and the replica is still the
// first.
bool link::is_still_first() {
  if (epoch_ == 0) return false;
  const std::uint64_t now = steady_ns();
  if (silent_since_ns_ == 0) silent_since_ns_ = now - to_ns(timeout_);
  const bool is_late = now - silent_since_ns_ > to_ns(options_.timeout);
  errno = EAGAIN;
  return !is_late && !has_moved();
}

void link::send(std::span<const std::byte> a, std::span<const std::byte> b, std::span<const std::byte> c) {
  std::array<iovec, 3> parts{};
  std::size_t count = 0;
  for (const auto& each : {a, b, c})
    if (!each.empty()) parts[count++] = {const_cast<std::byte*>(each.data()), each.size()};
  for (std::span<iovec> unsent = std::span{parts}.first(count); !unsent.empty();) {
    const ssize_t gone = os::send_message(socket_, unsent);
    if (gone < 0 && errno == EAGAIN && is_still_first()) continue;
    if (gone < 0) was_closed_ = is_closed_by_server(errno);
    if (gone < 0)
      lose(errno == EAGAIN ? fmt::format("it has taken no bytes for {} ms", options_.timeout.count())
                           : std::string{std::strerror(errno)});
    auto left = static_cast<std::size_t>(gone);
    while (!unsent.empty() && left >= unsent.front().iov_len) {
      left -= unsent.front().iov_len;
      unsent = unsent.subspan(1);
    }
    if (left == 0) continue;
    unsent.front().iov_base = static_cast<std::byte*>(unsent.front().iov_base) + left;
    unsent.front().iov_len -= left;
  }
}

std::size_t link::receive_some(std::span<std::byte> to) {
  for (;;) {
    os::received_message got = os::receive_message(socket_, to);
    if (got.bytes > 0) {
      if (got.passed) passed_ = std::move(got.passed);
      lacks_descriptor_ = lacks_descriptor_ || got.is_cut;
      silent_since_ns_ = 0;
      return static_cast<std::size_t>(got.bytes);
    }
    if (got.bytes < 0 && errno == EAGAIN && is_still_first()) continue;
    was_closed_ = got.bytes == 0 || is_closed_by_server(errno);
    if (got.bytes == 0) lose("it has closed the connection");
    lose(errno == EAGAIN ? fmt::format("it has sent nothing for {} ms", options_.timeout.count())
                         : std::string{std::strerror(errno)});
  }
}

// Receives short data through in_, together with the bytes behind it; longer data goes straight to its place.
void link::receive(std::span<std::byte> to) {
  while (!to.empty()) {
    if (in_begin_ == in_end_ && to.size() >= in_.size()) {
      to = to.subspan(receive_some(to));
      continue;
    }
    if (in_begin_ == in_end_) {
      in_begin_ = 0;
      in_end_ = receive_some(in_);
    }
    const std::size_t bytes = std::min(to.size(), in_end_ - in_begin_);
    std::memcpy(to.data(), in_.data() + in_begin_, bytes);
    in_begin_ += bytes;
    to = to.subspan(bytes);
  }
}

// --- requests ---

void link::begin(request_head& head, std::span<const std::byte> body, std::span<const std::byte> data) {
  connect();
  head.body_bytes = static_cast<std::uint32_t>(body.size());
  is_sent_ = true;
  send(bytes_of(head), body, data);
}

answer_head link::receive_head(const request_head& asked) {
  answer_head head{};
  receive({reinterpret_cast<std::byte*>(&head), sizeof head});
  if (head.id != asked.id && head.status != static_cast<std::uint16_t>(status::bad_message))
    disbelieve("it answers another request");
  if (head.status == static_cast<std::uint16_t>(status::not_serving) && epoch_ != 0) {
    leave();
    throw not_serving{};
  }
  if (head.status == static_cast<std::uint16_t>(status::outcome_lost)) {
    client_ = 0;
    has_enrolled_ = false;
    try {
      refuse(head);
    } catch (const error& why) {
      leave();
      throw outcome_unknown{why};
    }
  }
  if (head.status != 0) refuse(head);
  return head;
}

void link::refuse(const answer_head& head) {
  if (head.body_bytes > most_text_bytes) disbelieve("a text that is too long");
  std::string text(head.body_bytes, '\0');
  receive(std::as_writable_bytes(std::span{text}));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  throw_error(code_of(head.status), fmt::format("{} (server of remote memory at {})", text, endpoint_));
}

short_answer link::ask(request_head head, std::span<const std::byte> body) {
  return carry_on(head, [&] {
    begin(head, body, {});
    const answer_head got = receive_head(head);
    if (got.body_bytes > most_body_bytes) disbelieve("a body that is too long");
    short_answer all{got.value, got.second, std::vector<std::byte>(got.body_bytes)};
    receive(all.body);
    return all;
  });
}

std::optional<os::descriptor> link::ask_for_memory(request_head head) {
  connect();
  if (epoch_ != 0 || !is_on_this_host(endpoint_)) return {};
  passed_.close();
  lacks_descriptor_ = false;
  try {
    (void)ask(head);
  } catch (const error& none) {
    if (none.code() != errc::not_supported) throw;
    return {};
  }
  if (!passed_ && lacks_descriptor_)
    throw_error(
        errc::out_of_memory,
        fmt::format("the region's memory that {} passes needs a file descriptor, and this process has none left "
                    "(ulimit -n)",
                    endpoint_));
  if (!passed_) disbelieve("it passes no memory");
  return std::move(passed_);
}

bool link::is_still(std::uint64_t connection) noexcept {
  take_in_coming();
  return connection == connection_ && socket_ && stands();
}
void link::demand(std::uint64_t connection) {
  if (!is_still(connection)) lose("it has closed the connection");
}

void link::receive_bytes(const request_head& asked, std::span<std::byte> to) {
  for (bool more = true; more;) {
    const answer_head got = receive_head(asked);
    more = (got.flags & flag_more) != 0;
    if (got.body_bytes > to.size() || (more ? got.body_bytes == 0 : got.body_bytes != to.size()))
      disbelieve("not as many bytes as were asked for");
    receive(to.first(got.body_bytes));
    to = to.subspan(got.body_bytes);
  }
}

void link::read(request_head head, std::span<const std::byte> body, std::span<std::byte> to) {
  carry_on(head, [&] {
    begin(head, body, {});
    receive_bytes(head, to);
  });
}

void link::start_read(request_head head, std::span<std::byte> to) {
  head.id = ++last_id_;
  begin(head, {}, {});
  has_come_ = false;
  coming_ = head;
  coming_to_ = to;
}

void link::take_in_coming() noexcept {
  if (!coming_) return;
  const request_head head = *std::exchange(coming_, std::nullopt);
  try {
    receive_bytes(head, coming_to_);
    has_come_ = true;
  } catch (const not_serving&) {  // the next request goes to another server
  } catch (const std::exception&) {}
}

bool link::finish_read() noexcept {
  take_in_coming();
  return std::exchange(has_come_, false);
}

void link::write(request_head head, std::span<const std::byte> body, std::span<const std::byte> from) {
  if (options_.two_steps) head.flags |= flag_two_steps;
  carry_on(head, [&] {
    begin(head, body, options_.two_steps ? std::span<const std::byte>{} : from);
    if (options_.two_steps) {
      if (receive_head(head).flags != flag_go_on) disbelieve("no leave to send the data");
      send(from);
    }
    if (receive_head(head).body_bytes != 0) disbelieve("a write has no answer but yes");
  });
}

}  // namespace situ::rmem::detail
