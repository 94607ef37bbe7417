// What must not be had: every try is denied, counted, and the server goes on.
#include "rmem/servers.h"

#include <random>

using namespace situ_rmem_test;

namespace {

// Each operation on 8 bytes, by name; which right it takes.
struct operation_try {
  const char* name;
  rights needs;
  void (*run)(client&, const capability&);
};
constexpr operation_try operations[] = {
    {"read", rights::read,
     [](client& by, const capability& on) {
       std::byte to[8];
       by.read(on, 0, to);
     }},
    {"gather", rights::read,
     [](client& by, const capability& on) {
       std::byte to[8];
       const rmem::remote_part parts[] = {{4, 4}, {0, 4}};
       by.gather(on, parts, to);
     }},
    {"write", rights::write,
     [](client& by, const capability& on) {
       const std::byte from[8]{};
       by.write(on, 0, from);
     }},
    {"scatter", rights::write,
     [](client& by, const capability& on) {
       const std::byte from[8]{};
       const rmem::remote_part parts[] = {{4, 4}, {0, 4}};
       by.scatter(on, parts, from);
     }},
    {"fetch_add", rights::atomic, [](client& by, const capability& on) { by.fetch_add(on, 0, 1); }},
    {"compare_swap", rights::atomic, [](client& by, const capability& on) { by.compare_swap(on, 0, 0, 0); }},
    {"grant", rights::read | rights::grant,
     [](client& by, const capability& on) { (void)by.grant(on, 0, 8, rights::read); }},
};

// All operations, each with one capability.
void expect_all_denied(client& by, const capability& on) {
  for (const operation_try& each : operations) {
    SCOPED_TRACE(each.name);
    expect_refused(errc::access_denied, [&] { each.run(by, on); });
  }
}

class rmem_access : public testing::Test {
 protected:
  running_server server{4 * mebibyte};
  client owner{server.endpoint(), packages()};
  client other{server.endpoint(), graphs()};
  const capability mine = owner.allocate(8192);
};

TEST_F(rmem_access, forged_capabilities_are_denied) {
  std::mt19937_64 random{7};
  for (int i = 0; i < 200; ++i) {
    capability forged = mine;
    switch (i % 4) {
      case 0: forged.secret[random() % 16] ^= std::byte(1U << random() % 8); break;
      case 1: forged.number ^= std::uint64_t{1} << random() % 64; break;
      case 2: forged.number = random(); break;
      case 3: forged = {.address = mine.address, .bytes = 8, .may = rights::all}; break;
    }
    const operation_try& tried = operations[static_cast<std::size_t>(i) % std::size(operations)];
    SCOPED_TRACE(tried.name);
    expect_refused(errc::access_denied, [&] { tried.run(other, forged); });
    expect_refused(errc::access_denied, [&] { other.revoke(forged); });
  }
  EXPECT_EQ(server.counted().denied, 400U);
}

TEST_F(rmem_access, a_range_is_held_to_at_the_server) {
  const capability next = owner.allocate(4096);  // so that what is beyond is there
  for (const std::uint64_t at :
       {mine.address - 1, mine.address - 8, mine.address + 8185, mine.address + 8192, mine.address + 12288,
        next.address, std::uint64_t{0}, std::uint64_t{8}, (std::uint64_t{1} << 56) - 8}) {
    SCOPED_TRACE(at);
    capability wide = mine;
    wide.address = at & ~std::uint64_t{7};
    wide.bytes = ~std::uint64_t{0};
    if (wide.address == mine.address + 8184) wide.address += 8;  // the last word is its own
    expect_all_denied(owner, wide);
  }
  // Lengths that would wrap around.
  capability wide = mine;
  wide.bytes = ~std::uint64_t{0};
  std::vector<std::byte> some(64);
  expect_refused(errc::access_denied, [&] { owner.read(wide, ~std::uint64_t{0} - 63, some); });
  expect_refused(errc::access_denied, [&] { (void)owner.grant(wide, 8, ~std::uint64_t{0} - 8, rights::read); });
}

TEST_F(rmem_access, rights_are_each_for_their_operations) {
  for (unsigned may = 1; may < 16; ++may) {
    const auto given = static_cast<rights>(may);
    const capability part = owner.grant(mine, 8, 8, given);
    EXPECT_EQ(part.address, mine.address + 8);
    for (const operation_try& each : operations) {
      SCOPED_TRACE(text_of(given) + " to " + each.name);
      if (includes(given, each.needs)) {
        each.run(other, part);
      } else {
        expect_refused(errc::access_denied, [&] { each.run(other, part); });
      }
    }
  }
  expect_refused(errc::bad_argument, [&] { (void)owner.grant(mine, 0, 8, rights::none); });
  expect_refused(errc::bad_argument, [&] { (void)owner.grant(mine, 0, 8, static_cast<rights>(16)); });
}

TEST_F(rmem_access, what_is_granted_is_never_more) {
  const capability some = owner.grant(mine, 4096, 64, rights::read | rights::grant);
  const capability less = other.grant(some, 8, 8, rights::read);
  std::byte to[8];
  other.read(less, 0, to);
  expect_refused(errc::access_denied, [&] { (void)other.grant(some, 0, 8, rights::read | rights::write); });
  expect_refused(errc::access_denied, [&] { (void)other.grant(less, 0, 8, rights::read); });
  capability wide = some;
  wide.bytes = 8192;
  expect_refused(errc::access_denied, [&] { (void)other.grant(wide, 0, 65, rights::read); });
}

TEST_F(rmem_access, what_is_granted_to_one_application_is_for_it_alone) {
  const capability for_graphs = owner.grant(mine, 0, 64, rights::all, "graphs");
  for (const operation_try& each : operations) each.run(other, for_graphs);
  expect_all_denied(owner, for_graphs);
  client third{server.endpoint(), cluster()};
  expect_all_denied(third, for_graphs);
  expect_refused(errc::bad_argument, [&] { (void)owner.grant(mine, 0, 8, rights::read, "nobody"); });
}

TEST_F(rmem_access, what_is_revoked_ends_with_all_that_was_made_from_it) {
  const capability child = owner.grant(mine, 0, 64, rights::all);
  const capability grandchild = other.grant(child, 0, 32, rights::all);
  const capability sibling = owner.grant(mine, 0, 64, rights::all);
  client third{server.endpoint(), cluster()};
  expect_refused(errc::access_denied, [&] { third.revoke(grandchild); });  // neither made it nor owns it
  expect_refused(errc::access_denied, [&] { other.revoke(child); });
  for (const operation_try& each : operations) each.run(third, grandchild);
  owner.revoke(child);
  expect_all_denied(third, grandchild);
  expect_all_denied(other, child);
  expect_refused(errc::access_denied, [&] { owner.revoke(child); });
  for (const operation_try& each : operations) each.run(third, sibling);
  other.revoke(other.grant(sibling, 0, 8, rights::read));  // who made one may
  owner.revoke(mine);
  expect_all_denied(third, sibling);
  expect_all_denied(owner, mine);
  owner.free(mine);
  EXPECT_EQ(owner.server_statistics().capabilities, 0U);
}

TEST_F(rmem_access, slots_that_are_used_again_open_nothing) {
  std::vector<capability> ended;
  for (int i = 0; i < 300; ++i) {
    ended.push_back(owner.grant(mine, 0, 8, rights::all));
    owner.revoke(ended.back());
  }
  const capability now = owner.grant(mine, 0, 8, rights::all);
  for (const capability& each : ended) {
    expect_refused(errc::access_denied, [&] { owner.fetch_add(each, 0, 1); });
    capability mixed = each;
    mixed.number = now.number;
    expect_refused(errc::access_denied, [&] { owner.fetch_add(mixed, 0, 1); });
  }
  EXPECT_EQ(owner.fetch_add(now, 0, 0), 0U);
}

TEST_F(rmem_access, regions_of_others_are_neither_freed_nor_seen) {
  expect_refused(errc::access_denied, [&] { other.free(mine); });
  expect_refused(errc::access_denied, [&] { owner.free(mine.address + 4096); });
  expect_refused(errc::access_denied, [&] { owner.free(std::uint64_t{4096} * 999); });
  EXPECT_TRUE(other.list_regions().empty());
  client all{server.endpoint(), cluster()};
  ASSERT_EQ(all.list_regions().size(), 1U);
  EXPECT_EQ(all.list_regions()[0].owner, "packages");
  expect_refused(errc::access_denied, [&] { all.free(mine); });
  EXPECT_EQ(owner.list_regions()[0].capabilities, 1U);
}

TEST_F(rmem_access, capabilities_and_regions_are_bounded) {
  for (int i = 1; i < 4096; ++i) (void)owner.grant(mine, 0, 8, rights::read);
  expect_refused(errc::out_of_memory, [&] { (void)owner.grant(mine, 0, 8, rights::read); }, "4096");
  owner.free(mine);
  EXPECT_EQ(owner.server_statistics().capabilities, 0U);
  std::vector<std::uint64_t> addresses;
  while (addresses.size() < 1024) addresses.push_back(owner.allocate(1).address);
  EXPECT_EQ(owner.list_regions().size(), 1024U);  // in several answers
  expect_refused(errc::out_of_memory, [&] { (void)owner.allocate(1); });
  for (const std::uint64_t each : addresses) owner.free(each);
  EXPECT_EQ(owner.server_statistics().used_bytes, 0U);
}

TEST(rmem_login, wrong_keys_and_unknown_applications_are_refused_alike) {
  running_server server{mebibyte};
  rmem::application_key wrong = packages();
  wrong.key[31] ^= std::byte{1};
  std::string told[2];
  const rmem::application_key tried[] = {wrong, rmem::application_key::generate("nobodys")};
  for (int i = 0; i < 2; ++i) {
    try {
      const client refused{server.endpoint(), tried[i]};
      ADD_FAILURE();
    } catch (const situ::error& why) {
      EXPECT_EQ(why.code(), errc::access_denied);
      told[i] = why.what();
    }
  }
  EXPECT_EQ(told[0].substr(0, told[0].rfind(' ')), told[1].substr(0, told[1].rfind(' ')));
  const client accepted{server.endpoint(), packages()};
  EXPECT_EQ(server.counted().refused_logins, 2U);
}

TEST(rmem_login, a_server_without_the_key_is_not_believed) {
  auto options = options_of(mebibyte);
  options.keys[0].key[0] ^= std::byte{1};
  running_server server{options};
  expect_refused(errc::access_denied, [&] { const client refused{server.endpoint(), packages()}; });
}

}  // namespace
