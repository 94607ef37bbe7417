// A cache at a memory's side: by hand, against lists of lines, and in a machine.
#include "model/parts/memory_side_cache.h"

#include <situ/base/error.h>

#include "model/parts/memory_controller.h"
#include "model/parts/modelled_machine.h"
#include "one_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::HasSubstr;

constexpr time_ps ns = 1000;

memory_spec behind() {
  return {.name = "dram 0", .access_time = 100 * ns, .occupancy = 10 * ns, .burst_bytes = 64, .channels = 1};
}
side_cache_spec small_cache() {
  return {.sets = 1024,
          .ways = 1,
          .line_bytes = 64,
          .data = {.name = "memory-side cache 0", .access_time = 40 * ns, .occupancy = 4 * ns, .burst_bytes = 64}};
}

part_counters side_of(const memory_controller& memory) {
  std::vector<part_counters> all;
  memory.append_side_counters(all);
  return all.empty() ? part_counters{} : all.front();
}

// The example in memory_side_cache.h.
TEST(MemorySideCache, HitsMissesAndWriteBacks) {
  memory_controller memory{behind(), small_cache()};
  EXPECT_EQ(memory.access(0, 64, false, 0), 140 * ns);
  EXPECT_EQ(memory.access(0, 64, false, 1000 * ns), 1040 * ns);
  EXPECT_EQ(memory.access(65536, 64, true, 2000 * ns), 2040 * ns);
  EXPECT_EQ(memory.access(0, 64, false, 3000 * ns), 3140 * ns);
  EXPECT_EQ(memory.access(64, 64, false, 3105 * ns), 3250 * ns);
  const part_counters cache = side_of(memory);
  EXPECT_EQ(cache["hits"], 1u);
  EXPECT_EQ(cache["misses"], 4u);
  EXPECT_EQ(cache["evictions"], 2u);
  EXPECT_EQ(cache["write_backs"], 1u);
  EXPECT_EQ(cache["busy_ps"], (5 + 4) * 4 * ns);  // look-ups and fills
  const part_counters c = memory.counters();
  EXPECT_EQ(c["reads"], 3u);
  EXPECT_EQ(c["writes"], 1u);
  EXPECT_EQ(c["written_bytes"], 64u);
  EXPECT_EQ(c["queueing_ps"], 5 * ns);
  memory.reset_counters();
  EXPECT_EQ(side_of(memory)["misses"], 0u);
  EXPECT_EQ(memory.access(64, 64, false, 5000 * ns), 5040 * ns);
}

// A write of a part of a line fetches the rest.
TEST(MemorySideCache, AWriteOfAPartFetchesTheLine) {
  memory_controller memory{behind(), small_cache()};
  EXPECT_EQ(memory.access(8, 4, true, 0), 140 * ns);
  EXPECT_EQ(memory.counters()["reads"], 1u);
  EXPECT_EQ(memory.access(65536, 64, false, 1000 * ns), 1140 * ns);
  EXPECT_EQ(side_of(memory)["write_backs"], 1u);
}

// Four lines are looked up one after the other in the cache's channel, and fetched so.
TEST(MemorySideCache, ALongAccessIsLines) {
  memory_controller memory{behind(), small_cache()};
  EXPECT_EQ(memory.access(32, 256, false, 0), (40 + 100 + 4 * 10) * ns);
  EXPECT_EQ(side_of(memory)["misses"], 5u);
  EXPECT_EQ(memory.access(32, 256, false, 1000 * ns), (1000 + 40 + 4 * 4) * ns);
  EXPECT_EQ(side_of(memory)["hits"], 5u);
}

// A unit beside the memory comes through the cache, unless its times are its own.
TEST(MemorySideCache, AUnitComesThroughTheCache) {
  memory_controller memory{behind(), small_cache()};
  EXPECT_EQ(memory.access_by_unit(0, 64, false, 0), 140 * ns);
  EXPECT_EQ(memory.access_by_unit(0, 64, false, 1000 * ns), 1040 * ns);
  EXPECT_EQ(memory.counters()["unit_bytes"], 128u);
  EXPECT_EQ(memory.access_by_unit(0, 64, false, 2000 * ns, access_times{7 * ns, 5 * ns}), 2007 * ns);
  EXPECT_EQ(side_of(memory)["hits"], 1u);
}

// The reference: a list of lines a set, the last used first.
TEST(MemorySideCache, HoldsTheLinesOfTheReference) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random{seed};
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  struct held {
    std::uint64_t line;
    bool dirty;
  };
  for (const std::uint64_t sets : {1ULL, 16ULL, 4096ULL, 3ULL * 4096}) {
    side_cache_spec spec = small_cache();
    spec.sets = sets;
    spec.ways = 1 + static_cast<std::uint32_t>(below(3));
    memory_controller memory{behind(), spec};
    std::map<std::uint64_t, std::list<held>> reference;
    std::uint64_t hits = 0;
    std::uint64_t evictions = 0;
    std::uint64_t write_backs = 0;
    std::uint64_t fetches = 0;
    for (std::uint64_t i = 1; i <= 5000; ++i) {
      const std::uint64_t line = below(4) + sets * below(2 * spec.ways + 1);
      const bool write = below(3) == 0;
      const std::uint64_t bytes = below(2) == 0 ? 64 : 8;
      std::list<held>& set = reference[line % sets];
      const auto found = std::ranges::find(set, line, &held::line);
      time_ps takes = 40 * ns;
      if (found != set.end()) {
        ++hits;
        set.push_front({line, found->dirty || write});
        set.erase(found);
      } else {
        set.push_front({line, write});
        if (!write || bytes < 64) {
          ++fetches;
          takes += 100 * ns;
        }
        if (set.size() > spec.ways) {
          ++evictions;
          write_backs += set.back().dirty ? 1 : 0;
          set.pop_back();
        }
      }
      const time_ps now = i * 1000 * ns;
      ASSERT_EQ(memory.access(line * 64, bytes, write, now) - now, takes) << sets << " sets, access " << i;
    }
    const part_counters cache = side_of(memory);
    EXPECT_EQ(cache["hits"], hits);
    EXPECT_EQ(cache["misses"], 5000 - hits);
    EXPECT_EQ(cache["evictions"], evictions);
    EXPECT_EQ(cache["write_backs"], write_backs);
    EXPECT_EQ(memory.counters()["reads"], fetches);
    EXPECT_EQ(memory.counters()["writes"], write_backs);
  }
}

// An L1 of 1 ns; a hit of the cache at the memory's side is at 51 ns, a miss at 151.
const std::string good = R"(name = "small"
[[node]]
id = "side"
kind = "cache"
cache = "memory_side"
size = "12 MiB"
line_bytes = 64
ways = 1
latency = "51 ns"
bandwidth = "64 GB/s"
[[node]]
id = "ddr"
in = "side"
kind = "memory"
size = "1 GiB"
latency = "151 ns"
bandwidth = "16 GB/s"
)" + one_core("128 B", 1);

TEST(MemorySideCache, IsSeenByACore) {
  modelled_machine machine{parse_machine(good, "small.toml")};
  machine.map_range(0, 1 << 30, 0);
  EXPECT_EQ(machine.access(0, 0, 8, access_kind::read, 0), 151 * ns);
  EXPECT_EQ(machine.access(0, 128, 8, access_kind::write, 1000 * ns), 1001 * ns);  // takes the line's place
  EXPECT_EQ(machine.access(0, 0, 8, access_kind::read, 2000 * ns), 2051 * ns);     // and is written back to the side
  EXPECT_EQ(machine.access(0, 12 << 20, 8, access_kind::read, 3000 * ns), 3151 * ns);  // the same set of both
  EXPECT_EQ(machine.access(0, 0, 8, access_kind::read, 4000 * ns), 4151 * ns);
  const std::vector<part_counters> all = machine.counters();
  const auto side = std::ranges::find(all, "memory-side cache", &part_counters::kind);
  ASSERT_NE(side, all.end());
  EXPECT_EQ((*side)["hits"], 2u);  // a read, and the write-back
  EXPECT_EQ((*side)["misses"], 4u);
  machine.reset_counters();
}

TEST(MemorySideCache, KnightsLandingInCacheMode) {
  const machine_spec cache = read_machine(SITU_TEST_SOURCE_DIR "/../machines/knl-7210-cache.toml");
  const machine_spec flat = read_machine(SITU_TEST_SOURCE_DIR "/../machines/knl-7210-flat.toml");
  ASSERT_EQ(cache.side_caches.size(), 1u);
  ASSERT_EQ(cache.memories.size(), 1u);
  EXPECT_EQ(cache.memories[0].side_cache, 0u);
  EXPECT_EQ(cache.memories[0].access_time, flat.memories[0].access_time);
  EXPECT_EQ(cache.side_caches[0].sets, 1u << 28);
  EXPECT_EQ(cache.side_caches[0].data.access_time, flat.memories[1].access_time);
  EXPECT_EQ(cache.side_caches[0].data.occupancy, flat.memories[1].occupancy);
  EXPECT_EQ(cache.cores.size(), flat.cores.size());
  EXPECT_EQ(cache.caches.size(), flat.caches.size());
}

std::string broken(const std::string& from, const std::string& to) {
  std::string text = good;
  text.replace(text.find(from), from.size(), to);
  try {
    (void)parse_machine(text, "small.toml");
  } catch (const error& bad) {
    EXPECT_EQ(bad.code(), errc::bad_file);
    return std::string{bad.message()};
  }
  ADD_FAILURE() << "no error for " << to;
  return "";
}

TEST(MemorySideCache, WrongKeysAreNamed) {
  EXPECT_THAT(broken("12 MiB", "12 KiB"), HasSubstr("small.toml:2: node[0]: memory-side cache 0: "));
  EXPECT_THAT(broken("12 MiB", "12 KiB"),
              HasSubstr("192 sets; a power of two of them is allowed, or a multiple of 4096"));
  EXPECT_THAT(broken("size = \"12 MiB\"", ""), HasSubstr("needs a size"));
  EXPECT_THAT(broken("ways = 1", ""), HasSubstr("1 for direct mapped"));
  EXPECT_THAT(broken("line_bytes = 64", "line_bytes = 65"), HasSubstr("line_bytes = 65 cannot be"));
  EXPECT_THAT(broken("latency = \"51 ns\"", "write_policy = \"write_through\""), HasSubstr("writes back"));
  EXPECT_THAT(broken("latency = \"51 ns\"", "outstanding = 4"), HasSubstr("of caches in front of cores"));
  EXPECT_THAT(broken("151 ns", "51 ns"), HasSubstr("dram 0: its latency is below"));
  EXPECT_THAT(broken("in = \"side\"\n", ""), HasSubstr("in front of one memory"));
  EXPECT_THAT(broken("latency = \"51 ns\"\n", ""), HasSubstr("needs a latency"));
}

}  // namespace
}  // namespace situ::model
