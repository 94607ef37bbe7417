// A name server and several servers of memory.
#include "rmem/servers.h"

#include <optional>

using namespace situ_rmem_test;

namespace {

rmem::server_options named(const running_server& names, std::uint32_t index, std::uint64_t capacity) {
  auto made = options_of(capacity, index);
  made.names = names.endpoint();
  return made;
}

void wait_for_names(client& by, std::size_t count) {
  while (by.list_names().size() != count) std::this_thread::sleep_for(2ms);
}

TEST(rmem_names, servers_are_found_by_the_top_bits_of_addresses) {
  running_server names{0};
  running_server first{named(names, 0, mebibyte)};
  running_server last{named(names, 255, 2 * mebibyte)};
  client one{names.endpoint(), packages()};
  wait_for_names(one, 2);
  const capability low = one.allocate(8192, 0);
  const capability high = one.allocate(8192, 255);
  EXPECT_EQ(low.address >> 56, 0U);
  EXPECT_EQ(high.address >> 56, 255U);
  client other{names.endpoint(), graphs()};
  for (const capability& each : {low, high}) {
    const std::vector<std::byte> sent = pattern(8192, static_cast<unsigned>(each.address >> 56));
    one.write(each, 0, sent);
    std::vector<std::byte> got(8192);
    other.read(capability::parse(each.to_text()), 0, got);
    EXPECT_EQ(got, sent);
  }
  EXPECT_EQ(one.server_statistics(0).regions, 1U);
  EXPECT_EQ(one.server_statistics(255).regions, 1U);
  EXPECT_EQ(one.list_regions(255)[0].address, high.address);
  EXPECT_EQ(first.counted().writes, 1U);
  EXPECT_EQ(last.counted().writes, 1U);
}

TEST(rmem_names, allocations_take_turns_and_go_where_there_is_room) {
  running_server names{0};
  running_server small{named(names, 1, mebibyte)};
  running_server large{named(names, 2, 8 * mebibyte)};
  client one{names.endpoint(), packages()};
  wait_for_names(one, 2);
  std::size_t at_small = 0;
  for (int i = 0; i < 9; ++i) at_small += one.allocate(mebibyte).address >> 56 == 1;
  EXPECT_EQ(at_small, 1U);
  expect_refused(errc::out_of_memory, [&] { (void)one.allocate(mebibyte); }, "remote memory is full");
}

TEST(rmem_names, without_servers_there_is_no_memory) {
  running_server names{0};
  client one{names.endpoint(), packages()};
  expect_refused(errc::out_of_memory, [&] { (void)one.allocate(1); }, "no server that has memory");
  expect_refused(errc::bad_argument, [&] { (void)one.allocate(1, 3); }, "nobody has linked that name");
}

TEST(rmem_names, a_stale_name_is_resolved_anew) {
  running_server names{0};
  std::optional<running_server> memory{std::in_place, named(names, 7, mebibyte)};
  client one{names.endpoint(), packages()};
  wait_for_names(one, 1);
  const capability before = one.allocate(64);
  EXPECT_EQ(one.fetch_add(before, 0, 5), 0U);
  // It moves to another port; what held its old one is another server by now.
  auto elsewhere = options_of(mebibyte, 8);
  elsewhere.listen = {memory->endpoint()};
  memory.emplace(named(names, 7, mebibyte));
  running_server other{elsewhere};
  // Between the end of its old connection and its new one nobody has the name.
  const auto is_found = [&] {
    const auto all = one.list_names();
    return all.size() == 1 && all[0].endpoint == memory->endpoint();
  };
  while (!is_found()) std::this_thread::sleep_for(2ms);
  const capability after = one.allocate(64, 7);
  EXPECT_EQ(one.fetch_add(after, 0, 5), 0U);
  expect_refused(errc::access_denied, [&] { one.fetch_add(before, 0, 1); });  // its region has gone with the server
}

TEST(rmem_names, a_name_server_may_be_started_anew) {
  std::optional<running_server> names{std::in_place, std::uint64_t{0}};
  auto same = options_of(0);
  same.listen = {names->endpoint()};
  running_server memory{named(*names, 3, mebibyte)};
  client one{names->endpoint(), packages()};
  wait_for_names(one, 1);
  const capability mine = one.allocate(64);
  names->stop();
  one.fetch_add(mine, 0, 1);  // needs no name any more
  names.emplace(same);
  wait_for_names(one, 1);
  EXPECT_EQ(one.fetch_add(mine, 0, 1), 1U);
}

TEST(rmem_names, names_are_of_the_connection_that_linked_them) {
  running_server names{0};
  client one{names.endpoint(), packages()};
  {
    client other{names.endpoint(), graphs()};
    other.link_name("graph.root", "somewhere");
    EXPECT_EQ(one.resolve_name("graph.root"), "somewhere");
    other.link_name("graph.root", "elsewhere");
    EXPECT_EQ(one.list_names()[0].endpoint, "elsewhere");
    expect_refused(errc::access_denied, [&] { one.link_name("graph.root", "mine"); }, "graphs has linked graph.root");
    expect_refused(errc::access_denied, [&] { one.unlink_name("graph.root"); });
    expect_refused(errc::access_denied, [&] { other.link_name("rmem.1", "mine"); }, "operators only");
    for (const std::string& bad : {std::string{}, std::string{"a b"}, std::string(48, 'x'), std::string{"\x01"}}) {
      expect_refused(errc::bad_argument, [&] { other.link_name(bad, "x"); });
      expect_refused(errc::bad_argument, [&] { (void)other.resolve_name(bad); });
    }
    other.link_name("gone", "x");
    other.unlink_name("gone");
    expect_refused(errc::bad_argument, [&] { (void)one.resolve_name("gone"); }, "nobody has linked");
  }
  wait_for_names(one, 0);
  client other{names.endpoint(), cluster()};
  for (int i = 0; i < 64; ++i) one.link_name("n" + std::to_string(i), "x");
  expect_refused(errc::out_of_memory, [&] { one.link_name("n64", "x"); }, "64");
  for (int i = 0; i < 64; ++i) other.link_name("m" + std::to_string(i), "x");
  EXPECT_EQ(one.list_names().size(), 128U);  // in several answers
}

TEST(rmem_names, options_outside_their_domain_are_refused) {
  const auto refused = [](errc code, const auto& change) {
    auto options = options_of(mebibyte);
    change(options);
    expect_refused(code, [&] { rmem::server{options}; });
  };
  refused(errc::bad_argument, [](auto& o) { o.listen.clear(); });
  refused(errc::bad_argument, [](auto& o) { o.index = 256; });
  refused(errc::bad_argument, [](auto& o) { o.keys.clear(); });
  refused(errc::bad_argument, [](auto& o) { o.keys.back().is_operator = false, o.names = "127.0.0.1:1"; });
  refused(errc::bad_argument, [](auto& o) { o.listen = {"0.0.0.0:0"}, o.names = "127.0.0.1:1"; });
  refused(errc::out_of_memory, [](auto& o) { o.capacity_bytes = std::uint64_t{1} << 60; });
  refused(errc::bad_launch, [](auto& o) { o.listen = {"unix:/no/such/folder/socket"}; });
}

}  // namespace
