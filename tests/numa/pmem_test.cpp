// Persistent memory that has become node 4 (pmem_node.sh), as plain capacity in an ordering; on the kernel with ordered
// policies also as a listed node that goes and comes back.

#include <situ/machine/orderings.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "ordered_policy.h"

namespace {

using namespace situ;
using namespace situ::guest_support;
using ::testing::HasSubstr;

bool has_pmem_node() { return memory_of(4).total != 0; }

TEST_F(guest, persistent_memory_takes_what_spills) {
  if (!has_pmem_node()) GTEST_SKIP() << "node 4 has no memory: no persistent memory was asked for";
  order("[[ordering]]\nintent = \"capacity\"\nmemories = \"2, 4\"\n");
  holder one{320 * mib, &intent::capacity};
  const told where = one.listen();
  EXPECT_EQ(where.error, "");
  EXPECT_EQ(where.sum(), 320 * mib);
  expect_filled({2});
  EXPECT_GT(where.bytes.at(4), 60 * mib);
  EXPECT_EQ(one.end(), 0);
}

// A memory that is far from who asks: what is slow, as seen from node 0.
TEST_F(guest, a_remote_node_is_the_slow_tier) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 3\"\nfill = 40\n");
  holder one{200 * mib, &intent::bandwidth};
  const told where = one.listen();
  EXPECT_EQ(where.error, "");
  expect_filled({2}, 40);
  EXPECT_NEAR(static_cast<double>(where.bytes.at(2) + where.bytes.at(3)), 200.0 * mib, 0);
  EXPECT_EQ(one.end(), 0);
}

void set_blocks_of_node_4(const char* state) {
  for (const auto& entry : std::filesystem::directory_iterator{"/sys/devices/system/node/node4"})
    if (entry.path().filename().string().starts_with("memory") && std::filesystem::exists(entry.path() / "state"))
      write_line(entry.path() / "state", state);
}

TEST_F(ordered_policy, a_listed_node_may_go_and_come_back) {
  if (!has_pmem_node()) GTEST_SKIP() << "node 4 has no memory: no persistent memory was asked for";
  EXPECT_THAT(read_line(list_file(0, "capacity_order")), HasSubstr("4")) << "a node that came is in the default lists";
  write_list("bandwidth", "4 0");
  const auto on_node_4 = [] {
    std::byte* const at = map_memory(16 * mib);
    EXPECT_EQ(bind_policy(at, 16 * mib, order_bandwidth | order_strict), 0);
    touch_all(at, 16 * mib);
    const std::uint64_t bytes = ask_nodes(at, 16 * mib)[4];
    ::munmap(at, 16 * mib);
    return bytes;
  };
  EXPECT_EQ(on_node_4(), 16 * mib);
  set_blocks_of_node_4("offline");
  ASSERT_FALSE(has_pmem_node());
  EXPECT_EQ(on_node_4(), 0u);
  EXPECT_EQ(read_line(list_file(0, "bandwidth_order")), "4 0");
  EXPECT_EQ(read_line(list_file(0, "capacity_order")).find('4'), std::string::npos) << "default lists follow the nodes";
  set_blocks_of_node_4("online_movable");
  ASSERT_TRUE(has_pmem_node());
  EXPECT_EQ(on_node_4(), 16 * mib);
}

}  // namespace
