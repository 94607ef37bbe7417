// Memory that a server on this host passes: by whom, what can be done with it, and that its end harms nobody.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "rmem/memory_table.h"
#include "rmem/servers.h"

using namespace situ_rmem_test;
using situ::rmem::detail::memory_table;
using situ::rmem::detail::status;

namespace {

rmem::server_options at_socket_and_port(const char* name) {
  auto made = options_of(8 * mebibyte);
  made.listen = {"unix:" + testing::TempDir() + "situ-rmem-" + name + "-" + std::to_string(::getpid()), "127.0.0.1:0"};
  return made;
}

class rmem_mapped : public testing::Test {
 protected:
  running_server server{at_socket_and_port("mapped")};
  client owner{server.endpoint(), packages()};
  client other{server.endpoint(), graphs()};
  const capability whole = owner.allocate(mebibyte, 0, rmem::lifetime::connection);
};

TEST_F(rmem_mapped, loads_and_stores_are_reads_and_writes_of_all_others) {
  const capability part = owner.grant(whole, 8192, 8192, rights::read | rights::write | rights::atomic);
  const std::optional<rmem::mapped_region> here = owner.map(whole);
  ASSERT_TRUE(here);
  ASSERT_EQ(here->bytes().size(), mebibyte);
  const auto written = pattern(8192);
  std::copy(written.begin(), written.end(), here->bytes().begin() + 8192);
  std::vector<std::byte> got(8192);
  other.read(part, 0, got);
  EXPECT_EQ(got, written);
  const auto other_ones = pattern(64, 2);
  other.write(part, 64, other_ones);
  EXPECT_TRUE(std::equal(other_ones.begin(), other_ones.end(), here->bytes().begin() + 8192 + 64));
  owner.check(*here);
  const rmem::statistics counted = server.counted();
  EXPECT_EQ(counted.reads, 1U);  // the other one's
  EXPECT_EQ(counted.writes, 1U);
}

TEST_F(rmem_mapped, it_is_for_the_connection_that_allocated_and_once) {
  const auto denied = [](client& by, const capability& with) {
    expect_refused(errc::access_denied, [&] { (void)by.map(with); });
  };
  const capability reader = owner.grant(whole, 0, mebibyte, rights::read);
  const capability all = owner.grant(whole, 0, mebibyte, rights::all);
  const capability kept = owner.allocate(4096);
  client same{server.endpoint(), packages()};
  for (client* const each : {&owner, &same, &other}) {
    denied(*each, reader);
    denied(*each, all);
    denied(*each, kept);
  }
  denied(same, whole);
  denied(other, whole);
  capability forged = whole;
  forged.secret[3] ^= std::byte{1};
  denied(owner, forged);
  EXPECT_TRUE(owner.map(whole));
  denied(owner, whole);
  EXPECT_EQ(server.counted().denied, 13U);
}

TEST_F(rmem_mapped, over_tcp_there_are_messages) {
  client far{server.endpoint(1), packages()};
  const capability mine = far.allocate(4096, 0, rmem::lifetime::connection);
  EXPECT_FALSE(far.map(mine));
  far.write(mine, 0, pattern(64));
}

TEST_F(rmem_mapped, others_neither_free_it_nor_revoke_its_first_capability) {
  client same{server.endpoint(), packages()};
  const capability part = owner.grant(whole, 0, 64, rights::all);
  const std::optional<rmem::mapped_region> here = owner.map(whole);
  ASSERT_TRUE(here);
  expect_refused(errc::access_denied, [&] { same.free(whole); }, "another client has the region's memory");
  expect_refused(errc::access_denied, [&] { same.revoke(whole); }, "another client has the region's memory");
  other.write(part, 0, pattern(64));
  same.revoke(part);
  expect_refused(errc::access_denied, [&] { other.write(part, 0, pattern(64)); });
  owner.check(*here);
}

TEST_F(rmem_mapped, what_has_ended_is_no_part_of_another_region_and_counts_until_it_is_unmapped) {
  std::optional<rmem::mapped_region> here = owner.map(whole);
  ASSERT_TRUE(here);
  const std::span<std::byte> bytes = here->bytes();
  std::fill(bytes.begin(), bytes.end(), std::byte{7});
  owner.free(whole);
  EXPECT_EQ(owner.server_statistics().used_bytes, mebibyte);
  const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
  const capability next = other.allocate(mebibyte);
  std::fill(bytes.begin(), bytes.end(), std::byte{9});
  std::vector<std::byte> got(mebibyte);
  other.read(next, 0, got);
  EXPECT_TRUE(std::all_of(got.begin(), got.end(), is_zero));
  expect_refused(errc::out_of_memory, [&] { (void)owner.allocate(7 * mebibyte); });
  here.reset();
  EXPECT_EQ(owner.server_statistics().used_bytes, mebibyte);
  (void)owner.allocate(7 * mebibyte);
}

TEST_F(rmem_mapped, it_ends_with_the_connection) {
  std::optional<client> gone{std::in_place, server.endpoint(), packages()};
  const capability its = gone->allocate(mebibyte, 0, rmem::lifetime::connection);
  std::optional<rmem::mapped_region> here = gone->map(its);
  ASSERT_TRUE(here);
  here->bytes()[0] = std::byte{7};
  gone.reset();
  for (int i = 0; i < 2000 && owner.server_statistics().regions != 1; ++i) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(owner.server_statistics().regions, 1U);
  EXPECT_EQ(owner.server_statistics().used_bytes, 2 * mebibyte);
  EXPECT_EQ(here->bytes()[0], std::byte{7});
  here.reset();
  EXPECT_EQ(owner.server_statistics().used_bytes, mebibyte);
}

TEST_F(rmem_mapped, a_server_that_is_gone_is_told) {
  const std::optional<rmem::mapped_region> here = owner.map(whole);
  ASSERT_TRUE(here);
  owner.check(*here);
  server.stop();
  expect_refused(errc::link_lost, [&] { owner.check(*here); }, server.endpoint());
}

TEST(rmem_passed_file, can_be_neither_resized_nor_sealed_nor_kept_uncounted) {
  memory_table table{0, mebibyte, {}};
  capability whole;
  ASSERT_TRUE(table.allocate(65536, 1, 5, whole).is_ok());
  int file = -1;
  EXPECT_EQ(table.pass(1, 6, whole.number, whole.secret, file).status, status::denied);
  EXPECT_EQ(table.pass(2, 5, whole.number, whole.secret, file).status, status::denied);
  ASSERT_TRUE(table.pass(1, 5, whole.number, whole.secret, file).is_ok());
  EXPECT_EQ(table.holder_at(whole.address), 5U);
  EXPECT_EQ(table.holder_by(whole.number, whole.secret), 5U);
  EXPECT_NE(::ftruncate(file, 0), 0);
  EXPECT_NE(::ftruncate(file, 131072), 0);
  for (const int seal : {F_SEAL_FUTURE_WRITE, F_SEAL_WRITE}) EXPECT_NE(::fcntl(file, F_ADD_SEALS, seal), 0);
  const int kept = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  table.free(whole.address);
  EXPECT_EQ(table.used_bytes(), 65536U);
  ::close(kept);
  table.collect();
  EXPECT_EQ(table.used_bytes(), 0U);
}

}  // namespace
