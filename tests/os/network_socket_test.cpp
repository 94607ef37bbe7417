#include "os/network_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "os/signals.h"

namespace {

namespace os = situ::os;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

// The loopback addresses of this host; a container may have no IPv6.
std::vector<os::socket_address> loopbacks(int type) {
  std::vector<os::socket_address> all;
  for (const char* const host : {"127.0.0.1", "::1"}) {
    const os::found_addresses found = os::find_addresses(host, "0", type);
    EXPECT_EQ(found.failure, 0) << host;
    const os::descriptor socket = os::open_socket(found.all.at(0).family(), type);
    if (socket && os::bind_to(socket, found.all[0])) all.push_back(found.all[0]);
  }
  EXPECT_FALSE(all.empty());
  return all;
}

os::descriptor listen_at(const os::socket_address& at, int most_queued = 4) {
  os::descriptor listener = os::open_socket(at.family(), SOCK_STREAM);
  EXPECT_TRUE(os::bind_to(listener, at)) << std::strerror(errno);
  EXPECT_TRUE(os::listen_on(listener, most_queued)) << std::strerror(errno);
  return listener;
}

int option_of(const os::descriptor& socket, int level, int name) {
  int value = 0;
  socklen_t bytes = sizeof value;
  EXPECT_EQ(::getsockopt(socket.number(), level, name, &value, &bytes), 0);
  return value;
}

TEST(os_network_socket, both_families_meet_at_the_loopback) {
  for (const os::socket_address& any : loopbacks(SOCK_STREAM)) {
    const os::descriptor listener = listen_at(any);
    const os::socket_address at = os::address_of_socket(listener);
    EXPECT_EQ(at.family(), any.family());
    EXPECT_NE(at.port(), 0);
    EXPECT_EQ(at.text(), (any.family() == AF_INET6 ? "[::1]:" : "127.0.0.1:") + std::to_string(ntohs(at.port())));

    const os::descriptor client = os::open_socket(at.family(), SOCK_STREAM);
    ASSERT_EQ(os::connect_to(client, at), 0);
    const os::descriptor server = os::accept_from(listener);
    ASSERT_TRUE(server);
    ASSERT_EQ(::write(client.number(), "x", 1), 1);
    char got = 0;
    ASSERT_EQ(::read(server.number(), &got, 1), 1);
    EXPECT_EQ(got, 'x');
    EXPECT_EQ(os::address_of_peer(server).text(), os::address_of_socket(client).text());
    EXPECT_EQ(os::address_of_peer(client).text(), at.text());
  }
}

TEST(os_network_socket, a_socket_that_does_not_block_connects_within_a_time) {
  for (const os::socket_address& any : loopbacks(SOCK_STREAM)) {
    const os::descriptor listener = listen_at(any);
    const os::descriptor client = os::open_socket(any.family(), SOCK_STREAM | SOCK_NONBLOCK);
    ASSERT_EQ(os::connect_within(client, os::address_of_socket(listener), 10s), 0);
    EXPECT_TRUE(os::accept_from(listener));
  }
}

TEST(os_network_socket, a_refused_connection_is_told) {
  for (const os::socket_address& any : loopbacks(SOCK_STREAM)) {
    const os::descriptor bound = os::open_socket(any.family(), SOCK_STREAM);  // nobody listens there
    ASSERT_TRUE(os::bind_to(bound, any));
    const os::socket_address at = os::address_of_socket(bound);
    EXPECT_EQ(os::connect_to(os::open_socket(any.family(), SOCK_STREAM), at), ECONNREFUSED);
    EXPECT_EQ(os::connect_within(os::open_socket(any.family(), SOCK_STREAM | SOCK_NONBLOCK), at, 10s), ECONNREFUSED);
  }
}

// A listener whose queue is full leaves further clients without an answer.
TEST(os_network_socket, connecting_ends_after_its_timeout) {
  const os::descriptor listener = listen_at(os::socket_address::ipv4(htonl(INADDR_LOOPBACK), 0), 0);
  const os::socket_address at = os::address_of_socket(listener);
  std::vector<os::descriptor> clients;
  int result = 0;
  for (int tries = 0; tries < 16 && result == 0; ++tries) {
    clients.push_back(os::open_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK));
    const auto begin = clock_type::now();
    result = os::connect_within(clients.back(), at, 100ms);
    if (result != 0) {
      EXPECT_GE(clock_type::now() - begin, 99ms);
    }
  }
  EXPECT_EQ(result, ETIMEDOUT);
}

TEST(os_network_socket, a_call_ends_after_its_timeout) {
  const os::descriptor listener = listen_at(os::socket_address::ipv4(htonl(INADDR_LOOPBACK), 0));
  const os::descriptor client = os::open_socket(AF_INET, SOCK_STREAM);
  ASSERT_EQ(os::connect_to(client, os::address_of_socket(listener)), 0);
  ASSERT_EQ(os::set_call_timeout(client, 50ms), 0);
  char got = 0;
  EXPECT_EQ(::read(client.number(), &got, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(os::set_call_timeout(os::descriptor{}, 50ms), EBADF);
}

// A closed standard stream's number is the next that the system gives.
TEST(os_network_socket, descriptors_are_above_the_standard_streams) {
  const os::descriptor kept{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
  ::close(STDIN_FILENO);
  const os::descriptor listener = listen_at(os::socket_address::ipv4(htonl(INADDR_LOOPBACK), 0));
  const os::descriptor client = os::open_socket(AF_INET, SOCK_STREAM);
  const int connected = os::connect_to(client, os::address_of_socket(listener));
  const os::descriptor server = os::accept_from(listener);
  if (kept) ::dup2(kept.number(), STDIN_FILENO);
  EXPECT_EQ(connected, 0);
  for (const os::descriptor* const each : {&listener, &client, &server}) {
    EXPECT_GT(each->number(), STDERR_FILENO);
    EXPECT_EQ(::fcntl(each->number(), F_GETFD), FD_CLOEXEC);
  }
}

TEST(os_network_socket, a_datagram_socket_knows_its_way_without_sending) {
  for (const os::socket_address& any : loopbacks(SOCK_DGRAM)) {
    const os::descriptor receiver = os::open_socket(any.family(), SOCK_DGRAM | SOCK_NONBLOCK);
    ASSERT_TRUE(os::bind_to(receiver, any));
    const os::descriptor socket = os::open_socket(any.family(), SOCK_DGRAM);
    ASSERT_EQ(os::connect_to(socket, os::address_of_socket(receiver)), 0);
    const os::socket_address own = os::address_of_socket(socket);
    ASSERT_TRUE(own);
    EXPECT_EQ(own.text()->substr(0, own.text()->rfind(':')), any.text()->substr(0, any.text()->rfind(':')));
    char got = 0;
    EXPECT_EQ(::recv(receiver.number(), &got, 1, 0), -1);
    EXPECT_EQ(errno, EAGAIN);
  }
}

TEST(os_network_socket, a_text_that_is_no_address_is_refused) {
  EXPECT_EQ(os::find_addresses("127.0.0.1", "http", SOCK_STREAM).failure, EAI_NONAME);
  EXPECT_NE(os::find_addresses("127.0.0.1.1.1", "1", SOCK_STREAM).failure, 0);
  EXPECT_FALSE(os::socket_address{});
  EXPECT_FALSE(os::socket_address{}.text());
  EXPECT_FALSE(os::socket_address{os::local_address::of_path("/none")}.text());
  EXPECT_FALSE(os::address_of_socket(os::descriptor{}));
  EXPECT_EQ(errno, EBADF);
  EXPECT_FALSE(os::open_socket(-1, SOCK_STREAM));
}

TEST(os_network_socket, options_are_set) {
  const os::descriptor socket = os::open_socket(AF_INET, SOCK_STREAM);
  os::set_no_delay(socket);
  EXPECT_NE(option_of(socket, IPPROTO_TCP, TCP_NODELAY), 0);
  os::set_address_reuse(socket);
  EXPECT_NE(option_of(socket, SOL_SOCKET, SO_REUSEADDR), 0);
  EXPECT_EQ(os::set_blocking(socket, false), 0);
  EXPECT_NE(::fcntl(socket.number(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(os::set_blocking(socket, true), 0);
  EXPECT_EQ(::fcntl(socket.number(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(os::set_blocking(os::descriptor{}, true), EBADF);
}

// A local server's queue is full, so a signal interrupts the wait; its handler makes room.
TEST(os_network_socket, a_signal_does_not_end_connecting) {
  const auto name = os::local_address::abstract("situ-network-socket-" + std::to_string(::getpid()));
  static os::descriptor listener, taken;
  listener = os::open_local_socket(SOCK_STREAM);
  ASSERT_TRUE(os::listen_at(listener, name, 0));
  const os::socket_address at{name};
  const os::descriptor first = os::open_local_socket(SOCK_STREAM);
  ASSERT_EQ(os::connect_to(first, at), 0);
  EXPECT_EQ(os::connect_to(os::open_local_socket(SOCK_STREAM | SOCK_NONBLOCK), at), EAGAIN);

  const struct sigaction before = os::handle_signal(SIGALRM, [](int) { taken = os::accept_from(listener); });
  const itimerval soon{{0, 0}, {0, 50'000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &soon, nullptr), 0);
  const os::descriptor second = os::open_local_socket(SOCK_STREAM);
  EXPECT_EQ(os::connect_to(second, at), 0);
  EXPECT_TRUE(taken);
  os::restore_action(SIGALRM, before);
  listener.close();
  taken.close();
}

}  // namespace
