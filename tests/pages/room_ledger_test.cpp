// The rules by which every chooser of a memory counts its room.
#include "pages/room_ledger.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace situ::detail;
constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
constexpr std::uint64_t GiB = 1024 * MiB;

bool parse(std::string_view text, memory_use& use) {
  return parse_meminfo(text.data(), text.data() + text.size(), use);
}

TEST(room_ledger, a_node_keeps_its_last_64th_and_what_the_kernel_keeps) {
  EXPECT_EQ(kept_of_node(64 * MiB, 0), MiB);
  EXPECT_EQ(kept_of_node(64 * MiB, 3 * MiB), 3 * MiB) << "the larger of the two";
  EXPECT_EQ(kept_of_node(32 * GiB, 0), 512 * MiB);
  EXPECT_EQ(kept_of_node(64 * GiB, 0), 512 * MiB) << "at most";
  EXPECT_EQ(kept_of_node(0, MiB), MiB) << "it could not be read";
}

TEST(room_ledger, a_threshold_is_a_part_of_the_total_and_never_reaches_the_kept_bytes) {
  EXPECT_EQ(threshold_of(100 * MiB, 0.5, 10 * MiB), 50 * MiB);
  EXPECT_EQ(threshold_of(100 * MiB, 1.0, 10 * MiB), 90 * MiB);
  EXPECT_EQ(threshold_of(100 * MiB, 1.0), 100 * MiB) << "a budget keeps nothing";
  EXPECT_EQ(threshold_of(MiB, 0.5, 2 * MiB), 0u);
  EXPECT_EQ(difference(1, 2), 0u);
}

TEST(room_ledger, a_memory_that_was_left_needs_less_room_than_a_node_keeps) {
  EXPECT_EQ(room_to_return(64 * MiB), MiB);
  EXPECT_EQ(room_to_return(GiB), 16 * MiB);
  EXPECT_EQ(room_to_return(64 * GiB), 16 * MiB);
}

TEST(room_ledger, bytes_are_taken_up_to_the_limit) {
  std::atomic<std::uint64_t> used{10};
  EXPECT_EQ(take_bytes(used, 100, 50, 50), 50u);
  EXPECT_EQ(take_bytes(used, 100, 50, 50), 0u) << "all or nothing";
  EXPECT_EQ(used.load(), 60u);
  EXPECT_EQ(take_bytes(used, 100, 1, 50), 40u) << "as many as there are";
  EXPECT_EQ(take_bytes(used, 100, 1, 50), 0u);
  EXPECT_EQ(take_bytes(used, 90, 1, 50), 0u) << "more is used than the limit";
  EXPECT_EQ(used.load(), 100u);
}

TEST(room_ledger, takers_that_race_never_pass_the_limit) {
  constexpr std::uint64_t limit = 1000000;
  std::atomic<std::uint64_t> used{0};
  std::atomic<std::uint64_t> taken{0};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      while (const std::uint64_t got = take_bytes(used, limit, 1, 7 + i)) taken += got;
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(used.load(), limit);
  EXPECT_EQ(taken.load(), limit);
}

TEST(room_ledger, pages_of_files_are_not_in_use) {
  memory_use use;
  ASSERT_TRUE(
      parse("Node 1 MemTotal:       1000 kB\nNode 1 MemFree:         100 kB\nNode 1 Active:          900 kB\n"
            "Node 1 Active(anon):    600 kB\nNode 1 Active(file):     20 kB\nNode 1 Inactive(file):    3 kB\n",
            use));
  EXPECT_EQ(use.total_bytes, 1000u << 10);
  EXPECT_EQ(use.used_bytes, 877u << 10);
  ASSERT_TRUE(parse("MemTotal:           8 kB\nMemFree:            9 kB\nMemAvailable:       5 kB\n", use))
      << "/proc/meminfo; readings of two moments";
  EXPECT_EQ(use.total_bytes, 8u << 10);
  EXPECT_EQ(use.used_bytes, 0u);
}

TEST(room_ledger, a_text_without_the_total_or_the_free_memory_tells_nothing) {
  memory_use use{.total_bytes = 1, .used_bytes = 2};
  for (const std::string_view text :
       {"", "Node 0 MemTotal:   1000 kB\n", "Node 0 MemFree:   1000 kB\n", "MemTotal: 10 kB\nMemFree: 1",
        "MemTotal: 10 kB\nMemFree:", "MemTotal: 10 kB\nMemFree: x kB\n",
        "MemTotal: 10 kB\nMemFree: 99999999999999999999 kB\n"})
    EXPECT_FALSE(parse(text, use)) << text;
  EXPECT_EQ(use.total_bytes, 1u);
  EXPECT_EQ(use.used_bytes, 2u);
}

}  // namespace
