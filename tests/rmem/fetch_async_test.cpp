// Bytes of a region as futures of the runtime: what else the place does while they come. What is told first is told by
// a gate between the region and its server: nothing comes of the server while it is shut.
#include "rmem/servers.h"
#include "rmem/user_faults.h"

#include <situ/rmem/fetch_async.h>
#include <situ/situ.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace situ_rmem_test;
using rmem::fetch_async;
using rmem::region;

namespace {

constexpr std::uint64_t page = 4096;

// A way to a server of this machine, on a port of its own.
class gate {
 public:
  explicit gate(const std::string& server) {
    const std::string port = server.substr(server.rfind(':') + 1);
    std::uint16_t number = 0;
    std::from_chars(port.data(), port.data() + port.size(), number);
    to_.sin_port = htons(number);
    sockaddr_in own = address();
    socklen_t bytes = sizeof own;
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&own), bytes) != 0 ||
        ::listen(listener_, SOMAXCONN) != 0 || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &bytes) != 0)
      throw std::runtime_error{"no port for the gate"};
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    thread_ = std::jthread{[this](const std::stop_token& stop) { pass(stop); }};
  }
  ~gate() {
    thread_.request_stop();
    thread_.join();
    for (const auto& [from, to] : pairs_) {
      ::close(from);
      ::close(to);
    }
    ::close(listener_);
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }
  void shut() { is_shut_.store(true); }
  void open() { is_shut_.store(false); }

 private:
  static sockaddr_in address() {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return made;
  }
  void pass(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<pollfd> looked{{.fd = listener_, .events = POLLIN, .revents = 0}};
      for (const auto& [client, server] : pairs_) {
        looked.push_back({.fd = client, .events = POLLIN, .revents = 0});
        looked.push_back({.fd = is_shut_.load() ? -1 : server, .events = POLLIN, .revents = 0});
      }
      if (::poll(looked.data(), looked.size(), 1) <= 0) continue;
      std::size_t i = 1;
      for (auto& [client, server] : pairs_) {
        if (looked[i].revents != 0) move(client, server);
        if (looked[i + 1].revents != 0) move(server, client);
        i += 2;
      }
      if (looked[0].revents == 0) continue;
      sockaddr_in to = to_;
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      (void)::connect(server, reinterpret_cast<sockaddr*>(&to), sizeof to);
      pairs_.emplace_back(client, server);
    }
  }
  static void move(int from, int to) {
    std::byte buffer[65536];
    const ssize_t got = ::recv(from, buffer, sizeof buffer, 0);
    if (got <= 0) {
      ::shutdown(to, SHUT_RDWR);
      ::shutdown(from, SHUT_RDWR);
    }
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t now = ::send(to, buffer + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
      if (now <= 0) return;
      sent += now;
    }
  }

  sockaddr_in to_ = address();
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string endpoint_;
  std::atomic<bool> is_shut_{false};
  std::list<std::pair<int, int>> pairs_;  // of the thread
  std::jthread thread_;
};

class rmem_fetch_async : public testing::Test {
 protected:
  void SetUp() override {
    try {
      rmem::detail::user_faults{};
    } catch (const situ::error& refused) {
      GTEST_SKIP() << refused.what();
    }
    one.write(mine, 0, pattern(mine.bytes));
    make_region(20s);
  }
  void make_region(std::chrono::milliseconds timeout) {
    far.emplace(client{way.endpoint(), packages(), {.timeout = timeout}}, mine,
                rmem::region_options{.local_bytes = 64 * page, .ahead = rmem::prefetch::none});
  }
  // The places share all of this.
  template <class Body>
  situ::launch_result run(std::uint32_t places, Body body) {
    situ::launch_options options;
    options.mode = situ::launch_mode::threads;
    options.time_limit = 60s;
    return situ::launch(places, body, options);
  }

  running_server server{64 * mebibyte};
  client one{server.endpoint(), packages(), {.timeout = 20s}};
  capability mine = one.allocate(100 * page);
  gate way{server.endpoint()};
  std::optional<region> far;
};

TEST_F(rmem_fetch_async, other_tasks_of_the_place_run_while_bytes_come) {
  std::vector<std::string> order;
  const auto result = run(1, [&] {
    way.shut();
    const situ::future<void> coming = fetch_async(*far, 5 * page, 10 * page);
    EXPECT_FALSE(coming.is_ready());
    (void)situ::async([&] {
      order.emplace_back("another task");
      way.open();
    });
    order.emplace_back("waits");
    coming.get();
    order.emplace_back("come");
    EXPECT_TRUE(far->is_here(5 * page, 10 * page));
    EXPECT_EQ(far->data()[7 * page], pattern(mine.bytes)[7 * page]);
    EXPECT_EQ(far->counted().missing, 0U);
  });
  EXPECT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(order, (std::vector<std::string>{"waits", "another task", "come"}));
}

// The gate is opened by a call to the place that waits.
TEST_F(rmem_fetch_async, the_place_is_called_while_bytes_come) {
  std::atomic<bool> is_called{false};
  const auto result = run(2, [&] {
    static gate* shut = nullptr;
    static std::atomic<bool>* called = nullptr;
    if (situ::here().index() == 0) {
      shut = &way;
      called = &is_called;
      way.shut();
    }
    situ::barrier();
    if (situ::here().index() == 1) {
      situ::at(situ::place{0}, [] {
        called->store(true);
        shut->open();
      });
    } else {
      const situ::future<void> coming = fetch_async(*far, 0, 20 * page);
      EXPECT_FALSE(coming.is_ready());
      coming.get();
      EXPECT_TRUE(is_called.load());
      EXPECT_TRUE(far->is_here(0, 20 * page));
    }
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_F(rmem_fetch_async, many_at_once_and_none) {
  const auto result = run(1, [&] {
    std::vector<situ::future<void>> coming;
    for (std::uint64_t i = 0; i < 30; ++i) coming.push_back(fetch_async(*far, i * page, page));
    coming.push_back(fetch_async(*far, 0, 0));
    situ::when_all(std::move(coming)).get();
    EXPECT_TRUE(far->is_here(0, 30 * page));
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_F(rmem_fetch_async, failures_are_the_futures) {
  const auto result = run(1, [&] {
    expect_refused(errc::bad_argument, [&] { (void)fetch_async(*far, far->size(), 1); });
    one.free(mine);
    const situ::future<void> coming = fetch_async(*far, 0, page);
    expect_refused(errc::access_denied, [&] { coming.get(); });
    expect_refused(errc::access_denied, [&] { coming.get(); });
  });
  EXPECT_TRUE(result.ok()) << result.message();
  expect_refused(errc::no_runtime, [&] { (void)fetch_async(*far, 0, page); });
}

// The region waits for its server for the client's time, and no longer. Afterwards nothing is left of it.
TEST_F(rmem_fetch_async, a_region_that_ends_first_is_a_lost_link) {
  make_region(200ms);
  const auto result = run(1, [&] {
    way.shut();
    const situ::future<void> under_way = fetch_async(*far, 0, page);
    const situ::future<void> behind_it = fetch_async(*far, 50 * page, page);
    EXPECT_FALSE(under_way.is_ready());
    far.reset();
    for (const situ::future<void>& each : {under_way, behind_it}) expect_refused(errc::link_lost, [&] { each.get(); });
    way.open();
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

// The bytes come when there is no place any more that waits for them.
TEST_F(rmem_fetch_async, a_runtime_that_ends_first_is_left_alone) {
  const auto result = run(1, [&] {
    way.shut();
    const situ::future<void> coming = fetch_async(*far, 0, page);
    situ::async([] {}).get();  // what waits for the bytes has begun by now
    EXPECT_FALSE(coming.is_ready());
    throw std::runtime_error{"enough"};
  });
  EXPECT_FALSE(result.ok());
  way.open();
  far->fetch(90 * page, page).get();  // after the first
  EXPECT_TRUE(far->is_here(0, page));
}

}  // namespace
