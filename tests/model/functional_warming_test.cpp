// Functional warming: what caches, TLBs and prefetchers hold afterwards is what they hold after the same accesses with
// time.
#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace situ::model {
namespace {

struct shape {
  const char* what;
  std::string of_l1 = "write_policy = \"write_back\"\n";
  std::string of_l2 = {};
  std::string of_core = {};
  std::string side = {};  // a cache in front of the memory
};

// Two cores of a coherent machine: an L1 of 16 lines each, an L2 of 64 that they share.
std::string text_of(const shape& of) {
  std::string memory = R"([[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "200 ns"
bandwidth = "64 GB/s"
)";
  if (!of.side.empty()) memory += "in = \"side\"\n";
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
allocates_on = "reads_and_writes"
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
                     of.side, memory, of.of_l2, of.of_l1, of.of_core);
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
};

// Streams, of which some go back, and lines of one small array, by both cores.
class accesses {
 public:
  struct one {
    std::uint32_t core;
    std::uint64_t address;
    access_kind kind;
  };
  one next() {
    const std::uint64_t chosen = random_();
    const auto core = static_cast<std::uint32_t>(chosen % 2);
    at_ += chosen / 2 % 16 == 0 ? (random_() % 64) * 64 : 64;
    const std::uint64_t address = chosen / 32 % 3 == 0 ? random_() % 40 * 64 : (1 << 20) + at_ % (1 << 16);
    const std::uint64_t kind = chosen / 128 % 16;
    return {core, address,
            kind == 0   ? access_kind::atomic
            : kind == 1 ? access_kind::atomic_read
            : kind < 6  ? access_kind::write
                        : access_kind::read};
  }

 private:
  std::mt19937_64 random_{11};
  std::uint64_t at_ = 0;
};

state_words words_of(const modelled_machine& machine) {
  state_words words;
  machine.save_state(words);
  return words;
}

TEST(FunctionalWarming, LeavesWhatAccessesLeave) {
  for (const shape& each : shapes) {
    SCOPED_TRACE(each.what);
    modelled_machine with_time{parse_machine(text_of(each), "warmed.toml")};
    modelled_machine without{parse_machine(text_of(each), "warmed.toml")};
    for (modelled_machine* const machine : {&with_time, &without}) machine->map_range(0, 1 << 30, 0);
    accesses made;
    time_ps now = 0;
    without.begin_warming();
    for (int i = 0; i < 6000; ++i) {
      const accesses::one one = made.next();
      now += 10'000'000;  // nothing is under way
      with_time.access(one.core, one.address, 8, one.kind, now);
      without.warm(one.core, one.address, 8, one.kind, 0);
      if (i % 500 == 0) {
        ASSERT_EQ(words_of(with_time), words_of(without)) << "after " << i << " accesses";
        for (const part_counters& part : without.counters())
          for (const auto& [counter, value] : part.values) ASSERT_EQ(value, 0u) << part.part << " " << counter;
      }
    }
    without.end_warming();
    EXPECT_EQ(words_of(with_time), words_of(without));

    // From here on both count alike.
    with_time.reset_counters();
    for (int i = 0; i < 1000; ++i) {
      const accesses::one one = made.next();
      now += 10'000'000;
      EXPECT_EQ(with_time.access(one.core, one.address, 8, one.kind, now),
                without.access(one.core, one.address, 8, one.kind, now));
    }
    const std::vector<part_counters> a = with_time.counters(), b = without.counters();
    std::uint64_t misses = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].values, b[i].values) << a[i].part;
      if (a[i].kind == "cache") misses += a[i]["misses"];
    }
    EXPECT_GT(misses, 100u);
  }
}

// A cache at the memory's side holds the lines as well.
TEST(FunctionalWarming, ReachesACacheAtTheMemorysSide) {
  const char* const text = R"(name = "beside"
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
[[node]]
id = "l1"
kind = "cache"
cache = "data"
level = 1
size = "1 KiB"
ways = 2
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = { integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }
)";
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
