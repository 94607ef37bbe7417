// Operations of a place on memory of another host, asleep between them, beside a blocking TCP echo of the same bytes:
// in turns, from one run. `far_operations server FILE` at one host, which writes how it is reached to FILE, and then
// `far_operations client FILE` at another; bench/cluster/run does both with pretended hosts.
//
// There is no launcher of jobs over hosts yet: each end makes its own memory, at the base that both come to first.
#include <situ/fabric/atomic.h>
#include <situ/fabric/detail/far.h>
#include <situ/fabric/rma.h>
#include <situ/fabric/signal.h>

#include <fmt/format.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cluster/far_place.h"
#include "cluster/operations.h"
#include "cluster/ucx_wire.h"
#include "memory/job.h"
#include "memory/segment.h"

namespace {

using namespace situ::detail;
using namespace situ::detail::cluster;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t private_bytes = std::size_t{1} << 20;  // of each slice, before its heap
constexpr std::size_t block_bytes = std::size_t{2} << 20;
constexpr place_home homes[]{{0, 0}, {1, 0}};

// The memory of one end; both have the same geometry.
struct end_memory {
  job shared = job::create({.place_count = 2, .memory_budget = std::uint64_t{256} << 20});
  address_space space = address_space::map(shared, 2);
  std::array<std::uint64_t, 2> limits{};
  place_context context;

  explicit end_memory(std::uint32_t place) {
    const job_control& control = shared.control();
    context.base = space.base();
    context.slice_shift = control.slice_shift;
    context.slice_mask = (std::uintptr_t{1} << control.slice_shift) - 1;
    context.heap_offset = segment::heap_offset(shared.control(), private_bytes);
    context.limit = limits.data();
    context.place_count = 2;
    context.place = place;
    context.awaited_words = reinterpret_cast<const std::byte*>(&shared.control().slot(0).awaited);
    context.job = &shared.control();
    current = &context;
  }
  ~end_memory() { current = nullptr; }
  end_memory(const end_memory&) = delete;
  end_memory& operator=(const end_memory&) = delete;
  [[nodiscard]] std::uintptr_t slice(std::uint32_t place) const noexcept {
    return context.base + (std::uintptr_t{place} << context.slice_shift);
  }
};

// How the server is reached.
struct way {
  std::uintptr_t base = 0;
  std::uintptr_t block = 0;
  std::uint32_t ip = 0;
  std::uint16_t port = 0;
  std::uint16_t address_bytes = 0;
};

void must(bool holds, const char* what) {
  if (!holds) throw std::runtime_error{fmt::format("{}: {}", what, std::strerror(errno))};
}

// Blocking TCP

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

void echo(int listener) {
  const int socket = ::accept(listener, nullptr, nullptr);
  set_no_delay(socket);
  std::vector<std::byte> bytes(block_bytes);
  for (request asked; receive_all(socket, &asked, sizeof asked) && asked.wanted != 0;) {
    if (asked.sent != 0 && !receive_all(socket, bytes.data(), asked.sent)) break;
    send_all(socket, bytes.data(), asked.wanted);
  }
  ::close(socket);
}

// The server

class server_end final : wire_receiver {
 public:
  explicit server_end(end_memory& memory) : done_{memory.context, homes, 1, wire_} { done_.meet_peers(); }
  [[nodiscard]] const ucx_wire& wire() const noexcept { return wire_; }
  void run(const std::atomic<bool>& is_over) {
    while (!is_over) {
      while (wire_.progress(*this)) {}
      if (!wire_.arm()) continue;
      pollfd come{.fd = wire_.descriptor(), .events = POLLIN, .revents = 0};
      (void)::poll(&come, 1, 100);
    }
  }

 private:
  std::byte* room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                      std::uint64_t bytes) noexcept override {
    return kind == wire_message::operation ? done_.room_for(from, head, bytes) : nullptr;
  }
  void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                std::span<const std::byte> data) noexcept override {
    if (kind == wire_message::operation) done_.received(from, head, data);
  }
  ucx_wire wire_;
  operations done_;
};

int serve(const std::filesystem::path& file) {
  end_memory memory{1};
  segment heap{memory.shared.control(), memory.slice(1), 1, private_bytes};
  void* const block = heap.allocate(block_bytes, 4096);
  server_end server{memory};

  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  must(::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "bind");
  must(::listen(listener, 1) == 0, "listen");
  socklen_t length = sizeof at;
  must(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length) == 0, "getsockname");

  const std::vector<std::byte> address = server.wire().address();
  const way reached{memory.context.base, reinterpret_cast<std::uintptr_t>(block), own_ip(), at.sin_port,
                    static_cast<std::uint16_t>(address.size())};
  const std::filesystem::path written = file.string() + ".new";
  std::ofstream out{written, std::ios::binary};
  out.write(reinterpret_cast<const char*>(&reached), sizeof reached);
  out.write(reinterpret_cast<const char*>(address.data()), static_cast<std::streamsize>(address.size()));
  out.close();
  std::filesystem::rename(written, file);

  std::atomic<bool> is_over{false};
  std::thread other{[&] {
    echo(listener);
    is_over = true;
  }};
  server.run(is_over);
  other.join();
  ::close(listener);
  return 0;
}

// The client

double median(std::vector<double>& of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2];
}

double microseconds(const std::function<void()>& act) {
  const auto begin = clock_type::now();
  act();
  return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
}

// Both in turns, of `turns` operations each.
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

int ask(const std::filesystem::path& file) {
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds{10});
  std::ifstream in{file, std::ios::binary};
  way to;
  in.read(reinterpret_cast<char*>(&to), sizeof to);
  std::vector<std::byte> address(to.address_bytes);
  in.read(reinterpret_cast<char*>(address.data()), to.address_bytes);
  must(static_cast<bool>(in), "the server's file");

  end_memory memory{0};
  if (memory.context.base != to.base) throw std::runtime_error{"the two ends have come to different bases"};
  ucx_wire wire;
  const wire_peer server = wire.connect(address);
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = to.ip;
  at.sin_port = to.port;
  must(::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "connect");
  set_no_delay(socket);

  {
    far_place far{memory.context, homes, 0, wire, {server, server}};
    join_hosts(memory.context, far);
    std::vector<std::byte> bytes(block_bytes, std::byte{1});
    std::vector<std::byte> back(block_bytes);
    const situ::ptr<std::byte> there{reinterpret_cast<std::byte*>(to.block)};
    const situ::ptr<std::uint64_t> word{reinterpret_cast<std::uint64_t*>(to.block)};
    const auto over_tcp = [&](std::uint32_t sent, std::uint32_t wanted) {
      return [&, sent, wanted] {
        const request asked{sent, wanted};
        send_all(socket, &asked, sizeof asked);
        if (sent != 0) send_all(socket, bytes.data(), sent);
        must(receive_all(socket, back.data(), wanted), "recv");
      };
    };
    situ::put(there, bytes.data(), block_bytes);
    situ::get(back.data(), there, block_bytes);
    if (back != bytes) throw std::runtime_error{"what was put is not what comes back"};

    compare("get 8 B", 10, 300, [&] { (void)situ::get(word); }, over_tcp(0, 8));
    compare("get 4 KiB", 10, 200, [&] { situ::get(back.data(), there, 4096); }, over_tcp(0, 4096));
    compare("put 8 B", 10, 300, [&] { situ::put(word, std::uint64_t{4}); }, over_tcp(0, 8));
    compare("fetch-add", 10, 300, [&] { situ::atomic_fetch_add(word, std::uint64_t{1}); }, over_tcp(0, 8));
    compare("put_signal 8 B", 10, 300, [&] { situ::put_signal(word, std::uint64_t{4}, word + 8, 1); }, over_tcp(0, 8));
    compare("get 64 KiB", 10, 40, [&] { situ::get(back.data(), there, 65536); }, over_tcp(0, 65536));
    compare("get 1 MiB", 10, 15, [&] { situ::get(back.data(), there, 1 << 20); }, over_tcp(0, 1 << 20));
    compare("put 1 MiB", 10, 15, [&] { situ::put(there, bytes.data(), 1 << 20); }, over_tcp(1 << 20, 8));
    leave_hosts(memory.context);
  }
  const request end;
  send_all(socket, &end, sizeof end);
  ::close(socket);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::string{argv[1]} == "server") return serve(argv[2]);
    if (argc == 3 && std::string{argv[1]} == "client") return ask(argv[2]);
    std::fputs("far_operations server|client FILE\n", stderr);
    return 125;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "far_operations: %s\n", e.what());
    return 1;
  }
}
