// Chains of replicas: real servers in threads, real sockets. What is killed, frozen or drained while clients work.
#include "rmem/servers.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

using namespace situ_rmem_test;

namespace {

using clock_type = std::chrono::steady_clock;
constexpr auto patience = 20s;

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

TEST(rmem_replicas, a_lost_server_is_carried_on_for_and_replaced) {
  running_server names{0};
  std::vector<std::unique_ptr<running_server>> servers;
  for (int i = 0; i < 2; ++i) servers.push_back(std::make_unique<running_server>(replica_of(names, 2)));
  client one{names.endpoint(), packages()};
  wait_for_chain(one, 2);
  const capability mine = one.allocate(3 * mebibyte, 3);
  const std::vector<std::byte> sent = pattern(3 * mebibyte);
  one.write(mine, 0, sent);
  EXPECT_EQ(one.fetch_add(mine, 64, 5), *reinterpret_cast<const std::uint64_t*>(&sent[64]));
  const capability part = one.grant(mine, 0, 4096, rights::read);
  servers.push_back(std::make_unique<running_server>(spare_of(names)));
  const std::uint64_t word = one.fetch_add(mine, 64, 0);
  // Each of the first two goes, one after the other; what the second has left by then is the third's.
  for (int i = 0; i < 2; ++i) {
    const rmem::replica_set before = wait_for_chain(one, i == 0 ? 2 : 1);
    for (auto& each : servers)
      if (each != nullptr && each->endpoint() == before.endpoints[0]) each.reset();
    const auto begin = clock_type::now();
    EXPECT_EQ(one.fetch_add(mine, 64, 1), word + static_cast<std::uint64_t>(i));
    EXPECT_LT(clock_type::now() - begin, 5s);  // a second on a quiet machine
    if (i == 0) wait_for_chain(one, 2, before.epoch);
    if (i == 0) servers.push_back(nullptr);
    if (i == 0) break;
  }
  std::vector<std::byte> got = read_all(one, mine);
  std::vector<std::byte> expected = sent;
  const std::uint64_t now = word + 1;
  std::memcpy(&expected[64], &now, sizeof now);
  EXPECT_EQ(got, expected);
  // The one that took its place has everything, capabilities and all.
  const rmem::replica_set second = wait_for_chain(one, 2);
  for (auto& each : servers)
    if (each != nullptr && each->endpoint() == second.endpoints[0]) each.reset();
  EXPECT_EQ(read_all(one, mine), expected);
  EXPECT_EQ(read_all(one, part), std::vector(expected.begin(), expected.begin() + 4096));
  expect_refused(errc::access_denied, [&] { one.write(part, 0, std::span{sent}.first(8)); });
  one.revoke(part);
  expect_refused(errc::access_denied, [&] { read_all(one, part); });
  one.free(mine);
  expect_refused(errc::access_denied, [&] { one.fetch_add(mine, 64, 1); });
}

}  // namespace
