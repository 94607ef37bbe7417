#include "model/parts/memory_rooms.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t page = memory_rooms::page_bytes;
const std::string machines = SITU_TEST_SOURCE_DIR "/../machines/";

// Two tiles with memories of three pages each, and a shared memory of five.
machine_spec small() {
  machine_spec spec;
  spec.memories = {{.name = "own 0", .bytes = 3 * page, .tile = 0},
                   {.name = "own 1", .bytes = 3 * page, .tile = 1},
                   {.name = "shared", .bytes = 5 * page + 100}};
  spec.tiles = {{.name = "tile 0", .cores = {}, .caches = {}, .local_memory = 0},
                {.name = "tile 1", .cores = {}, .caches = {}, .local_memory = 1}};
  return spec;
}
memory_rooms rooms_of_small() {
  const machine_spec spec = small();
  return {spec, memory_orders(spec, {2}, true, intent::latency), true};
}

// On nemesys-4x4 a tile's own memory answers in 400 ns, the two others in 1800: the nearer one first.
TEST(MemoryOrders, AreThoseOfTheMachine) {
  const machine_spec spec = read_machine(machines + "nemesys-4x4.toml");
  const std::vector<memory_order> all = memory_orders(spec, {14, 15}, true, intent::latency);
  ASSERT_EQ(all.size(), 14u);
  EXPECT_THAT(all[0], ElementsAre(0, 14, 15));
  EXPECT_THAT(all[13], ElementsAre(13, 14, 15));  // equal figures and steps: the order of the file
  EXPECT_THAT(memory_orders(spec, {14, 15}, true, intent::normal)[3], ElementsAre(14, 15, 3));  // DRAM first
  EXPECT_THAT(memory_orders(spec, {15}, false, intent::latency)[3], ElementsAre(15));
  EXPECT_THAT(memory_orders(spec, {14, 15}, true, intent::capacity)[3], ElementsAre(14, 15, 3));
}

// Four pages of a block in three of one's own and one of the shared memory's five.
TEST(MemoryRooms, ABlockGoesOnInTheNextMemory) {
  memory_rooms rooms = rooms_of_small();
  EXPECT_TRUE(rooms.take(0, 10 * page, 14 * page));
  EXPECT_EQ(rooms.find(10 * page, 0).memory, local_memory);
  EXPECT_EQ(rooms.find(12 * page + 17, 0).end, 13 * page);
  EXPECT_EQ(rooms.find(13 * page, 0).memory, 2u);
  EXPECT_EQ(rooms.find(13 * page, 1).memory, 2u);
  EXPECT_EQ(rooms.memories()[0].most_used, 3 * page);
  EXPECT_EQ(rooms.memories()[2].used, page);
  ASSERT_EQ(rooms.memories()[2].spilled.size(), 1u);
  EXPECT_EQ(rooms.memories()[2].spilled[0].from, 0u);
  EXPECT_EQ(rooms.memories()[2].spilled[0].most_bytes, page);
  EXPECT_EQ(rooms.memories()[1].used, 0u);  // another tile's is not taken
}

TEST(MemoryRooms, ABlockThatFitsNowhereIsRefusedAndTakesNothing) {
  memory_rooms rooms = rooms_of_small();
  EXPECT_TRUE(rooms.take(0, 10 * page, 14 * page));
  EXPECT_FALSE(rooms.take(0, 20 * page, 25 * page));  // four pages are left
  EXPECT_EQ(rooms.refused().count, 1u);
  EXPECT_EQ(rooms.refused().first_bytes, 5 * page);
  EXPECT_THAT(rooms.refused().room, HasSubstr("own 0 has 0 B left of 12 KiB, shared has 16 KiB left of "));
  EXPECT_EQ(rooms.memories()[2].used, page);
  EXPECT_TRUE(rooms.take(0, 20 * page, 24 * page));
  rooms.give_back(10 * page, 13 * page);
  EXPECT_EQ(rooms.memories()[0].used, 0u);
  EXPECT_EQ(rooms.find(11 * page, 0).memory, local_memory);  // a late write-back still finds its memory
  EXPECT_EQ(rooms.memories()[0].used, 0u);
  EXPECT_TRUE(rooms.take(0, 11 * page, 14 * page));  // the last of them has its room, and moves
  EXPECT_EQ(rooms.memories()[0].used, 3 * page);
  EXPECT_EQ(rooms.memories()[2].used, 4 * page);
}

// Each tile has its own copy of the process.
TEST(MemoryRooms, APageOfTheProcessTakesItsRoomAtTheFirstAccess) {
  memory_rooms rooms = rooms_of_small();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rooms.find(5 * page + 8, 0).memory, 0u);
  EXPECT_EQ(rooms.memories()[0].used, page);
  EXPECT_EQ(rooms.find(5 * page + 8, 1).memory, 1u);
  for (std::uint64_t i = 6; i < 8; ++i) EXPECT_EQ(rooms.find(i * page, 0).memory, 0u);
  EXPECT_EQ(rooms.find(7 * page, 0).begin, 5 * page);
  for (std::uint64_t i = 8; i < 13; ++i) EXPECT_EQ(rooms.find(i * page, 0).memory, 2u);
  try {
    static_cast<void>(rooms.find(13 * page, 0));
    ADD_FAILURE() << "there is no room";
  } catch (const error& none) {
    EXPECT_EQ(none.code(), errc::out_of_memory);
    EXPECT_THAT(none.what(), HasSubstr("own 0 has 0 B left of 12 KiB"));
  }
}

// A slice's channels are in the memory of its tile, its heap in the shared one.
TEST(MemoryRooms, SlicesAreCountedPageByPage) {
  memory_rooms rooms = rooms_of_small();
  rooms.map_slice(1, 100 * page, 110 * page, 200 * page, {2});
  EXPECT_EQ(rooms.find(100 * page, 0).memory, 1u);
  EXPECT_EQ(rooms.find(150 * page, 0).memory, 2u);
  for (std::uint64_t i = 101; i < 104; ++i) static_cast<void>(rooms.find(i * page, 1));
  EXPECT_EQ(rooms.memories()[1].used, 3 * page);
  EXPECT_EQ(rooms.memories()[2].used, 2 * page);
  rooms.map_slice(1, 100 * page, 110 * page, 200 * page, {2});  // a later launch: its pages are new
  EXPECT_EQ(rooms.memories()[1].used, 0u);
  EXPECT_EQ(rooms.memories()[2].used, 0u);
}

// Random blocks against a map of single pages.
TEST(MemoryRooms, SumsAreThoseOfThePages) {
  machine_spec spec = small();
  spec.memories[0].bytes = 50 * page;
  spec.memories[2].bytes = 70 * page;
  memory_rooms rooms{spec, memory_orders(spec, {2}, true, intent::latency), true};
  std::map<std::uint64_t, bool> taken;  // by page: whether its room is counted
  std::mt19937 random{7};
  std::uint64_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t begin = random() % 200, end = begin + random() % 30;
    if (random() % 3 == 0) {
      rooms.give_back(begin * page, end * page);
      for (std::uint64_t at = begin; at < end; ++at) taken[at] = false;
    } else {
      std::uint64_t wanted = 0, all = 0;
      for (std::uint64_t at = begin; at < end; ++at) wanted += taken[at] ? 0 : 1;
      for (const auto& [at, is_taken] : taken) all += is_taken ? 1 : 0;
      const bool fits = wanted <= 120 - all;
      ASSERT_EQ(rooms.take(0, begin * page, end * page), fits) << "seed 7, step " << i;
      refused += fits ? 0 : 1;
      if (fits)
        for (std::uint64_t at = begin; at < end; ++at) taken[at] = true;
    }
    std::uint64_t all = 0;
    for (const auto& [at, is_taken] : taken) all += is_taken ? page : 0;
    ASSERT_EQ(rooms.memories()[0].used + rooms.memories()[2].used, all) << "seed 7, step " << i;
    ASSERT_LE(rooms.memories()[0].used, 50 * page);
    ASSERT_EQ(rooms.memories()[2].used, rooms.memories()[2].spilled.empty() ? 0 : rooms.memories()[2].spilled[0].bytes);
  }
  EXPECT_EQ(rooms.refused().count, refused);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace situ::model
