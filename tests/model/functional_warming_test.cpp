// Functional warming: what caches, TLBs and prefetchers hold afterwards is what they hold after the same accesses with
// time.
#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "one_core.h"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace situ::model {
namespace {

struct shape {
  const char* what;
  std::string of_l1 = "write_policy = \"write_back\"\n";
  std::string of_l2 = {};
  std::string l2_allocates_on = "reads_and_writes";
  std::string of_core = {};
  std::string side = {};      // a cache in front of the memory
  bool has_uncached = false;  // the streams are past all caches
};

const char* const side_cache = R"([[node]]
id = "side"
kind = "cache"
cache = "memory_side"
size = "16 KiB"
ways = 2
line_bytes = 64
access_time = "40 ns"
bandwidth = "16 GB/s"
)";

// Two cores of a coherent machine: an L1 of 16 lines each, an L2 of 64 that they share.
std::string text_of(const shape& of) {
  std::string memory = R"([[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "200 ns"
bandwidth = "64 GB/s"
)";
  if (!of.side.empty()) memory += "access_time = \"100 ns\"\nin = \"side\"\n";
  return fmt::format(R"(name = "warmed"
{}{}[[node]]
id = "l2"
kind = "cache"
level = 2
size = "4 KiB"
ways = 4
line_bytes = 64
latency = "10 ns"
write_policy = "write_back"
allocates_on = "{}"
{}
[[node]]
id = "l1"
in = "l2"
kind = "cache"
cache = "data"
level = 1
count = 2
size = "1 KiB"
ways = 2
line_bytes = 64
latency = "1 ns"
allocates_on = "reads"
{}
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = {{ integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }}
{}
)",
                     of.side, memory, of.l2_allocates_on, of.of_l2, of.of_l1, of.of_core);
}

const shape shapes[] = {
    {.what = "write-back"},
    {.what = "write-through", .of_l1 = "write_policy = \"write_through\"\n"},
    {.what = "inclusive", .of_l2 = "inclusion = \"inclusive\"\nreplacement = \"srrip\"\n"},
    {.what = "exclusive", .of_l2 = "inclusion = \"exclusive\"\n"},
    {.what = "victim buffer", .of_l1 = "write_policy = \"write_back\"\nvictim_lines = 3\n"},
    {.what = "prefetches",
     .of_l1 = "write_policy = \"write_back\"\nprefetch_streams = 4\nprefetch_lines = 2\noutstanding = 16\n"},
    {.what = "prefetches of the second cache", .of_l2 = "prefetch_streams = 4\nprefetch_lines = 3\noutstanding = 16\n"},
    {.what = "TLBs",
     .of_core = "dtlb = { entries = 4, ways = 2, page = \"4 KiB\", walk = 30 }\n"
                "stlb = { entries = 8, ways = 4, hit = 7 }\n"},
    {.what = "walks through caches",
     .of_core =
         "dtlb = { entries = 4, ways = 2, page = \"4 KiB\" }\npage_walks = \"through_caches\"\nwalk_cache = 2\n"},
    {.what = "write-back, a side cache", .side = side_cache},
    {.what = "writes that a cache takes, a side cache",
     .of_l1 = "write_policy = \"write_through\"\n",
     .side = side_cache},
    {.what = "writes that no cache takes, a side cache",
     .of_l1 = "write_policy = \"write_through\"\n",
     .l2_allocates_on = "reads",
     .side = side_cache},
    {.what = "uncached, a side cache", .side = side_cache, .has_uncached = true},
    {.what = "prefetches, a side cache",
     .of_l2 = "prefetch_streams = 4\nprefetch_lines = 3\noutstanding = 16\n",
     .side = side_cache},
};

// Two tiles, not coherent with each other, of two cores each, with a memory of their own; a memory behind a side cache.
std::string text_of_tiles(const char* policy) {
  return fmt::format(R"(name = "tiles"
coherence = "none"
[[node]]
id = "memory_tile"
kind = "group"
position = "1,1"
[[node]]
id = "memory_adapter"
in = "memory_tile"
kind = "device"
device = "network_adapter"
latency = "170 ns"
{}in = "memory_tile"
[[node]]
id = "ddr"
in = "side"
kind = "memory"
size = "1 GiB"
access_time = "100 ns"
bandwidth = "6.4 GB/s"
[[node]]
id = "tile"
kind = "group"
count = 2
coherence = "snooping"
clock = "50 MHz"
width_bits = 32
position = ["0,0", "1,0"]
[[node]]
id = "adapter"
in = "tile"
kind = "device"
device = "network_adapter"
clock = "50 MHz"
latency = "170 ns"
entries = 1
[[node]]
id = "own"
in = "tile"
kind = "memory"
memory = "scratchpad"
size = "1 MiB"
latency = "400 ns"
[[node]]
id = "l2"
in = "tile"
kind = "cache"
level = 2
size = "4 KiB"
ways = 4
line_bytes = 64
latency = "400 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
[[node]]
id = "l1"
in = "l2"
kind = "cache"
cache = "data"
level = 1
count = 2
size = "1 KiB"
ways = 2
line_bytes = 32
latency = "20 ns"
write_policy = "{}"
allocates_on = "reads"
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "50 MHz"
cycles = {{ integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }}
[[link]]
kind = "incoherent"
topology = "mesh"
columns = 2
rows = 2
width_bits = 32
clock = "50 MHz"
latency = "60 ns"
ends = ["tile", "memory_tile"]
)",
                     side_cache, policy);
}

// Streams, of which some go back, and lines of one small array, by all cores.
class accesses {
 public:
  explicit accesses(std::uint32_t cores = 2) : cores_{cores} {}
  struct one {
    std::uint32_t core;
    std::uint64_t address;
    access_kind kind;
  };
  one next() {
    const std::uint64_t chosen = random_();
    const auto core = static_cast<std::uint32_t>(chosen % cores_);
    at_ += chosen / 2 % 16 == 0 ? (random_() % 64) * 64 : 64;
    const std::uint64_t address = chosen / 32 % 3 == 0 ? random_() % 40 * 64 : (1 << 20) + at_ % (1 << 16);
    const std::uint64_t kind = chosen / 128 % 16;
    return {core, address,
            kind == 0   ? access_kind::atomic
            : kind == 1 ? access_kind::atomic_read
            : kind == 2 ? access_kind::atomic_write
            : kind < 7  ? access_kind::write
                        : access_kind::read};
  }

 private:
  std::uint32_t cores_;
  std::mt19937_64 random_{11};
  std::uint64_t at_ = 0;
};

state_words words_of(const modelled_machine& machine) {
  state_words words;
  machine.save_state(words);
  return words;
}

// The machine begins at 0 ns in both cases, with the same contents.
struct warmed_pair {
  warmed_pair(const std::string& text, const std::function<void(modelled_machine&)>& map)
      : with_time{parse_machine(text, "warmed.toml")}, without{parse_machine(text, "warmed.toml")} {
    map(with_time);
    map(without);
    without.begin_warming();
  }
  void access(const accesses::one& one) {
    now += 10'000'000;  // nothing is under way
    with_time.access(one.core, one.address, 8, one.kind, now);
    without.warm(one.core, one.address, 8, one.kind, 0);
  }
  // Does an operation on caches, which takes no time by warming.
  void operate(time_ps (modelled_machine::*operation)(std::uint32_t, std::uint64_t, std::uint64_t, time_ps),
               std::uint32_t core, std::uint64_t begin, std::uint64_t end) {
    now += 10'000'000;
    (with_time.*operation)(core, begin, end, now);
    EXPECT_EQ((without.*operation)(core, begin, end, 77), 77u);
  }

  modelled_machine with_time;
  modelled_machine without;
  time_ps now = 0;
};

void expect_alike(const std::string& text, std::uint32_t cores, const std::function<void(modelled_machine&)>& map) {
  warmed_pair both{text, map};
  accesses made{cores};
  for (int i = 0; i < 6000; ++i) {
    const accesses::one one = made.next();
    both.access(one);
    if (i % 40 == 0) both.operate(&modelled_machine::flush, one.core, one.address & ~255ULL, one.address + 8);
    if (i % 40 == 13) both.operate(&modelled_machine::write_back, one.core, one.address & ~255ULL, one.address + 300);
    if (i % 40 == 27) both.operate(&modelled_machine::invalidate, one.core, one.address & ~63ULL, one.address + 8);
    if (i % 2000 == 1000) both.operate(&modelled_machine::flush, one.core, 0, ~std::uint64_t{0});
    if (i % 500 != 0) continue;
    ASSERT_EQ(words_of(both.with_time), words_of(both.without)) << "after " << i << " accesses";
    for (const part_counters& part : both.without.counters())
      for (const auto& [counter, value] : part.values) ASSERT_EQ(value, 0u) << part.part << " " << counter;
  }
  both.without.end_warming();
  EXPECT_EQ(words_of(both.with_time), words_of(both.without));

  // From here on both count alike.
  both.with_time.reset_counters();
  for (int i = 0; i < 1000; ++i) {
    const accesses::one one = made.next();
    both.now += 10'000'000;
    EXPECT_EQ(both.with_time.access(one.core, one.address, 8, one.kind, both.now),
              both.without.access(one.core, one.address, 8, one.kind, both.now));
  }
  const std::vector<part_counters> a = both.with_time.counters(), b = both.without.counters();
  std::uint64_t misses = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].values, b[i].values) << a[i].part;
    if (a[i].kind == "cache") misses += a[i]["misses"];
  }
  EXPECT_GT(misses, 100u);
}

TEST(FunctionalWarming, LeavesWhatAccessesLeave) {
  for (const shape& each : shapes) {
    SCOPED_TRACE(each.what);
    expect_alike(text_of(each), 2, [&](modelled_machine& machine) {
      machine.map_range(0, 1 << 30, 0);
      if (each.has_uncached) machine.map_range(1 << 20, 1 << 21, 0, false);
    });
  }
}

std::uint32_t memory_of_tile(const modelled_machine& machine, std::uint32_t tile) {
  return machine.spec().tiles[tile].local_memory;
}

// The small array is in the first tile's own memory, which its caches hold and the other tile writes.
TEST(FunctionalWarming, LeavesWhatAccessesOfTilesLeave) {
  for (const char* const policy : {"write_through", "write_back"}) {
    SCOPED_TRACE(policy);
    expect_alike(text_of_tiles(policy), 4, [](modelled_machine& machine) {
      const std::uint32_t own = memory_of_tile(machine, 0);
      machine.map_range(0, 1 << 30, own == 0 ? 1 : 0);
      machine.map_range(0, 64 * 64, own);
    });
  }
}

// What another tile writes leaves the first caches of the tile whose memory it is.
TEST(FunctionalWarming, ATileSeesWhatAnotherWritesToItsMemory) {
  for (const access_kind kind : {access_kind::write, access_kind::atomic}) {
    modelled_machine machine{parse_machine(text_of_tiles("write_through"), "warmed.toml")};
    machine.map_range(0, 64 * 64, memory_of_tile(machine, 0));
    machine.begin_warming();
    machine.warm(0, 128, 8, access_kind::read, 0);
    const set_associative_cache& first = machine.first_data_cache(0);
    EXPECT_TRUE(first.holds(first.line_of(128)));
    machine.warm(2, 128, 8, access_kind::read, 0);
    EXPECT_TRUE(first.holds(first.line_of(128)));
    machine.warm(2, 128, 8, kind, 0);
    EXPECT_FALSE(first.holds(first.line_of(128)));
  }
}

// The first read behind 10,000 rounds of atomics, one a core and 20 ns, waits for none of them.
TEST(FunctionalWarming, AtomicsAtMemoryTakeNoTime) {
  const time_ps round = 20'000, begin = 10'000 * round;
  const auto read_after = [&](std::uint32_t cores) {
    modelled_machine machine{parse_machine(text_of_tiles("write_through"), "warmed.toml")};
    const std::uint32_t shared = memory_of_tile(machine, 0) == 0 ? 2 : 0;
    machine.map_range(0, 1 << 30, shared);
    machine.begin_warming();
    for (int i = 0; i < 10'000; ++i)
      for (std::uint32_t core = 0; core < cores; ++core)
        machine.warm(core, 4096, 8, access_kind::atomic, static_cast<time_ps>(i) * round);
    machine.end_warming();
    return machine.access(0, 1 << 20, 8, access_kind::read, begin) - begin;
  };
  const time_ps alone = read_after(0);
  EXPECT_GT(alone, 0u);
  EXPECT_LT(alone, 2'000'000u);
  EXPECT_EQ(read_after(1), alone);
  EXPECT_EQ(read_after(2), alone);
}

// Nor does an operation on caches, even behind a write that is under way when the warming begins.
TEST(FunctionalWarming, OperationsOnCachesTakeNoTime) {
  modelled_machine machine{parse_machine(text_of(shapes[1]), "warmed.toml")};
  machine.map_range(0, 1 << 30, 0);
  const time_ps goes_on = machine.access(0, 0, 8, access_kind::write, 0);
  const set_associative_cache& first = machine.first_data_cache(0);
  machine.begin_warming();
  machine.warm(0, 128, 8, access_kind::read, 0);
  EXPECT_TRUE(first.holds(first.line_of(128)));
  EXPECT_EQ(machine.flush(0, 0, 256, goes_on), goes_on);
  EXPECT_FALSE(first.holds(first.line_of(128)));
}

// A cache at the memory's side holds the lines as well.
TEST(FunctionalWarming, ReachesACacheAtTheMemorysSide) {
  const std::string text = R"(name = "beside"
[[node]]
id = "side"
kind = "cache"
cache = "memory_side"
size = "64 KiB"
ways = 1
line_bytes = 64
access_time = "40 ns"
bandwidth = "16 GB/s"
[[node]]
id = "ddr"
in = "side"
kind = "memory"
size = "1 GiB"
access_time = "100 ns"
bandwidth = "6.4 GB/s"
)" + one_core("1 KiB", 2);
  modelled_machine with_time{parse_machine(text, "beside.toml")};
  modelled_machine without{parse_machine(text, "beside.toml")};
  for (modelled_machine* const machine : {&with_time, &without}) machine->map_range(0, 1 << 30, 0);
  accesses made;
  time_ps now = 0;
  without.begin_warming();
  for (int i = 0; i < 4000; ++i) {
    const accesses::one one = made.next();
    now += 10'000'000;
    with_time.access(0, one.address, 8, one.kind, now);
    without.warm(0, one.address, 8, one.kind, 0);
  }
  EXPECT_EQ(words_of(with_time), words_of(without));
  without.end_warming();
  for (const part_counters& part : without.counters())
    if (part.kind == "memory-side cache") {
      EXPECT_EQ(part["hits"] + part["misses"], 0u);
    }
}

}  // namespace
}  // namespace situ::model
