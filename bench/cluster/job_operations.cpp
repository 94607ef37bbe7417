// Operations of a place of a job over two hosts on memory of the other, calls and messages to it, and the barrier of
// both, beside a blocking TCP echo of the same bytes: in turns, from one run. Started by mpirun or srun with one place
// a host: bench/cluster/run does it with pretended hosts. Place 1 echoes in a thread, while its place sleeps in a
// barrier.
#include <situ/fabric/am.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/rma.h>
#include <situ/fabric/signal.h>
#include <situ/situ.h>

#include <fmt/format.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using namespace situ;

constexpr std::size_t block_bytes = std::size_t{2} << 20;

// Blocking TCP

void must(bool holds, const char* what) {
  if (!holds) throw std::runtime_error{fmt::format("{}: {}", what, std::strerror(errno))};
}

// How the echo is reached.
struct tcp_way {
  std::uint32_t ip = 0;
  std::uint16_t port = 0;
};
struct request {
  std::uint32_t sent = 0;    // bytes that follow
  std::uint32_t wanted = 0;  // bytes that come back; 0: the end
};

void send_all(int socket, const void* bytes, std::size_t count) {
  must(::send(socket, bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count), "send");
}
bool receive_all(int socket, void* bytes, std::size_t count) {
  return ::recv(socket, bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
}
void set_no_delay(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::uint32_t own_ip() {
  ifaddrs* all = nullptr;
  must(::getifaddrs(&all) == 0, "getifaddrs");
  std::uint32_t found = htonl(INADDR_LOOPBACK);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next)
    if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET && (each->ifa_flags & IFF_LOOPBACK) == 0)
      found = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr;
  ::freeifaddrs(all);
  return found;
}

// A thread that echoes to one client until that says that it is the end.
class echo_server {
 public:
  echo_server() : listener_{::socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    must(::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "bind");
    must(::listen(listener_, 1) == 0, "listen");
    socklen_t length = sizeof at;
    must(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &length) == 0, "getsockname");
    way_ = {own_ip(), at.sin_port};
    thread_ = std::thread{[this] { echo(); }};
  }
  ~echo_server() {
    thread_.join();
    ::close(listener_);
  }
  echo_server(const echo_server&) = delete;
  echo_server& operator=(const echo_server&) = delete;
  [[nodiscard]] tcp_way way() const noexcept { return way_; }

 private:
  void echo() {
    const int socket = ::accept(listener_, nullptr, nullptr);
    set_no_delay(socket);
    std::vector<std::byte> bytes(block_bytes);
    for (request asked; receive_all(socket, &asked, sizeof asked) && asked.wanted != 0;) {
      if (asked.sent != 0 && !receive_all(socket, bytes.data(), asked.sent)) break;
      send_all(socket, bytes.data(), asked.wanted);
    }
    ::close(socket);
  }
  int listener_;
  tcp_way way_;
  std::thread thread_;
};

class echo_client {
 public:
  explicit echo_client(const tcp_way& way) : socket_{::socket(AF_INET, SOCK_STREAM, 0)}, bytes_(block_bytes) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = way.ip;
    at.sin_port = way.port;
    must(::connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "connect");
    set_no_delay(socket_);
  }
  ~echo_client() {
    const request end;
    (void)!::send(socket_, &end, sizeof end, MSG_NOSIGNAL);
    ::close(socket_);
  }
  echo_client(const echo_client&) = delete;
  echo_client& operator=(const echo_client&) = delete;
  void ask(std::uint32_t sent, std::uint32_t wanted) {
    const request asked{sent, wanted};
    send_all(socket_, &asked, sizeof asked);
    if (sent != 0) send_all(socket_, bytes_.data(), sent);
    must(receive_all(socket_, bytes_.data(), wanted), "recv");
  }

 private:
  int socket_;
  std::vector<std::byte> bytes_;
};

// Times

using clock_type = std::chrono::steady_clock;

double median(std::vector<double>& of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2];
}

double microseconds(const std::function<void()>& act) {
  const auto begin = clock_type::now();
  act();
  return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
}

// Both in turns, of `times` operations each.
void compare(const char* name, int turns, int times, const std::function<void()>& ours,
             const std::function<void()>& tcp) {
  std::vector<double> mine;
  std::vector<double> theirs;
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < times; ++i) mine.push_back(microseconds(ours));
    for (int i = 0; i < times; ++i) theirs.push_back(microseconds(tcp));
  }
  const double a = median(mine);
  const double b = median(theirs);
  std::printf("%-14s situ %8.1f us   tcp %8.1f us   %.2f x\n", name, a, b, a / b);
}

// The job

// Each place allocates one block, at the same place of its slice.
ptr<std::byte> at_place(ptr<std::byte> own, std::uint32_t place) {
  const std::uintptr_t slice = detail::current->slice_mask + 1;
  return ptr<std::byte>{reinterpret_cast<std::byte*>(own.address() + (place - here().index()) * slice)};
}

promise<>* awaited = nullptr;
void on_pong(am::reply_token&) { awaited->set_value(); }
void on_ping(am::token& t) { t.reply_short<on_pong>(); }

// A message to the other place, and its reply.
void ping() {
  promise<> answered;
  awaited = &answered;
  const future<> answer = answered.get_future();
  am::request_short<on_ping>(place{1});
  answer.wait();
}

void measure(ptr<std::byte> own, echo_client& client) {
  std::vector<std::byte> bytes(block_bytes, std::byte{1});
  std::vector<std::byte> back(block_bytes);
  const ptr<std::byte> there = at_place(own, 1);
  const ptr<std::uint64_t> word{reinterpret_cast<std::uint64_t*>(there.address())};
  const auto over_tcp = [&](std::uint32_t sent, std::uint32_t wanted) {
    return [&client, sent, wanted] { client.ask(sent, wanted); };
  };
  put(there, bytes.data(), block_bytes);
  get(back.data(), there, block_bytes);
  if (back != bytes) throw std::runtime_error{"what was put is not what comes back"};
  compare("get 8 B", 10, 300, [&] { (void)get(word); }, over_tcp(0, 8));
  compare("get 4 KiB", 10, 200, [&] { get(back.data(), there, 4096); }, over_tcp(0, 4096));
  compare("put 8 B", 10, 300, [&] { put(word, std::uint64_t{4}); }, over_tcp(0, 8));
  compare("fetch-add", 10, 300, [&] { atomic_fetch_add(word, std::uint64_t{1}); }, over_tcp(0, 8));
  compare("put_signal 8 B", 10, 300, [&] { put_signal(word, std::uint64_t{4}, word + 8, 1); }, over_tcp(0, 8));
  compare("get 64 KiB", 10, 40, [&] { get(back.data(), there, 65536); }, over_tcp(0, 65536));
  compare("get 1 MiB", 10, 15, [&] { get(back.data(), there, 1 << 20); }, over_tcp(0, 1 << 20));
  compare("put 1 MiB", 10, 15, [&] { put(there, bytes.data(), 1 << 20); }, over_tcp(1 << 20, 8));
}

void measure_messages(echo_client& client) {
  const auto echo = [&client] { client.ask(0, 8); };
  const std::vector<std::byte> bytes(4096, std::byte{2});
  compare("message, reply", 10, 200, &ping, echo);
  compare("at()", 10, 200, [] { at(place{1}, [] {}); }, echo);
  compare(
      "at(4 KiB)", 10, 100,
      [&] { (void)at(place{1}, [](const std::vector<std::byte>& v) { return v.size(); }, bytes); },
      [&client] { client.ask(4096, 8); });
}

constexpr int barrier_turns = 10, barriers_a_turn = 200;

void run() {
  const ptr<std::byte> own = allocate<std::byte>(block_bytes);
  if (place_count() != 2) throw std::runtime_error{"start it with two places"};
  if (here().index() == 1) {
    echo_server server;
    const tcp_way way = server.way();
    std::memcpy(own.local(), &way, sizeof way);
    barrier();
    barrier();  // what place 0 measures
    for (int turn = 0; turn < barrier_turns; ++turn)
      for (int i = 0; i < barriers_a_turn; ++i) barrier();
    return;
  }
  barrier();
  tcp_way way;
  get(reinterpret_cast<std::byte*>(&way), at_place(own, 1), sizeof way);
  echo_client client{way};
  measure(own, client);
  measure_messages(client);
  barrier();
  compare("barrier", barrier_turns, barriers_a_turn, [] { barrier(); }, [&] { client.ask(0, 8); });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    runtime rt{argc, argv};
    run();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "job_operations: %s\n", e.what());
    return 1;
  }
}
