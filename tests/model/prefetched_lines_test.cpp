// What becomes of prefetched lines: used, late, left unused, still there. By hand, and against the lines that a cache
// holds after each access.
#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"
#include "model/parts/set_associative_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using machine::replacement;

constexpr time_ps ns = 1000;
constexpr std::uint32_t line_bytes = 64;

// The hook looks only at the first entry of a set, which a prefetched line does not equal until its first use.
TEST(PrefetchedLines, TheFirstUseIsSeenAndCounted) {
  for (const replacement policy : {replacement::lru, replacement::tree_plru, replacement::srrip}) {
    SCOPED_TRACE(machine::name(policy));
    set_associative_cache cache{1, 4, line_bytes, {.policy = policy}};
    cache.fill(5, {.dirty = false, .writable = true});
    cache.mark_prefetched(5);
    EXPECT_NE(cache.entries()[0] >> 2, 5u);
    EXPECT_TRUE(cache.holds(5));
    EXPECT_EQ(cache.state(5), (line_state{.dirty = false, .writable = true}));
    EXPECT_EQ(cache.prefetched().held, 1u);
    EXPECT_TRUE(cache.hit(5));
    EXPECT_TRUE(cache.take_first_use(5));
    EXPECT_FALSE(cache.take_first_use(5));
    EXPECT_EQ(cache.entries()[0] >> 2, 5u);
    EXPECT_TRUE(cache.hit(5));
    EXPECT_FALSE(cache.take_first_use(5));
    EXPECT_EQ(cache.prefetched().used, 1u);
    EXPECT_EQ(cache.prefetched().held, 0u);
    cache.fill(6, {});
    cache.mark_prefetched(6);
    EXPECT_EQ(cache.drop(6).line, 6u);
    EXPECT_EQ(cache.prefetched().unused, 1u);
  }
}

// A cache with marks does what one without does, in each operation; the marks are those of a map.
class PrefetchedLinesModel : public testing::TestWithParam<replacement> {};
TEST_P(PrefetchedLinesModel, MarksChangeNothingElse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random{seed};
    const replacement_spec spec{.policy = GetParam(), .seed = GetParam() == replacement::random ? seed : 0};
    set_associative_cache marked{2, 4, line_bytes, spec};
    set_associative_cache plain{2, 4, line_bytes, spec};
    std::set<std::uint64_t> marks;
    std::uint64_t used = 0, unused = 0;
    const auto use = [&](std::uint64_t line) { used += marks.erase(line); };
    const auto leave = [&](std::uint64_t line) { unused += marks.erase(line); };
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t line = 1 + random() % 24;
      ASSERT_EQ(marked.holds(line), plain.holds(line)) << i;
      ASSERT_EQ(marked.state(line), plain.state(line)) << i;
      switch (random() % 6) {
        case 0:
        case 1: {
          const bool held = marked.hit(line);
          ASSERT_EQ(held, plain.hit(line)) << i;
          if (held) use(line);
          break;
        }
        case 2: {
          const bool held = marked.holds(line);
          ASSERT_EQ(marked.hit_for_write(line), plain.hit_for_write(line)) << i;
          if (held) use(line);
          break;
        }
        case 3: {
          const auto gone = marked.drop(line);
          ASSERT_EQ(gone.line, plain.drop(line).line) << i;
          if (gone.exists()) leave(gone.line);
          break;
        }
        case 4: {
          const line_state state{.dirty = random() % 2 == 0, .writable = random() % 2 == 0};
          ASSERT_EQ(marked.set_state(line, state), plain.set_state(line, state));
          break;
        }
        default: {
          if (marked.holds(line)) break;
          const line_state state{.dirty = false, .writable = random() % 2 == 0};
          const auto gone = marked.fill(line, state);
          const auto expected = plain.fill(line, state);
          ASSERT_EQ(gone.line, expected.line) << i;
          ASSERT_EQ(gone.state, expected.state) << i;
          if (gone.exists()) leave(gone.line);
          if (random() % 2 == 0) break;
          marked.mark_prefetched(line);
          marks.insert(line);
        }
      }
      ASSERT_EQ(marked.prefetched().used, used) << i;
      ASSERT_EQ(marked.prefetched().unused, unused) << i;
      ASSERT_EQ(marked.prefetched().held, marks.size()) << i;
    }
    std::set<std::uint64_t> held;
    marked.for_each(0, ~std::uint64_t{0} >> 4, [&](std::uint64_t line, line_state) { held.insert(line); });
    for (std::uint64_t line = 1; line <= 24; ++line) EXPECT_EQ(held.contains(line), plain.holds(line));
  }
}
INSTANTIATE_TEST_SUITE_P(policies, PrefetchedLinesModel,
                         testing::Values(replacement::lru, replacement::tree_plru, replacement::srrip,
                                         replacement::random),
                         [](const auto& which) { return std::string{machine::name(which.param)}; });

// Cores of 1 GHz that wait, with first caches of 1 ns that prefetch, a second one, and memory at 111.
std::string text_of(std::uint32_t cores, std::uint32_t lines, std::uint32_t ways, std::uint32_t ahead,
                    const std::string& of_l1 = "", const std::string& of_core = "") {
  return fmt::format(R"(name = "prefetching"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "111 ns"
bandwidth = "64 GB/s"
[[node]]
id = "l2"
kind = "cache"
level = 2
size = "64 KiB"
ways = 8
line_bytes = 64
latency = "11 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
outstanding = 16
prefetch_streams = 4
prefetch_lines = 8
[[node]]
id = "l1"
in = "l2"
kind = "cache"
level = 1
count = {}
size = "{} B"
ways = {}
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
outstanding = 8
prefetch_streams = 2
prefetch_lines = {}
{}
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = {{ integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }}
{}
)",
                     cores, lines * line_bytes, ways, ahead, of_l1, of_core);
}

std::uint64_t counted(const modelled_machine& machine, const std::string& part, const char* what) {
  std::vector<part_counters> all = machine.counters();
  machine.add_prefetched(all);
  for (const part_counters& each : all)
    if (each.part == part) return each[what];
  ADD_FAILURE() << "no part " << part;
  return 0;
}

// At line 2 the first cache wants 3 and 4, which come 1 and 2 ns after it. A core that reads 3 at once waits for it.
// Line 4 leaves for eight lines of its set.
TEST(PrefetchedLines, ByHand) {
  modelled_machine machine{parse_machine(text_of(1, 512, 8, 2), "prefetching.toml")};
  machine.map_range(0, 1 << 30, 0);
  const auto read = [&](std::uint64_t line, time_ps at) {
    return machine.access(0, line * line_bytes, 8, access_kind::read, at);
  };
  for (const std::uint64_t line : {0, 1}) read(line, line * 1000 * ns);
  const time_ps there = read(2, 2000 * ns);
  EXPECT_EQ(there, 2111 * ns);
  EXPECT_EQ(counted(machine, "L1 0", "prefetches"), 2u);
  EXPECT_EQ(machine.first_data_cache(0).prefetched().held, 2u);
  EXPECT_EQ(read(3, 2050 * ns), 2112 * ns) << "on its way";
  EXPECT_EQ(counted(machine, "L1 0", "prefetches_useful"), 1u);
  EXPECT_EQ(counted(machine, "L1 0", "prefetches_late"), 1u);
  EXPECT_EQ(read(3, 2051 * ns), 2112 * ns) << "still on its way, and counted once";
  EXPECT_EQ(counted(machine, "L1 0", "prefetches_late"), 1u);
  for (std::uint64_t i = 1; i <= 8; ++i) read(4 + 64 * i, (3000 + 1000 * i) * ns);
  EXPECT_EQ(counted(machine, "L1 0", "prefetches_useless"), 1u);
  EXPECT_EQ(counted(machine, "L1 0", "prefetches_useful"), 1u);
  EXPECT_EQ(machine.first_data_cache(0).prefetched().held, 0u);
  machine.reset_counters();
  EXPECT_EQ(counted(machine, "L1 0", "prefetches_useless") + counted(machine, "L1 0", "prefetches_late"), 0u);
}

// A line that comes and is no accessed one was prefetched; the next access of it is a use if it is still there.
TEST(PrefetchedLines, AreThoseThatComeWithoutAnAccess) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const char* const policy : {"lru", "srrip", "tree_plru"}) {
      SCOPED_TRACE(fmt::format("{} {}", seed, policy));
      std::mt19937_64 random{seed};
      modelled_machine machine{
          parse_machine(text_of(1, 32, 4, 4, fmt::format("replacement = \"{}\"\n", policy)), "prefetching.toml")};
      machine.map_range(0, 1 << 30, 0);
      std::set<std::uint64_t> held, unused;
      std::uint64_t useful = 0, useless = 0, prefetches = 0;
      std::uint64_t at = 0;
      time_ps now = 0;
      for (int i = 0; i < 4000; ++i) {
        at = random() % 8 == 0 ? random() % 1024 : at + 1 + seed % 2;
        now = machine.access(0, at * line_bytes, 8, random() % 4 == 0 ? access_kind::write : access_kind::read, now) +
              random() % 100 * ns;
        useful += unused.erase(at);
        std::set<std::uint64_t> after;
        machine.first_data_cache(0).for_each(0, 4096, [&](std::uint64_t line, line_state) { after.insert(line); });
        for (const std::uint64_t line : after)
          if (!held.contains(line) && line != at) {
            unused.insert(line);
            ++prefetches;
          }
        useless += std::erase_if(unused, [&](std::uint64_t line) { return !after.contains(line); });
        held = std::move(after);
      }
      // A line that leaves and comes again, or comes and leaves, for the prefetches of one access is not seen from here.
      const std::uint64_t unseen = counted(machine, "L1 0", "prefetches") - prefetches;
      EXPECT_LE(unseen, 10u);  // of some 2000
      const auto expect = [&](const char* what, std::uint64_t seen) {
        EXPECT_GE(counted(machine, "L1 0", what), seen) << what;
        EXPECT_LE(counted(machine, "L1 0", what), seen + unseen) << what;
      };
      expect("prefetches_useful", useful);
      expect("prefetches_useless", useless);
      EXPECT_NEAR(static_cast<double>(machine.first_data_cache(0).prefetched().held),
                  static_cast<double>(unused.size()), static_cast<double>(unseen));
      EXPECT_GT(useful, 100u);
    }
  }
}

// Of all caches, with cores that take lines from each other, and that wait or go on.
TEST(PrefetchedLines, AreUsefulOrUselessOrStillThere) {
  for (const bool goes_on : {false, true})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(fmt::format("{} {}", seed, goes_on));
      std::mt19937_64 random{seed};
      modelled_machine machine{parse_machine(text_of(2, 64, 4, 3, seed % 2 == 0 ? "replacement = \"srrip\"\n" : "",
                                                     goes_on ? "window = 64\nstore_buffer = 8\n" : ""),
                                             "prefetching.toml")};
      machine.map_range(0, 1 << 30, 0);
      std::vector<std::uint64_t> at(2);
      std::vector<time_ps> now(2);
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        const std::uint32_t core = now[0] <= now[1] ? 0 : 1;
        at[core] = random() % 6 == 0 ? random() % 4096 : at[core] + 1;
        const access_kind kind = random() % 3 == 0 ? access_kind::write : access_kind::read;
        now[core] = goes_on ? machine.access_ahead(
                                  core, {.address = at[core] * line_bytes, .bytes = 8, .kind = kind, .instruction = i},
                                  now[core])
                            : machine.access(core, at[core] * line_bytes, 8, kind, now[core]);
        now[core] += ns;
      }
      for (const char* const cache : {"L1 0", "L1 1", "L2 0"}) {
        SCOPED_TRACE(cache);
        const auto of = [&](const char* what) { return counted(machine, cache, what); };
        EXPECT_GT(of("prefetches"), 300u);
        const std::uint64_t rest = of("prefetches") - of("prefetches_useful") - of("prefetches_useless");
        if (cache[1] == '1') {
          EXPECT_EQ(rest, machine.first_data_cache(static_cast<std::uint32_t>(cache[3] - '0')).prefetched().held);
        } else {
          EXPECT_LE(rest, 1024u) << "the lines of the second cache";
        }
        EXPECT_LE(of("prefetches_late"), of("prefetches_useful"));
        EXPECT_GT(of("prefetches_late"), 0u);
        EXPECT_GT(of("prefetches_useless"), 0u);
      }
    }
}

}  // namespace
}  // namespace situ::model
