// Clients that log in and then cost a server time or memory: they take no answers, send or take a byte at a time, or
// come all at once.
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>

#include "os/local_socket.h"
#include "rmem/raw_client.h"
#include "rmem/session.h"

using namespace situ_rmem_test;

namespace {

rmem::server_options patient_for(std::chrono::milliseconds patience) {
  auto made = options_of(4 * mebibyte);
  made.patience = patience;
  return made;
}

// The server's end of a connection, which is in this process.
int other_end(int socket) {
  sockaddr_in own{};
  socklen_t length = sizeof own;
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length), 0);
  for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    const int number = std::stoi(each.path().filename());
    sockaddr_in far{};
    length = sizeof far;
    if (number != socket && ::getpeername(number, reinterpret_cast<sockaddr*>(&far), &length) == 0 &&
        length == sizeof far && far.sin_port == own.sin_port)
      return number;
  }
  ADD_FAILURE() << "no such connection";
  return -1;
}

// Until the server can send nothing more.
void pipeline_reads(raw_client& by, const capability& of, int count) {
  for (int i = 0; i < count; ++i) by.send(bytes_of(head_for(operation::read, of, of.bytes)));
}

TEST(rmem_patience, while_answers_are_not_taken_the_server_sleeps) {
  running_server server{patient_for(60s)};
  client honest{server.endpoint(), packages()};
  const capability mine = honest.allocate(mebibyte);
  std::vector<raw_client> deaf;
  for (int i = 0; i < 4; ++i) pipeline_reads(deaf.emplace_back(server.endpoint(), packages()), mine, 16);
  while (honest.server_statistics().reads < 4) std::this_thread::sleep_for(1ms);
  // What it took without sleep would be all of the time, or all that the machine has left.
  std::chrono::nanoseconds taken = 1s;
  for (int tries = 0; tries < 20 && taken > 20ms; ++tries) {
    const auto before = server.processor_time();
    std::this_thread::sleep_for(200ms);
    taken = server.processor_time() - before;
  }
  EXPECT_LE(taken, 20ms);
  honest.fetch_add(mine, 0, 1);
  std::array<std::byte, 4096> some;
  EXPECT_GT(::recv(deaf[0].socket(), some.data(), some.size(), 0), 0);
}

TEST(rmem_patience, what_the_kernel_keeps_for_a_client_is_bounded) {
  running_server server{patient_for(60s)};
  client honest{server.endpoint(), packages()};
  const capability mine = honest.allocate(mebibyte);
  raw_client deaf{server.endpoint(), packages()};
  pipeline_reads(deaf, mine, 64);
  std::array<std::uint32_t, SK_MEMINFO_VARS> before{};
  std::array<std::uint32_t, SK_MEMINFO_VARS> now{};
  const int socket = other_end(deaf.socket());
  const auto look = [&] {
    socklen_t length = sizeof now;
    ASSERT_EQ(::getsockopt(socket, SOL_SOCKET, SO_MEMINFO, now.data(), &length), 0);
  };
  do {
    before = now;
    std::this_thread::sleep_for(100ms);
    look();
  } while (now != before || now[SK_MEMINFO_WMEM_QUEUED] == 0);
  // The last piece may go beyond the bound.
  EXPECT_LE(now[SK_MEMINFO_WMEM_QUEUED], 2U * most_kernel_bytes + 128U * 1024);
  EXPECT_LE(now[SK_MEMINFO_SNDBUF], 2U * most_kernel_bytes);
  EXPECT_LE(now[SK_MEMINFO_RCVBUF], 2U * most_kernel_bytes);
}

// Bytes of a message that never ends, one at a time, until the server has closed it: long before 20 s are over.
void expect_dribble_ended(const request_head& asked) {
  running_server server{patient_for(200ms)};
  raw_client slow{server.endpoint(), packages()};
  slow.send(bytes_of(asked));
  bool is_closed = false;
  for (int i = 0; i < 2000 && !is_closed; ++i) {
    std::byte one{};
    slow.send({&one, 1});
    std::this_thread::sleep_for(10ms);
    const ssize_t got = ::recv(slow.socket(), &one, 1, MSG_DONTWAIT);
    is_closed = got == 0 || (got < 0 && errno == ECONNRESET);
  }
  EXPECT_TRUE(is_closed);
  EXPECT_EQ(server.counted().timeouts, 1U);
}

TEST(rmem_patience, a_request_that_comes_a_byte_at_a_time_is_not_waited_for) {
  request_head asked = head_for(operation::statistics, {}, 0);
  asked.body_bytes = most_body_bytes;
  expect_dribble_ended(asked);
}
TEST(rmem_patience, a_write_that_comes_a_byte_at_a_time_is_not_waited_for) {
  expect_dribble_ended(head_for(operation::write, {}, mebibyte));  // refused, and taken to its end
}

// 256 KiB take 400 ms, and some of them are taken all the time.
TEST(rmem_patience, answers_that_are_taken_slowly_are_not_waited_for) {
  running_server server{patient_for(330ms)};
  client honest{server.endpoint(), packages()};
  const capability mine = honest.allocate(mebibyte);
  raw_client slow{server.endpoint(), packages()};
  pipeline_reads(slow, mine, 64);
  std::vector<std::byte> some(64 * 1024);
  bool is_ended = false;
  for (int i = 0; i < 100 && !is_ended; ++i) {
    std::this_thread::sleep_for(100ms);
    (void)::recv(slow.socket(), some.data(), some.size(), MSG_DONTWAIT);
    is_ended = honest.server_statistics().timeouts > 0;
  }
  EXPECT_TRUE(is_ended);
  EXPECT_TRUE(slow.is_closed());
}

// Each message has its own time, and each 256 KiB of a longer one, also where the next has begun before.
TEST(rmem_patience, each_part_is_a_debt_of_its_own) {
  service serves{0, mebibyte, {}, keys(), 4};
  session one{serves, 1};
  const auto give = [&](std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::span<std::byte> room = one.room();
      ASSERT_FALSE(room.empty());
      const std::size_t part = std::min(room.size(), bytes.size());
      std::memcpy(room.data(), bytes.data(), part);
      one.received(part);
      bytes = bytes.subspan(part);
    }
  };
  const auto take = [&] {
    for (auto out = one.output(); !out[0].empty() || !out[1].empty(); out = one.output())
      one.sent(out[0].size() + out[1].size());
  };
  EXPECT_TRUE(one.owes_bytes().is_owed);  // its login
  const auto heard = situ::os::byte_reader{one.output()[0]}.take<hello>();
  login said{protocol_magic, protocol_version, 0, fixed<application_bytes>("packages"), {}, {}};
  said.proof = client_proof(packages(), heard, said);
  give(bytes_of(said));
  EXPECT_FALSE(one.owes_bytes().is_owed);
  EXPECT_TRUE(one.owes_taking().is_owed);
  take();
  EXPECT_FALSE(one.owes_taking().is_owed);

  const request_head asked = head_for(operation::statistics, {}, 0);
  give(bytes_of(asked).first(32));
  const auto first = one.owes_bytes();
  EXPECT_TRUE(first.is_owed);
  give(bytes_of(asked).subspan(32, 31));
  EXPECT_EQ(one.owes_bytes().step, first.step);
  give(bytes_of(asked).last(1));
  give(bytes_of(asked).first(32));
  EXPECT_TRUE(one.owes_bytes().is_owed);
  EXPECT_NE(one.owes_bytes().step, first.step);
  take();
  give(bytes_of(asked).last(32));
  const auto answers = one.owes_taking();
  take();
  EXPECT_NE(one.owes_taking().step, answers.step);

  give(bytes_of(head_for(operation::write, {}, mebibyte)));
  const auto data = one.owes_bytes();
  const std::vector<std::byte> piece(256 * 1024);
  give(std::span{piece}.first(piece.size() - 1));
  EXPECT_EQ(one.owes_bytes().step, data.step);
  give(std::span{piece}.first(1));
  EXPECT_NE(one.owes_bytes().step, data.step);
}

// --- all at once ---

// They are all there before the server looks: as many as wait in its queue, and beyond.
void expect_all_come(const std::string& listen) {
  auto options = options_of(mebibyte);
  options.listen = {listen};
  options.most_clients = 1000;
  rmem::server server{options};
  std::atomic<int> connected = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 200; ++i)
    clients.emplace_back([&] {
      try {
        client each{server.endpoints()[0], packages(), {.timeout = 60s}};
        ++connected;
      } catch (const situ::error& failure) {
        ADD_FAILURE() << failure.what();
      }
    });
  std::this_thread::sleep_for(100ms);
  std::jthread serves{[&] { server.run(); }};
  for (std::jthread& each : clients) each.join();
  server.stop();
  EXPECT_EQ(connected, 200);
}

TEST(rmem_burst, all_come_in_by_tcp) { expect_all_come("127.0.0.1:0"); }
TEST(rmem_burst, all_come_in_by_a_unix_socket) {
  expect_all_come("unix:" + testing::TempDir() + "situ-rmem-burst-" + std::to_string(::getpid()));
}

// Who is closed before the server has said whether it knows him comes again.
TEST(rmem_burst, a_client_that_is_turned_away_before_it_is_known_comes_again) {
  namespace fs = std::filesystem;
  const fs::path folder = testing::TempDir() + "situ-rmem-again-" + std::to_string(::getpid());
  fs::create_directory(folder);
  {
    auto options = options_of(mebibyte);
    options.listen = {"unix:" + (folder / "server").string()};
    running_server server{options};
    std::string endpoint = "unix:" + (folder / "socket").string();
    const listener full{endpoint};
    std::jthread turns_away{[&](const std::stop_token& stop) {
      for (int turned_away = 0; turned_away < 3 && !stop.stop_requested();) {
        if (const os::descriptor come = os::accept_from(full.socket()))
          ++turned_away;
        else
          std::this_thread::sleep_for(1ms);
      }
      fs::rename(folder / "server", folder / "socket");
    }};
    EXPECT_NO_THROW((client{endpoint, packages(), {.timeout = 60s}}));
  }
  fs::remove_all(folder);
}

}  // namespace
