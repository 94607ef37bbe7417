// What a server's log says of clients that are lost, and of those that leave.
#include <situ/base/log.h>

#include <netinet/in.h>

#include <mutex>
#include <optional>

#include "rmem/link.h"
#include "rmem/loss_reports.h"
#include "rmem/raw_client.h"
#include "support/forked.h"

using namespace situ_rmem_test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

// Has what the servers of this process write into the log.
class rmem_losses : public testing::Test {
 protected:
  rmem_losses()
      : before_{situ::set_log_sink([this](situ::log_level level, std::string_view message) {
          const std::lock_guard held{lock_};
          if (level >= situ::log_level::warning) lines_.emplace_back(message);
        })} {}
  ~rmem_losses() override { situ::set_log_sink(std::move(before_)); }

  [[nodiscard]] std::vector<std::string> lines() {
    const std::lock_guard held{lock_};
    return lines_;
  }
  // Waits for so many lines, ten seconds at most.
  [[nodiscard]] std::vector<std::string> wait_for_lines(std::size_t count) {
    for (int tries = 0; tries < 2000 && lines().size() < count; ++tries) std::this_thread::sleep_for(5ms);
    return lines();
  }
  static void wait_for_clients(client& by, std::uint64_t count) {
    while (by.server_statistics().clients != count) std::this_thread::sleep_for(1ms);
  }

 private:
  std::mutex lock_;
  std::vector<std::string> lines_;
  situ::log_sink before_;
};

std::string own_address(const raw_client& of) {
  sockaddr_in own{};
  socklen_t bytes = sizeof own;
  EXPECT_EQ(::getsockname(of.socket(), reinterpret_cast<sockaddr*>(&own), &bytes), 0);
  return "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
}

TEST_F(rmem_losses, a_client_that_leaves_in_order_is_no_loss) {
  running_server server{8 * mebibyte};
  client watch{server.endpoint(), packages()};
  {
    client leaves{server.endpoint(), packages()};
    (void)leaves.allocate(4096, {}, rmem::lifetime::connection);
  }
  wait_for_clients(watch, 1);
  {
    // Also while the bytes that it has asked for are on their way.
    const capability mine = watch.allocate(2 * mebibyte);
    const rmem::client_options options;
    situ::rmem::detail::link leaves{[&](bool) { return server_place{server.endpoint(), 0}; }, {}, packages(), options};
    std::vector<std::byte> to(mine.bytes);
    leaves.start_read(head_for(operation::read, mine, mine.bytes), to);
  }
  wait_for_clients(watch, 1);
  raw_client{server.endpoint()}.send(pattern(8));  // a stranger
  EXPECT_EQ(watch.server_statistics().cut_messages, 0U);
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(rmem_losses, a_lost_client_is_named_with_what_it_held_and_why) {
  auto options = options_of(8 * mebibyte);
  options.patience = 200ms;
  running_server server{options};
  std::string cut, bad, silent;
  {
    raw_client lost{server.endpoint(), packages()};
    cut = own_address(lost);
    for (int i = 0; i < 2; ++i) {
      request_head head = head_for(operation::allocate, {}, 4096);
      head.flags = flag_with_session;
      lost.send(bytes_of(head));
      EXPECT_EQ(lost.receive<answer_head>().status, 0);
      (void)lost.receive<rmem::capability_secret>();
    }
  }
  EXPECT_THAT(wait_for_lines(1),
              ElementsAre("remote memory: a client of packages (" + cut +
                          ") is lost: it has ended without leaving, as if killed; its 2 regions (8 KiB) are "
                          "freed"));
  raw_client wild{server.endpoint(), graphs()};
  bad = own_address(wild);
  request_head head = head_for(operation::read, {}, 8);
  head.body_bytes = most_body_bytes + 1;
  wild.send(bytes_of(head));
  EXPECT_THAT(wait_for_lines(2).back(),
              HasSubstr("a client of graphs (" + bad +
                        ") is lost: it has sent what is no request of the protocol; it held no memory and no name"));
  raw_client half{server.endpoint(), packages()};
  silent = own_address(half);
  half.send(pattern(63));
  EXPECT_THAT(wait_for_lines(3).back(), HasSubstr("(" + silent + ") is lost: it has not sent the rest of a message"));
  EXPECT_THAT(lines(), SizeIs(3));
}

TEST_F(rmem_losses, a_client_of_this_host_is_named_by_its_process) {
  auto options = options_of(mebibyte);
  options.listen = {"unix:" + testing::TempDir() + "situ-rmem-losses-" + std::to_string(::getpid())};
  running_server server{options};
  situ::test::child_signal is_in;
  os::child lost = situ::test::fork_child([&] {
    const client inside{server.endpoint(), packages()};
    (void)is_in.give();
    situ::test::kill_this_process();
  });
  const pid_t number = lost.id();
  EXPECT_TRUE(is_in.wait());
  (void)lost.wait();
  EXPECT_THAT(wait_for_lines(1),
              ElementsAre(HasSubstr("a client of packages (process " + std::to_string(number) + ") is lost: ")));
}

// A fork has its parent's client, too, and may destroy it.
TEST_F(rmem_losses, a_fork_does_not_leave_for_its_parent) {
  running_server server{mebibyte};
  std::optional<client> both{std::in_place, server.endpoint(), packages()};
  const capability mine = both->allocate(64, {}, rmem::lifetime::connection);
  (void)situ::test::in_forked_child([&] { both.reset(); });
  EXPECT_EQ(both->fetch_add(mine, 0, 1), 0U);
  EXPECT_EQ(both->server_statistics().logins, 1U);
  both.reset();
  EXPECT_EQ(server.counted().clients, 0U);
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(rmem_losses, many_at_once_are_counted) {
  constexpr std::size_t all = 40;
  running_server server{mebibyte};
  {
    std::vector<raw_client> lost;
    for (std::size_t i = 0; i < all; ++i) lost.emplace_back(server.endpoint(), packages());
  }
  std::size_t named = 0;
  std::size_t counted = 0;
  for (int tries = 0; tries < 2000 && named + counted < all; ++tries) {
    std::this_thread::sleep_for(5ms);
    named = counted = 0;
    for (const std::string& each : lines()) {
      named += each.find(" is lost: ") != std::string::npos;
      if (each.find("more losses") != std::string::npos)
        counted += std::stoul(each.substr(std::strlen("remote memory: ")));
    }
  }
  EXPECT_EQ(named + counted, all);
  EXPECT_GE(named, loss_reports::most_a_second);
  EXPECT_GT(counted, 0U);
}

TEST(rmem_loss_reports, a_second_has_ten_and_the_count_of_the_rest) {
  constexpr std::uint64_t second = 1'000'000'000;
  loss_reports all;
  for (int i = 0; i < 13; ++i) all.add(5 * second, [&] { return std::to_string(i); });
  EXPECT_TRUE(all.has_left_out());
  const std::vector<std::string> first = all.take(5 * second);
  EXPECT_THAT(first, SizeIs(10));
  EXPECT_EQ(first.back(), "remote memory: 9");
  EXPECT_THAT(all.take(6 * second - 1), IsEmpty());
  EXPECT_THAT(all.take(6 * second), ElementsAre("remote memory: 3 more losses within a second are not listed"));
  EXPECT_FALSE(all.has_left_out());
  all.add(6 * second, [] { return std::string{"next"}; });
  EXPECT_THAT(all.take(6 * second), ElementsAre("remote memory: next"));
}

}  // namespace
