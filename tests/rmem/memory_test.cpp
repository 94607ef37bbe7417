// Regions, bytes and atomics through a real server.
#include "rmem/servers.h"

#include <algorithm>

using namespace situ_rmem_test;

namespace {

TEST(rmem_memory, what_is_written_is_read) {
  running_server server{8 * mebibyte};
  client one{server.endpoint(), packages()};
  const capability mine = one.allocate(100'000);
  EXPECT_EQ(mine.bytes, 100'000U);
  EXPECT_TRUE(includes(mine.may, rights::all));
  std::vector<std::byte> got(100'000, std::byte{1});
  one.read(mine, 0, got);
  EXPECT_EQ(got, std::vector<std::byte>(100'000));
  const std::vector<std::byte> sent = pattern(5000);
  one.write(mine, 777, sent);
  got.resize(5000);
  one.read(mine, 777, got);
  EXPECT_EQ(got, sent);
  one.free(mine);
  expect_refused(errc::access_denied, [&] { one.read(mine, 0, got); });
  const rmem::statistics counted = server.counted();
  EXPECT_EQ(counted.used_bytes, 0U);
  EXPECT_EQ(counted.capabilities, 0U);
  EXPECT_EQ(counted.allocations, 1U);
  EXPECT_EQ(counted.frees, 1U);
  EXPECT_EQ(counted.written_bytes, 5000U);
  EXPECT_EQ(counted.denied, 1U);
}

class rmem_sizes : public testing::TestWithParam<bool> {};
TEST_P(rmem_sizes, of_all_lengths_arrive) {
  running_server server{64 * mebibyte};
  client one{server.endpoint(), packages(), {.two_steps = GetParam()}};
  const capability mine = one.allocate(40 * mebibyte);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4095}, std::size_t{4096},
                                  std::size_t{4097}, std::size_t{16500}, std::size_t{262'144}, std::size_t{262'145},
                                  std::size_t{1'000'003}, std::size_t{33 * mebibyte + 5}}) {
    SCOPED_TRACE(bytes);
    const std::vector<std::byte> sent = pattern(bytes, static_cast<unsigned>(bytes) + 1);
    one.write(mine, 3, sent);
    std::vector<std::byte> got(bytes + 2);
    one.read(mine, 2, got);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin() + 1));
  }
}
INSTANTIATE_TEST_SUITE_P(steps, rmem_sizes, testing::Bool(),
                         [](const auto& info) { return info.param ? "two_steps" : "one_step"; });

TEST(rmem_memory, parts_are_scattered_and_gathered) {
  running_server server{16 * mebibyte};
  client one{server.endpoint(), packages()};
  const capability mine = one.allocate(8 * mebibyte);
  std::vector<rmem::remote_part> parts;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < 2500; ++i) {  // more than a request takes, short ones and a few long ones
    parts.push_back({i * 3000, i % 500 == 7 ? 100'000 : i % 7 * 40});
    bytes += parts.back().bytes;
  }
  for (std::uint64_t i = 7; i < 2500; i += 500)  // nothing else lies where the long ones do
    for (std::uint64_t j = i + 1; j < i + 34; ++j) bytes -= std::exchange(parts[j].bytes, 0);
  const std::vector<std::byte> sent = pattern(bytes);
  one.scatter(mine, parts, sent);
  std::vector<std::byte> got(bytes);
  one.gather(mine, parts, got);
  EXPECT_EQ(got, sent);
  std::vector<std::byte> whole(8 * mebibyte);
  one.read(mine, 0, whole);
  std::size_t at = 0;
  for (const auto& each : parts) {
    EXPECT_TRUE(std::equal(sent.begin() + static_cast<std::ptrdiff_t>(at),
                           sent.begin() + static_cast<std::ptrdiff_t>(at + each.bytes),
                           whole.begin() + static_cast<std::ptrdiff_t>(each.offset)));
    at += each.bytes;
  }
  // All are checked before any is touched.
  expect_refused(errc::bad_argument, [&] { one.gather(mine, parts, std::span{got}.first(bytes - 1)); });
  const std::vector<rmem::remote_part> beyond{{0, 8}, {8 * mebibyte - 4, 8}};
  expect_refused(errc::access_denied, [&] { one.scatter(mine, beyond, std::span{sent}.first(16)); });
  capability wide = mine;
  wide.bytes += 4096;  // what the holder believes is of no weight
  expect_refused(errc::access_denied, [&] { one.scatter(wide, beyond, std::span{sent}.first(16)); });
  std::vector<std::byte> begin(8);
  one.read(mine, 0, begin);
  EXPECT_EQ(std::memcmp(begin.data(), whole.data(), 8), 0);
}

TEST(rmem_memory, atomics_lose_no_update) {
  running_server server{mebibyte};
  client one{server.endpoint(), packages()};
  const capability word = one.allocate(64);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      client mine{server.endpoint(), packages()};
      for (int i = 0; i < 200; ++i) {
        mine.fetch_add(word, 8, 3);
        for (std::uint64_t seen = 0;;) {
          const std::uint64_t before = mine.compare_swap(word, 16, seen, seen + 1);
          if (before == seen) break;
          seen = before;
        }
      }
    });
  threads.clear();
  EXPECT_EQ(one.fetch_add(word, 8, 0), 1800U);
  EXPECT_EQ(one.fetch_add(word, 16, 0), 600U);
  expect_refused(errc::misaligned, [&] { one.fetch_add(word, 4, 1); });
  expect_refused(errc::access_denied, [&] { one.fetch_add(word, 64, 1); });
}

TEST(rmem_memory, full_is_told_with_figures) {
  running_server server{mebibyte};
  client one{server.endpoint(), packages()};
  const capability most = one.allocate(mebibyte - 8192);
  expect_refused(
      errc::out_of_memory, [&] { (void)one.allocate(16384); },
      "server 0 has 1 MiB, of which 1016 KiB are taken (1016 KiB of them by this application, in 1 regions "
      "altogether), and 16 KiB were asked for");
  expect_refused(errc::out_of_memory, [&] { (void)one.allocate(~std::uint64_t{0}); });
  expect_refused(errc::bad_argument, [&] { (void)one.allocate(0); });
  (void)one.allocate(8192);
  expect_refused(errc::out_of_memory, [&] { (void)one.allocate(1); });
  one.free(most);
  (void)one.allocate(mebibyte - 8192);
  EXPECT_EQ(server.counted().full, 3U);
}

TEST(rmem_memory, freed_bytes_are_shown_to_nobody) {
  running_server server{mebibyte};
  client one{server.endpoint(), packages()};
  std::vector<std::byte> bytes = pattern(mebibyte);
  for (int i = 0; i < 3; ++i) {
    const capability all = one.allocate(mebibyte);
    std::vector<std::byte> got(mebibyte, std::byte{7});
    one.read(all, 0, got);
    EXPECT_EQ(got, std::vector<std::byte>(mebibyte));
    one.write(all, 0, bytes);
    one.free(all);
  }
}

TEST(rmem_memory, a_region_may_end_with_its_client) {
  running_server server{mebibyte};
  client one{server.endpoint(), packages()};
  const capability kept = one.allocate(4096);
  {
    client other{server.endpoint(), packages()};
    const capability gone = other.allocate(8192, {}, rmem::lifetime::connection);
    EXPECT_EQ(one.list_regions().size(), 2U);
    one.write(gone, 0, pattern(8192));
  }
  while (one.list_regions().size() != 1) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(one.list_regions()[0].address, kept.address);
  EXPECT_EQ(one.server_statistics().used_bytes, 4096U);
}

TEST(rmem_memory, capabilities_are_text_that_is_read_again) {
  running_server server{mebibyte};
  client one{server.endpoint(), packages()};
  const capability mine = one.allocate(4096);
  const std::string text = mine.to_text();
  EXPECT_EQ(text.size(), 92U);
  EXPECT_EQ(capability::parse(text), mine);
  for (const std::string& bad : {std::string{}, text.substr(1), text.substr(0, 91), text + "0", "rmem" + text,
                                 std::string{text}.replace(9, 1, "g"), std::string{text}.replace(9, 1, "-")})
    expect_refused(errc::bad_argument, [&] { (void)capability::parse(bad); });
  EXPECT_EQ(mine.part(96, 4000).address, mine.address + 96);
  expect_refused(errc::bad_argument, [&] { (void)mine.part(97, 4000); });
}

TEST(rmem_memory, over_a_unix_socket_as_well) {
  const std::string path = testing::TempDir() + "situ-rmem-" + std::to_string(::getpid());
  {
    auto options = options_of(mebibyte);
    options.listen = {"unix:" + path, "127.0.0.1:0"};
    running_server server{options};
    client here{server.endpoint(0), packages()};
    client there{server.endpoint(1), packages()};
    const capability mine = here.allocate(600'000);
    const std::vector<std::byte> sent = pattern(600'000);
    here.write(mine, 0, sent);
    std::vector<std::byte> got(600'000);
    there.read(mine, 0, got);
    EXPECT_EQ(got, sent);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

}  // namespace
