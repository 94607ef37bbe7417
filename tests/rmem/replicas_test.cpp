// Chains of replicas: real servers in threads, real sockets. What is killed, frozen or drained while clients work.
#include "rmem/servers.h"

#include <situ/base/log.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "support/stalls.h"

using namespace situ_rmem_test;

namespace {

using clock_type = std::chrono::steady_clock;
constexpr auto patience = 20s;
constexpr auto carried_on_within = 1s;  // docs/design/rmem.md

rmem::server_options replica_of(const running_server& names, std::uint32_t replicas, std::uint32_t index = 3) {
  auto made = options_of(8 * mebibyte, index);
  made.names = names.endpoint();
  made.replicas = replicas;
  return made;
}
rmem::server_options spare_of(const running_server& names) {
  auto made = replica_of(names, 0);
  made.is_spare = true;
  return made;
}

// Until the name server has that many members of the chain, and none that joins.
rmem::replica_set wait_for_chain(client& by, std::size_t members, std::uint64_t after_epoch = 0) {
  const auto ends = clock_type::now() + patience;
  for (;;) {
    for (const rmem::replica_set& each : by.list_replicas().sets)
      if (each.endpoints.size() == members && !each.is_joining && each.epoch > after_epoch) return each;
    if (clock_type::now() > ends) throw std::runtime_error{"the chain does not become that long"};
    std::this_thread::sleep_for(5ms);
  }
}

std::vector<std::byte> read_all(client& by, const capability& of) {
  std::vector<std::byte> got(of.bytes);
  by.read(of, 0, got);
  return got;
}

// Servers that end when they are told to, each once.
class servers {
 public:
  void add(rmem::server_options options) { all_.push_back(std::make_unique<running_server>(std::move(options))); }
  void end(const std::string& endpoint) {
    std::erase_if(all_, [&](const auto& each) { return each->endpoint() == endpoint; });
  }

 private:
  std::vector<std::unique_ptr<running_server>> all_;
};

TEST(rmem_replicas, their_memory_is_not_passed) {
  running_server names{0};
  auto options = replica_of(names, 1);
  options.listen = {"unix:" + testing::TempDir() + "situ-rmem-replica-" + std::to_string(::getpid())};
  const running_server only{options};
  client by{names.endpoint(), packages()};
  wait_for_chain(by, 1);
  const capability mine = by.allocate(4096, 3, rmem::lifetime::connection);
  EXPECT_FALSE(by.map(mine));
  by.write(mine, 0, pattern(64));
}

TEST(rmem_replicas, a_lost_server_is_carried_on_for_and_replaced) {
  situ::test::stall_meter stalls;  // before the servers' threads
  running_server names{0};
  servers all;
  for (int i = 0; i < 2; ++i) all.add(replica_of(names, 2));
  client one{names.endpoint(), packages()};
  const rmem::replica_set first = wait_for_chain(one, 2);
  const capability mine = one.allocate(3 * mebibyte, {}, rmem::lifetime::until_freed, 2);
  EXPECT_EQ(mine.address >> 56, 3U);
  expect_refused(errc::out_of_memory, [&] { (void)one.allocate(64, {}, rmem::lifetime::until_freed, 3); }, "3 servers");
  std::vector<std::byte> expected = pattern(3 * mebibyte);
  one.write(mine, 0, expected);
  const capability part = one.grant(mine, 0, 4096, rights::read);
  std::uint64_t word = 0;
  std::memcpy(&word, &expected[64], sizeof word);
  all.end(first.endpoints[0]);
  stalls.begin();
  const auto begin = clock_type::now();
  EXPECT_EQ(one.fetch_add(mine, 64, 1), word++);
  EXPECT_TRUE(stalls.allow(clock_type::now() - begin, carried_on_within));
  std::memcpy(&expected[64], &word, sizeof word);
  EXPECT_EQ(read_all(one, mine), expected);
  // A spare one gets everything, and then it is all that there is.
  all.add(spare_of(names));
  const rmem::replica_set second = wait_for_chain(one, 2, first.epoch);
  EXPECT_EQ(second.endpoints[0], first.endpoints[1]);
  all.end(second.endpoints[0]);
  EXPECT_EQ(read_all(one, mine), expected);
  EXPECT_EQ(read_all(one, part), std::vector(expected.begin(), expected.begin() + 4096));
  expect_refused(errc::access_denied, [&] { one.write(part, 0, std::span{expected}.first(8)); });
  one.revoke(part);
  expect_refused(errc::access_denied, [&] { read_all(one, part); });
  one.free(mine);
  expect_refused(errc::access_denied, [&] { one.fetch_add(mine, 64, 1); });
}

// A server remembers so many clients. One that others have made it forget goes on as another one.
TEST(rmem_replicas, a_client_that_is_forgotten_goes_on) {
  constexpr int more_than_are_remembered = 4100;
  running_server names{0};
  servers all;
  for (int i = 0; i < 2; ++i) all.add(replica_of(names, 2));
  client one{names.endpoint(), packages()};
  const rmem::replica_set first = wait_for_chain(one, 2);
  const capability mine = one.allocate(64, {}, rmem::lifetime::until_freed, 2);
  EXPECT_EQ(one.fetch_add(mine, 0, 5), 0U);
  for (int i = 0; i < more_than_are_remembered; ++i) {
    client other{names.endpoint(), packages()};
    EXPECT_EQ(other.fetch_add(mine, 8, 1), static_cast<std::uint64_t>(i));
  }
  all.end(first.endpoints[0]);
  EXPECT_EQ(one.fetch_add(mine, 0, 5), 5U);
  EXPECT_EQ(one.fetch_add(mine, 0, 5), 10U);
}

// What ends with a connection outlives the server that is first by as long as its client is there, whoever else goes.
TEST(rmem_replicas, what_ends_with_a_client_goes_when_that_is_away) {
  constexpr auto absence = 1200ms;
  std::atomic<int> absences = 0;  // that the log tells
  const situ::log_sink before = situ::set_log_sink([&](situ::log_level, std::string_view message) {
    absences += message.find(" not come back for 1.2 s; ") != std::string_view::npos ? 1 : 0;
  });
  running_server names{0};
  servers all;
  for (int i = 0; i < 2; ++i) {
    auto options = replica_of(names, 2);
    options.patience = absence;
    all.add(options);
  }
  client watch{names.endpoint(), packages()};
  const rmem::replica_set first = wait_for_chain(watch, 2);
  const auto allocate = [](client& by) { return by.allocate(4096, 3, rmem::lifetime::connection); };
  const auto is_there = [&](const capability& which) {
    const auto all_regions = watch.list_regions(3);
    return std::ranges::any_of(all_regions, [&](const auto& each) { return each.address == which.address; });
  };
  const auto goes_within = [&](const capability& which, auto limit) {
    const auto ends = clock_type::now() + limit;
    while (is_there(which) && clock_type::now() < ends) std::this_thread::sleep_for(20ms);
    return !is_there(which);
  };
  client quiet{names.endpoint(), packages()};
  client silent{names.endpoint(), packages()};
  const capability kept = allocate(quiet);
  const capability orphan = allocate(silent);
  const capability of_gone = [&] {
    client gone{names.endpoint(), packages()};
    return allocate(gone);
  }();
  EXPECT_TRUE(is_there(of_gone));
  // Clients that come and go put off nobody's end but their own.
  bool has_gone = false;
  for (const auto ends = clock_type::now() + patience; !has_gone && clock_type::now() < ends;) {
    client passing{names.endpoint(), packages()};
    (void)allocate(passing);
    has_gone = !is_there(of_gone);
    std::this_thread::sleep_for(5ms);  // what those that passed left must not fill the server
  }
  EXPECT_TRUE(has_gone);
  EXPECT_TRUE(is_there(orphan));
  EXPECT_EQ(absences, 0);  // all have left in order

  all.end(first.endpoints[0]);
  const auto begin = clock_type::now();
  while (clock_type::now() - begin < 3 * absence) {
    quiet.keep_alive();
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_TRUE(goes_within(orphan, 10s));
  EXPECT_TRUE(is_there(kept));
  quiet.write(kept, 0, pattern(4096));
  EXPECT_EQ(read_all(quiet, kept), pattern(4096));
  EXPECT_GT(absences, 0);
  situ::set_log_sink(before);
}

TEST(rmem_replicas, servers_are_drained_while_clients_work) {
  running_server names{0};
  servers all;
  all.add(replica_of(names, 1));
  client one{names.endpoint(), packages()};
  client operates{names.endpoint(), cluster()};
  const rmem::replica_set first = wait_for_chain(one, 1);
  const capability mine = one.allocate(2 * mebibyte, 3);
  std::atomic<bool> ends = false;
  std::uint64_t counted = 0;
  std::jthread works{[&] {
    client other{names.endpoint(), packages()};
    while (!ends) EXPECT_EQ(other.fetch_add(mine, 8, 1), counted++);
  }};
  expect_refused(errc::access_denied, [&] { one.drain(first.endpoints[0]); }, "operators only");
  expect_refused(errc::bad_argument, [&] { operates.drain("127.0.0.1:1"); }, "no server of replicas");
  all.add(spare_of(names));
  operates.drain(first.endpoints[0]);
  while (wait_for_chain(one, 1).endpoints == first.endpoints) std::this_thread::sleep_for(5ms);
  std::this_thread::sleep_for(50ms);
  ends = true;
  works.join();
  EXPECT_EQ(one.fetch_add(mine, 8, 0), counted);
  EXPECT_GT(counted, 0U);
}

TEST(rmem_replicas, a_name_server_that_is_started_anew_hears_of_the_chain) {
  std::optional<running_server> names{std::in_place, std::uint64_t{0}};
  auto same = options_of(0);
  same.listen = {names->endpoint()};
  servers all;
  for (int i = 0; i < 2; ++i) all.add(replica_of(*names, 2));
  client one{names->endpoint(), packages()};
  const rmem::replica_set before = wait_for_chain(one, 2);
  const capability mine = one.allocate(64, 3);
  EXPECT_EQ(one.fetch_add(mine, 0, 5), 0U);
  names->stop();
  names.emplace(same);
  EXPECT_EQ(one.fetch_add(mine, 0, 5), 5U);  // for a moment nobody serves
  const rmem::replica_set after = wait_for_chain(one, 2, before.epoch - 1);
  EXPECT_EQ(after.endpoints, before.endpoints);
  all.end(before.endpoints[0]);
  EXPECT_EQ(one.fetch_add(mine, 0, 5), 10U);
}

TEST(rmem_replicas, options_outside_their_domain_are_refused) {
  running_server names{0};
  const auto refused = [&](const auto& change, const char* words) {
    auto options = replica_of(names, 2);
    change(options);
    expect_refused(errc::bad_argument, [&] { rmem::server{options}; }, words);
  };
  refused([](auto& o) { o.replicas = 4; }, "3 servers at most");
  refused([](auto& o) { o.names.clear(); }, "name server");
  refused([](auto& o) { o.is_spare = true; }, "spare");
  refused([](auto& o) { o.lease = 1ms; }, "lease");
}

}  // namespace
