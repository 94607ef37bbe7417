#include "rmem/load_clients.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <span>
#include <thread>
#include <vector>

#include "rmem/raw_client.h"

namespace situ_rmem_test {
namespace {

using clock = std::chrono::steady_clock;

enum class kind : std::uint8_t { silent, half_a_login, garbage, cut_message, reads_nothing, byte_a_second };
constexpr std::size_t kinds = 6;
constexpr auto pause_between = std::chrono::seconds{1};

// A socket that is connecting, and does not block; -1 with errno.
int start_connecting(const std::string& endpoint) {
  sockaddr_storage to{};
  socklen_t length = 0;
  const bool is_unix = endpoint.starts_with("unix:");
  if (is_unix) {
    auto* const at = reinterpret_cast<sockaddr_un*>(&to);
    at->sun_family = AF_UNIX;
    endpoint.copy(at->sun_path, sizeof at->sun_path - 1, 5);
    length = sizeof *at;
  } else {
    auto* const at = reinterpret_cast<sockaddr_in*>(&to);
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at->sin_port = htons(static_cast<in_port_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    length = sizeof *at;
  }
  const int made = ::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made >= 0 && (::connect(made, reinterpret_cast<const sockaddr*>(&to), length) == 0 || errno == EINPROGRESS))
    return made;
  const int why = errno;
  if (made >= 0) ::close(made);
  errno = why;
  return -1;
}

// One that misbehaves in its way, is closed, and comes again.
class misbehaved {
 public:
  misbehaved(kind which, const std::string& endpoint, clock::time_point begins, const misbehaviour_plan& plan,
             misbehaviour_report& report)
      : kind_{which}, endpoint_{&endpoint}, plan_{&plan}, report_{&report}, due_{begins} {}

  // What is due by the clock.
  void look(clock::time_point now, int epoll) {
    if (now < due_) return;
    due_ = now + pause_between;
    if (socket_ < 0)
      begin(epoll);
    else if (kind_ == kind::byte_a_second && is_in_)
      give(std::array<std::byte, 1>{});
  }
  // Its socket has something.
  void hear(std::uint32_t events, clock::time_point now) {
    if (socket_ < 0) return;
    if ((events & EPOLLIN) != 0 && have_ < heard_.size()) {
      const ssize_t got = ::recv(socket_, heard_.data() + have_, heard_.size() - have_, 0);
      if (got > 0) have_ += static_cast<std::size_t>(got);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return close(now, true);
      go_on(now);
    } else if ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
      close(now, true);
    } else if (std::byte rest[512]; (events & EPOLLIN) != 0 && ::recv(socket_, rest, sizeof rest, 0) == 0) {
      close(now, true);
    }
  }

 private:
  void begin(int epoll) {
    socket_ = start_connecting(*endpoint_);
    if (socket_ < 0) return;  // a queue is full
    ++report_->begun[static_cast<std::size_t>(kind_)];
    have_ = 0;
    is_in_ = false;
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLRDHUP;
    wanted.data.ptr = this;
    epoll_ = epoll;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket_, &wanted);
    if (kind_ == kind::garbage) give(std::vector<std::byte>(200, std::byte{0x5a}));
  }
  void close(clock::time_point now, bool by_server) {
    if (by_server) ++report_->ended[static_cast<std::size_t>(kind_)];
    ::close(std::exchange(socket_, -1));
    due_ = now + pause_between;
  }
  void give(std::span<const std::byte> bytes) { (void)!::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // The hello is there, or the welcome.
  void go_on(clock::time_point now) {
    if (have_ == sizeof(hello)) {
      const auto heard = situ::os::byte_reader{std::span<const std::byte>{heard_}}.take<hello>();
      login said{protocol_magic, protocol_version, 0, fixed<application_bytes>("graphs"), {}, {}};
      said.proof = client_proof(graphs(), heard, said);
      const std::size_t bytes = kind_ == kind::half_a_login ? 50 : sizeof said;
      if (kind_ != kind::silent && kind_ != kind::garbage) give(bytes_of(said).first(bytes));
    } else if (have_ == heard_.size() && !is_in_) {
      is_in_ = true;
      logged_in(now);
    }
  }
  void logged_in(clock::time_point now) {
    if (kind_ == kind::cut_message) {
      give(bytes_of(head_for(operation::write, plan_->to_read, 1000)));
      return close(now, false);
    }
    if (kind_ != kind::reads_nothing) return;
    const std::vector<request_head> many(64, head_for(operation::read, plan_->to_read, mebibyte));
    give(std::as_bytes(std::span{many}));
    epoll_event wanted{};
    wanted.events = 0;
    wanted.data.ptr = this;
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket_, &wanted);
  }

  kind kind_;
  const std::string* endpoint_;
  const misbehaviour_plan* plan_;
  misbehaviour_report* report_;
  int socket_ = -1;
  int epoll_ = -1;
  clock::time_point due_;
  std::array<std::byte, sizeof(hello) + sizeof(welcome)> heard_{};
  std::size_t have_ = 0;
  bool is_in_ = false;
};

}  // namespace

misbehaviour_report misbehave(const misbehaviour_plan& plan, const std::function<bool()>& is_over) {
  misbehaviour_report report;
  std::deque<misbehaved> all;
  const auto begin = clock::now();
  for (std::uint32_t i = 0; i < plan.of_each_kind; ++i)
    for (std::size_t which = 0; which < kinds; ++which) {
      const std::chrono::duration<double> after{plan.begin_seconds * i / plan.of_each_kind};
      all.emplace_back(static_cast<kind>(which), i % 2 == 0 ? plan.by_tcp : plan.by_path,
                       begin + std::chrono::duration_cast<clock::duration>(after), plan, report);
    }
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  std::array<epoll_event, 256> events{};
  std::size_t next = 0;
  while (!is_over()) {
    const int got = ::epoll_wait(epoll, events.data(), events.size(), 1);
    const auto now = clock::now();
    for (int i = 0; i < got; ++i)
      static_cast<misbehaved*>(events[static_cast<std::size_t>(i)].data.ptr)
          ->hear(events[static_cast<std::size_t>(i)].events, now);
    // A part of them each time.
    for (std::size_t i = 0; i < all.size() / 500 + 1; ++i) all[next++ % all.size()].look(now, epoll);
  }
  ::close(epoll);
  return report;
}

std::uint64_t flood_with_strangers(const std::string& endpoint, std::uint32_t most,
                                   const std::function<bool()>& is_over) {
  std::deque<int> open;
  std::uint64_t count = 0;
  const linger at_once{1, 0};  // no port is kept for a while
  const auto drop_oldest = [&] {
    ::setsockopt(open.front(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(open.front());
    open.pop_front();
  };
  while (!is_over()) {
    if (open.size() >= most) drop_oldest();
    if (const int made = start_connecting(endpoint); made >= 0) {
      open.push_back(made);
      ++count;
    } else {
      std::this_thread::sleep_for(1ms);
    }
  }
  while (!open.empty()) drop_oldest();
  return count;
}

}  // namespace situ_rmem_test
