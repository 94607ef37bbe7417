// Homed pages: times by hand, and random accesses compared with lists of lines.
#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::HasSubstr;

// Four tiles of a core each, in two rows of a mesh, and a memory below the left ones. A cycle is 1 ns.
std::string text_of(const char* policy = "write_through", const char* allocates_on = "reads", int l1_line = 16) {
  std::string text = R"(name = "four tiles"
coherence = "none"
[[node]]
id = "tile"
kind = "group"
name = "tile"
count = 4
coherence = "snooping"
position = ["0,0", "1,0", "0,1", "1,1"]
[[node]]
id = "adapter"
in = "tile"
kind = "device"
device = "network_adapter"
latency = "6 ns"
entries = 4
[[node]]
id = "l2"
in = "tile"
kind = "cache"
level = 2
size = "4 KiB"
ways = 2
line_bytes = 64
latency = "8 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
[[node]]
id = "l1"
in = "l2"
kind = "cache"
cache = "data"
level = 1
size = "1 KiB"
ways = 2
line_bytes = L1_LINE
latency = "2 ns"
write_policy = "POLICY"
allocates_on = "ALLOCATES"
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = { integer = 1, multiply = 4, divide = 35, floating = 4, branch = 1, call = 3 }
[[node]]
id = "controller"
kind = "group"
name = "controller"
position = "0,2"
[[node]]
id = "memory_adapter"
in = "controller"
kind = "device"
device = "network_adapter"
latency = "1 ns"
[[node]]
id = "ddr"
in = "controller"
kind = "memory"
memory = "dram"
size = "1 GiB"
latency = "80 ns"
access_time = "29 ns"
occupancy = "10 ns"
burst_bytes = 64
bandwidth = "6400 MB/s"
[[link]]
kind = "incoherent"
topology = "mesh"
columns = 2
rows = 3
width_bits = 32
clock = "1 GHz"
latency = "1 ns"
ends = ["tile", "controller"]
)";
  const auto put = [&](const std::string& what, const std::string& with) {
    text.replace(text.find(what), what.size(), with);
  };
  put("L1_LINE", std::to_string(l1_line));
  put("POLICY", policy);
  put("ALLOCATES", allocates_on);
  return text;
}

modelled_machine make(const std::string& text = text_of()) {
  modelled_machine made{parse_machine(text, "four_tiles.toml")};
  made.map_range(0, 1 << 20, 0);
  return made;
}

constexpr time_ps ns = 1000;
constexpr std::uint64_t page = 4096;

std::uint64_t count_of(const modelled_machine& of, const std::string& part, const std::string& counter) {
  for (const part_counters& each : of.counters())
    if (each.part == part)
      for (const auto& [name, value] : each.values)
        if (name == counter) return value;
  return 0;
}

std::string l2_of(const modelled_machine& in, std::uint32_t core) {
  return in.spec().caches[in.spec().cores[core].data_path.back()].name;
}
std::string adapter_of(const modelled_machine& in, std::uint32_t tile) { return in.spec().tiles[tile].name; }

// Hops from tile to tile, and from a tile to the memory.
std::uint64_t hops(std::uint32_t a, std::uint32_t b) { return (a % 2 != b % 2 ? 1 : 0) + (a / 2 != b / 2 ? 1 : 0); }
std::uint64_t to_memory(std::uint32_t tile) { return tile % 2 + 2 - tile / 2; }

// Adapters of 6, packets of 2 flits, the home's L2 of 8.
time_ps of_remote_hit(std::uint32_t tile, std::uint32_t home) {
  return (4 * 6 + 2 * 2 + 8 + 2 * hops(tile, home)) * ns;
}
// The same way to the home; from there 2 flits to the memory (29, an adapter of 1 before and after); 2 flits to the
// asker.
time_ps of_remote_miss(std::uint32_t tile, std::uint32_t home) {
  return (6 + 2 + hops(tile, home) + 6 + 8 + 6 + 2 + to_memory(home) + 1 + 29 + 1 + 2 + to_memory(tile) + 6) * ns;
}
// A line of memory has 16 flits, and a head.
time_ps of_memory(std::uint32_t tile) { return (8 + 6 + 2 + 1 + 29 + 1 + 17 + 6 + 2 * to_memory(tile)) * ns; }

TEST(HomedPages, AReadOfAnotherTileGoesToTheHome) {
  modelled_machine machine = make();
  machine.home_range(0, page, 3, 0);
  EXPECT_EQ(machine.access(0, 0, 4, access_kind::read, 1000 * ns), 1000 * ns + of_remote_miss(0, 3));
  EXPECT_EQ(machine.access(0, 4, 4, access_kind::read, 2000 * ns), 2000 * ns + of_remote_hit(0, 3));
  EXPECT_EQ(machine.access(0, 0, 4, access_kind::read, 3000 * ns), 3000 * ns + of_remote_hit(0, 3));  // not cached here
  EXPECT_EQ(machine.access(3, 0, 4, access_kind::read, 4000 * ns), 4008 * ns);
  EXPECT_EQ(machine.access(3, 0, 4, access_kind::read, 5000 * ns), 5002 * ns);
  EXPECT_EQ(count_of(machine, adapter_of(machine, 0), "homed_reads"), 3u);
}

TEST(HomedPages, AWriteWaitsInTheBufferAndTakesTheLineFromTheHomesFirstCache) {
  modelled_machine machine = make();
  machine.home_range(0, page, 1, 0);
  machine.access(1, 0, 4, access_kind::read, 0);
  EXPECT_TRUE(machine.first_data_cache(1).holds(0));
  EXPECT_EQ(machine.access(0, 0, 4, access_kind::write, 1000 * ns), 1001 * ns);
  EXPECT_FALSE(machine.first_data_cache(1).holds(0));
  // The second write waits for the first: a request of 3 flits, an answer of 1.
  EXPECT_EQ(machine.access(0, 4, 4, access_kind::write, 1001 * ns), (1000 + 6 + 4 + 6 + 8 + 6 + 2 + 6 + 1) * ns);
  EXPECT_EQ(machine.access(1, 0, 4, access_kind::read, 3000 * ns), 3008 * ns);
}

TEST(HomedPages, TheHomesDirtyBytesAreGathered) {
  modelled_machine machine = make(text_of("write_back", "reads_and_writes", 64));
  machine.home_range(0, page, 1, 0);
  machine.access(1, 0, 4, access_kind::write, 0);
  EXPECT_EQ(machine.access(0, 0, 4, access_kind::read, 1000 * ns), 1000 * ns + of_remote_hit(0, 1));
  const auto of_home = [&] { return machine.first_data_cache(1).state(0); };
  EXPECT_TRUE(machine.first_data_cache(1).holds(0));
  EXPECT_FALSE(of_home().dirty);
  EXPECT_EQ(machine.access(1, 0, 4, access_kind::write, 2000 * ns), 2002 * ns);
  EXPECT_TRUE(of_home().dirty);
  machine.access(0, 0, 4, access_kind::write, 3000 * ns);
  EXPECT_FALSE(machine.first_data_cache(1).holds(0));
  // A line that leaves: a request of 18 flits, an answer of 1.
  EXPECT_EQ(machine.home_range(0, page, none, 10'000 * ns),
            (10'000 + 6 + 18 + 1 + 29 + 1 + 1 + 6 + 2 * to_memory(1)) * ns);
  EXPECT_EQ(count_of(machine, l2_of(machine, 1), "write_backs"), 1u);
}

TEST(HomedPages, AtomicsAreCarriedOutAtTheHome) {
  modelled_machine machine = make();
  machine.home_range(0, page, 2, 0);
  machine.access(2, 0, 4, access_kind::read, 0);
  // By the home's own core: a read and a write of its L2.
  EXPECT_EQ(machine.access(2, 0, 4, access_kind::atomic, 1000 * ns), 1016 * ns);
  EXPECT_FALSE(machine.first_data_cache(2).holds(0));
  EXPECT_EQ(machine.access(2, 0, 4, access_kind::atomic_read, 2000 * ns), 2008 * ns);
  // By another tile's: one hop, a request of 3 flits.
  EXPECT_EQ(machine.access(0, 0, 4, access_kind::atomic, 3000 * ns), (3000 + 6 + 4 + 6 + 16 + 6 + 3 + 6) * ns);
  EXPECT_EQ(count_of(machine, adapter_of(machine, 0), "homed_atomics"), 1u);
}

// Calls of ranged operations, and lines that they reach.
class events final : public line_observer {
 public:
  void on_line(std::uint32_t tile, std::uint64_t line, std::uint32_t, line_event what, bool was_dirty) override {
    seen.emplace_back(tile, line, what, was_dirty);
  }
  std::vector<std::tuple<std::uint32_t, std::uint64_t, line_event, bool>> seen;
};

TEST(HomedPages, RangedOperationsOfOtherTilesDoNothingAndNoBytesAreLost) {
  modelled_machine machine = make();
  events lines;
  machine.observe(&lines);
  machine.home_range(0, page, 2, 0);
  machine.access(0, 0, 4, access_kind::write, 0);
  for (const auto operation : {&modelled_machine::write_back, &modelled_machine::invalidate, &modelled_machine::flush})
    EXPECT_EQ((machine.*operation)(0, 0, 64, 1000 * ns), 1001 * ns);
  EXPECT_TRUE(lines.seen.empty());
  machine.invalidate(2, 0, 64, 2000 * ns);
  EXPECT_EQ(lines.seen.back(), std::tuple(2u, std::uint64_t{0}, line_event::evicted, true));
}

TEST(HomedPages, DmaSeesTheHomesBytesAndTakesItsCopies) {
  modelled_machine machine = make();
  events lines;
  machine.observe(&lines);
  machine.home_range(0, 2 * page, 2, 0);
  machine.access(2, 0, 4, access_kind::write, 0);
  machine.access(2, page, 4, access_kind::read, 1000 * ns);
  machine.dma(0, page, 0, 64, 2000 * ns);
  ASSERT_EQ(lines.seen.size(), 2u);
  EXPECT_EQ(lines.seen[0], std::tuple(2u, std::uint64_t{0}, line_event::written_back, true));
  EXPECT_EQ(lines.seen[1], std::tuple(2u, page / 64, line_event::evicted, false));
  EXPECT_EQ(machine.access(2, page, 4, access_kind::read, 5000 * ns), 5000 * ns + of_memory(2));
}

TEST(HomedPages, ForgottenHomesAreUserManaged) {
  modelled_machine machine = make();
  machine.home_range(0, 4 * page, 2, 0);
  machine.access(2, page, 4, access_kind::write, 0);
  machine.forget_homes(page, 2 * page);
  EXPECT_TRUE(machine.is_homed(0, 1));
  EXPECT_FALSE(machine.is_homed(page, 1));
  EXPECT_TRUE(machine.is_homed(2 * page, 1));
  machine.access(0, page, 4, access_kind::read, 1000 * ns);
  EXPECT_TRUE(machine.first_data_cache(0).holds(page / 16));
  EXPECT_EQ(machine.access(2, page, 4, access_kind::read, 2000 * ns), 2000 * ns + of_memory(2));
}

template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const error& why) {
    return std::string{why.message()};
  }
  return {};
}

TEST(HomedPages, WhatCannotBeAHomeIsRefused) {
  modelled_machine machine = make();
  EXPECT_THAT(refusal([&] { machine.home_range(0, 100, 1, 0); }), HasSubstr("whole lines of 64 bytes"));
  EXPECT_THAT(refusal([&] { machine.home_range(64, 64, 1, 0); }), HasSubstr("whole lines"));
  EXPECT_THAT(refusal([&] { machine.home_range(0, page, 4, 0); }), HasSubstr("no tile 4"));
  modelled_machine clusters{read_machine(SITU_TEST_SOURCE_DIR "/../machines/mppa-256-bostan.toml")};
  EXPECT_THAT(refusal([&] { clusters.home_range(0, page, 1, 0); }), HasSubstr("share no outermost cache"));
  modelled_machine coherent{read_machine(SITU_TEST_SOURCE_DIR "/../machines/host.toml")};
  coherent.map_range(0, page, 0);
  EXPECT_EQ(coherent.home_range(0, page, 0, 7), 7u);
  EXPECT_FALSE(coherent.is_homed(0, 0));
}

// --- a plain reference

// Lines of a cache of 2 ways, the last used first, and whether they are dirty.
class lines_of {
 public:
  explicit lines_of(std::uint64_t sets) : sets_{sets} {}
  bool use(std::uint64_t line) {
    auto& set = of(line);
    const auto at = std::ranges::find(set, line, &std::pair<std::uint64_t, bool>::first);
    if (at == set.end()) return false;
    set.splice(set.begin(), set, at);
    return true;
  }
  // Returns the line that makes room.
  std::vector<std::pair<std::uint64_t, bool>> fill(std::uint64_t line) {
    auto& set = of(line);
    set.emplace_front(line, false);
    if (set.size() <= 2) return {};
    const auto gone = set.back();
    set.pop_back();
    return {gone};
  }
  bool drop(std::uint64_t line) {  // returns whether it was dirty
    auto& set = of(line);
    const auto at = std::ranges::find(set, line, &std::pair<std::uint64_t, bool>::first);
    if (at == set.end()) return false;
    const bool dirty = at->second;
    set.erase(at);
    return dirty;
  }
  void make_dirty(std::uint64_t line) { of(line).front().second = true; }
  bool holds(std::uint64_t line) {
    return std::ranges::count(of(line), line, &std::pair<std::uint64_t, bool>::first) != 0;
  }

 private:
  std::list<std::pair<std::uint64_t, bool>>& of(std::uint64_t line) { return all_[line % sets_]; }
  std::uint64_t sets_;
  std::map<std::uint64_t, std::list<std::pair<std::uint64_t, bool>>> all_;
};

struct reference {
  struct tile {
    lines_of l1{32}, l2{32};
    std::uint64_t hits = 0, misses = 0, write_backs = 0, reads = 0, writes = 0, atomics = 0, served = 0,
                  homed_misses = 0;
  };
  std::array<tile, 4> tiles;
  std::array<std::uint32_t, 16> homes;
  bool has_written_back = false;  // in the last access

  void leave(tile& of, std::uint64_t line, bool dirty) {
    for (std::uint64_t i = 0; i < 4; ++i) of.l1.drop(line * 4 + i);
    has_written_back |= dirty;
    if (dirty) ++of.write_backs;
  }
  bool look(tile& of, std::uint64_t line) {
    const bool there = of.l2.use(line);
    ++(there ? of.hits : of.misses);
    if (!there)
      for (const auto& [gone, dirty] : of.l2.fill(line)) leave(of, gone, dirty);
    return there;
  }
  void change(std::uint64_t at, std::uint32_t to) {
    if (homes[at] == to) return;
    homes[at] = to;
    for (tile& each : tiles)
      for (std::uint64_t line = at * page / 64; line < (at + 1) * page / 64; ++line) {
        const bool dirty = each.l2.drop(line);
        leave(each, line, dirty);
      }
  }
  // Returns the time for which the core waits.
  time_ps access(std::uint32_t asks, std::uint64_t address, access_kind kind) {
    const std::uint32_t home = homes[address / page];
    tile& own = tiles[asks];
    if (home != none && home != asks) return elsewhere(asks, home, address, kind);
    const std::uint64_t line = address / 64, inner = address / 16;
    if (kind == access_kind::write) {
      own.l1.use(inner);
      look(own, line);
      own.l2.make_dirty(line);
      return 2 * ns;
    }
    if (kind == access_kind::atomic) {  // of the home's own core
      const time_ps read = look(own, line) ? 8 * ns : of_memory(asks);
      own.l1.drop(inner);
      look(own, line);
      own.l2.make_dirty(line);
      return read + 8 * ns;
    }
    if (own.l1.use(inner)) return 2 * ns;
    const bool there = look(own, line);
    own.l1.fill(inner);
    return there ? 8 * ns : of_memory(asks);
  }
  time_ps elsewhere(std::uint32_t asks, std::uint32_t home, std::uint64_t address, access_kind kind) {
    tile& own = tiles[asks];
    tile& at = tiles[home];
    ++at.served;
    const bool there = look(at, address / 64);
    if (!there) ++at.homed_misses;
    if (kind == access_kind::read) {
      ++own.reads;
      return there ? of_remote_hit(asks, home) : of_remote_miss(asks, home);
    }
    at.l1.drop(address / 16);
    ++(kind == access_kind::write ? own.writes : own.atomics);
    if (kind == access_kind::atomic) ++at.hits;
    at.l2.make_dirty(address / 64);
    if (kind == access_kind::write) return ns;
    const time_ps line = there ? 8 * ns : of_memory(home);
    return line + (6 + 3 + 6 + 8 + 6 + 2 + 6 + 2 * hops(asks, home)) * ns;
  }
};

TEST(HomedPages, RandomAccessesAgreeWithLists) {
  modelled_machine machine = make();
  reference plain;
  plain.homes.fill(none);
  std::mt19937_64 random{5};
  time_ps now = 0;
  for (int i = 0; i < 60'000; ++i) {
    now += 100'000 * ns;
    if (random() % 400 == 0) {
      const std::uint64_t at = random() % plain.homes.size();
      const std::uint32_t to = random() % 3 == 0 ? none : static_cast<std::uint32_t>(random() % 4);
      machine.home_range(at * page, (at + 1) * page, to, now);
      plain.change(at, to);
      continue;
    }
    const auto core = static_cast<std::uint32_t>(random() % 4);
    const std::uint64_t address =
        (random() % 4 == 0 ? random() % (16 * page) : random() % 16 * page + random() % 512) & ~std::uint64_t{3};
    const std::uint64_t what = random() % 10;
    access_kind kind = what < 6 ? access_kind::read : what < 9 ? access_kind::write : access_kind::atomic;
    if (plain.homes[address / page] == none && kind == access_kind::atomic) kind = access_kind::read;
    plain.has_written_back = false;
    const time_ps took = machine.access(core, address, 4, kind, now) - now,
                  expected = plain.access(core, address, kind);
    if (kind == access_kind::atomic && plain.has_written_back) {
      // The home writes a line of 18 flits back while it changes the word; its answer may wait behind that.
      ASSERT_GE(took, expected) << i;
      ASSERT_LE(took, expected + 18 * ns) << i;
    } else {
      ASSERT_EQ(took, expected) << i << " core " << core << " address " << address << " kind "
                                << static_cast<int>(kind);
    }
    for (std::uint32_t each = 0; each < 4; ++each)
      ASSERT_EQ(machine.first_data_cache(each).holds(address / 16), plain.tiles[each].l1.holds(address / 16)) << i;
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::string l2 = l2_of(machine, i), adapter = adapter_of(machine, i);
    const reference::tile& its = plain.tiles[i];
    EXPECT_EQ(count_of(machine, l2, "hits"), its.hits);
    EXPECT_EQ(count_of(machine, l2, "misses"), its.misses);
    EXPECT_EQ(count_of(machine, l2, "write_backs"), its.write_backs);
    EXPECT_EQ(count_of(machine, adapter, "homed_reads"), its.reads);
    EXPECT_EQ(count_of(machine, adapter, "homed_writes"), its.writes);
    EXPECT_EQ(count_of(machine, adapter, "homed_atomics"), its.atomics);
    EXPECT_EQ(count_of(machine, adapter, "homed_served"), its.served);
    EXPECT_EQ(count_of(machine, adapter, "homed_misses"), its.homed_misses);
    EXPECT_GT(its.reads + its.writes, 1000u);
    EXPECT_GT(its.homed_misses, 100u);
  }
}

// Functional warming leaves what the same accesses with time leave.
TEST(HomedPages, WarmingLeavesTheSameContents) {
  for (const std::string& text : {text_of(), text_of("write_back", "reads_and_writes", 64)}) {
    modelled_machine timed = make(text), warmed = make(text);
    warmed.begin_warming();
    std::mt19937_64 random{7};
    time_ps now = 0;
    for (int i = 0; i < 20'000; ++i) {
      now += 100'000 * ns;
      if (random() % 300 == 0) {
        const std::uint64_t at = random() % 16 * page;
        const std::uint32_t to = random() % 3 == 0 ? none : static_cast<std::uint32_t>(random() % 4);
        timed.home_range(at, at + page, to, now);
        warmed.home_range(at, at + page, to, now);
      }
      const auto core = static_cast<std::uint32_t>(random() % 4);
      const std::uint64_t address = random() % (16 * page) & ~std::uint64_t{3};
      constexpr access_kind kinds[] = {access_kind::read, access_kind::write, access_kind::atomic,
                                       access_kind::atomic_read, access_kind::atomic_write};
      const access_kind kind = kinds[random() % 5];
      timed.access(core, address, 4, kind, now);
      warmed.warm(core, address, 4, kind, now);
    }
    warmed.end_warming();
    state_words of_timed, of_warmed;
    timed.save_state(of_timed);
    warmed.save_state(of_warmed);
    EXPECT_EQ(of_timed, of_warmed);
  }
}

}  // namespace
}  // namespace situ::model
