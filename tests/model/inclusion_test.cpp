// Caches that hold all lines of those in front of them, or none: by hand, and against two lists of lines.
#include <situ/base/error.h>

#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using testing::HasSubstr;

constexpr time_ps ns = 1000;
constexpr std::uint32_t line_bytes = 64;

struct shape {
  std::uint32_t cores = 1;
  std::uint32_t l1_lines = 4;
  std::uint32_t l1_ways = 4;
  std::uint32_t l2_lines = 8;
  std::uint32_t l2_ways = 8;
  std::string of_l1;
  std::string of_l2;
};

// Cores of 1 GHz with a first cache each, which takes 1 ns, and a second one for all, which takes 10; memory takes 100
// more.
std::string text_of(const shape& of) {
  std::string text = R"(name = "two levels"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "110 ns"
bandwidth = "64 GB/s"
)";
  const auto add = [&](int level, std::uint32_t count, std::uint32_t lines, std::uint32_t ways, int latency,
                       const std::string& more) {
    text += fmt::format(
        "[[node]]\nid = \"l{}\"\nkind = \"cache\"\nlevel = {}\ncount = {}\nsize = \"{} B\"\nways = {}\nline_bytes = "
        "{}\n"
        "latency = \"{} ns\"\nallocates_on = \"reads_and_writes\"\n{}{}{}",
        level, level, count, lines * line_bytes, ways, line_bytes, latency,
        more.find("write_policy") == std::string::npos ? "write_policy = \"write_back\"\n" : "", more,
        level == 1 ? "in = \"l2\"\n" : "");
  };
  add(2, 1, of.l2_lines, of.l2_ways, 10, of.of_l2);
  add(1, of.cores, of.l1_lines, of.l1_ways, 1, of.of_l1);
  return text + R"([[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = { integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }
)";
}

class two_levels {
 public:
  explicit two_levels(const shape& of) : machine_{parse_machine(text_of(of), "two.toml")} {
    machine_.map_range(0, 1 << 30, 0);
  }
  time_ps access(std::uint32_t core, std::uint64_t line, access_kind kind = access_kind::read) {
    now_ += 1000 * ns;
    return machine_.access(core, line * line_bytes, 8, kind, now_) - now_;
  }
  void write_back(std::uint32_t core) { now_ = machine_.write_back(core, 0, 1 << 20, now_); }
  // Returns a count of the second cache (0), or of the first cache of a core (1 + core).
  [[nodiscard]] std::uint64_t cache(std::size_t which, const char* what) const {
    for (const part_counters& each : machine_.counters())
      if (each.kind == "cache" && which-- == 0) return each[what];
    ADD_FAILURE() << "no such cache";
    return 0;
  }
  [[nodiscard]] std::uint64_t memory(const char* what) const {
    for (const part_counters& each : machine_.counters())
      if (each.kind == "memory") return each[what];
    return 0;
  }

 private:
  modelled_machine machine_;
  time_ps now_ = 0;
};

// Core 1 uses so many lines that core 0's line leaves the cache that both share.
TEST(Inclusion, ALineThatLeavesAnInclusiveCacheLeavesThoseInFront) {
  for (const bool is_inclusive : {false, true}) {
    SCOPED_TRACE(is_inclusive);
    two_levels machine{
        {.cores = 2, .l2_lines = 4, .l2_ways = 4, .of_l2 = is_inclusive ? "inclusion = \"inclusive\"\n" : ""}};
    machine.access(0, 1, access_kind::write);
    for (const std::uint64_t line : {2, 3, 4, 5}) machine.access(1, line);
    EXPECT_EQ(machine.memory("writes"), is_inclusive ? 1u : 0u) << "core 0 has written the line";
    EXPECT_EQ(machine.cache(1, "invalidations"), is_inclusive ? 1u : 0u);
    EXPECT_EQ(machine.access(0, 1), (is_inclusive ? 110 : 1) * ns);
  }
}

// Two lines and two lines hold four together, if no line is in both.
TEST(Inclusion, AnExclusiveCacheAddsItsLinesToThoseInFront) {
  const shape of{.l1_lines = 2, .l1_ways = 2, .l2_lines = 2, .l2_ways = 2, .of_l2 = "inclusion = \"exclusive\"\n"};
  two_levels machine{of};
  for (const std::uint64_t line : {1, 2, 3, 4}) EXPECT_EQ(machine.access(0, line), 110 * ns);
  for (const std::uint64_t line : {1, 2, 3, 4}) EXPECT_EQ(machine.access(0, line), 10 * ns);
  EXPECT_EQ(machine.memory("reads"), 4u);
  EXPECT_EQ(machine.cache(0, "evictions"), 0u);

  shape none = of;
  none.of_l2 = "inclusion = \"none\"\n";
  two_levels usual{none};
  for (int round = 0; round < 2; ++round)
    for (const std::uint64_t line : {1, 2, 3, 4}) EXPECT_EQ(usual.access(0, line), 110 * ns);
}

// A line that is written back stays in the first cache, and enters no exclusive cache behind it, not even as its first line.
TEST(Inclusion, WritingBackLeavesLinesInFrontOfAnExclusiveCache) {
  two_levels machine{
      {.l1_lines = 2, .l1_ways = 2, .l2_lines = 2, .l2_ways = 2, .of_l2 = "inclusion = \"exclusive\"\n"}};
  machine.access(0, 1, access_kind::write);
  machine.access(0, 2, access_kind::write);
  machine.write_back(0);
  EXPECT_EQ(machine.memory("writes"), 2u);
  for (const std::uint64_t line : {1, 2}) EXPECT_EQ(machine.access(0, line), 1 * ns);
  for (const std::uint64_t line : {3, 2, 4}) machine.access(0, line);  // 1 and 3 enter the second cache
  EXPECT_EQ(machine.cache(0, "evictions"), 0u);
  for (const std::uint64_t line : {1, 3}) EXPECT_EQ(machine.access(0, line), 10 * ns);
  EXPECT_EQ(machine.memory("writes"), 2u);
}

TEST(Inclusion, AWrittenLineTakesItsDirtyBitAlong) {
  two_levels machine{
      {.l1_lines = 1, .l1_ways = 1, .l2_lines = 2, .l2_ways = 2, .of_l2 = "inclusion = \"exclusive\"\n"}};
  machine.access(0, 1, access_kind::write);
  machine.access(0, 2);  // line 1 goes to the second cache
  machine.access(0, 1);  // and comes back, still to be written
  machine.access(0, 3);  // lines 2 and 1 are in the second cache
  machine.access(0, 4);  // 3 takes the place of 2
  EXPECT_EQ(machine.memory("writes"), 0u);
  machine.access(0, 5);  // 4 takes the place of 1
  EXPECT_EQ(machine.memory("writes"), 1u);
}

// Sets of lines in the order of their use, the last one first.
class list_cache {
 public:
  struct held {
    std::uint64_t line;
    bool dirty;
  };
  list_cache(std::uint32_t lines, std::uint32_t ways) : sets_(lines / ways), ways_{ways} {}
  [[nodiscard]] held* find(std::uint64_t line) {
    auto& set = sets_[line % sets_.size()];
    const auto at = std::ranges::find(set, line, &held::line);
    return at == set.end() ? nullptr : &*at;
  }
  [[nodiscard]] held* use(std::uint64_t line) {
    auto& set = sets_[line % sets_.size()];
    const auto at = std::ranges::find(set, line, &held::line);
    if (at == set.end()) return nullptr;
    set.splice(set.begin(), set, at);
    return &set.front();
  }
  std::optional<held> take(std::uint64_t line) {
    auto& set = sets_[line % sets_.size()];
    const auto at = std::ranges::find(set, line, &held::line);
    if (at == set.end()) return std::nullopt;
    const held gone = *at;
    set.erase(at);
    return gone;
  }
  std::optional<held> put(held comes) {
    auto& set = sets_[comes.line % sets_.size()];
    set.push_front(comes);
    if (set.size() <= ways_) return std::nullopt;
    const held gone = set.back();
    set.pop_back();
    return gone;
  }

 private:
  std::vector<std::list<held>> sets_;
  std::uint32_t ways_;
};

// What two such caches hold, and the counts.
struct reference {
  reference(const shape& of, machine::inclusion how)
      : l1{of.l1_lines, of.l1_ways}, l2{of.l2_lines, of.l2_ways}, includes{how} {}

  void access(std::uint64_t line, bool writes) {
    if (list_cache::held* const here = l1.use(line)) {
      ++l1_hits;
      here->dirty |= writes;
      return;
    }
    bool dirty = writes;
    if (l2.use(line) != nullptr) {
      ++l2_hits;
      if (includes == machine::inclusion::exclusive) dirty |= l2.take(line)->dirty;
    } else {
      ++memory_reads;
      if (includes != machine::inclusion::exclusive) put_outside({line, false});
    }
    const auto gone = l1.put({line, dirty});
    if (!gone || (!gone->dirty && includes != machine::inclusion::exclusive)) return;
    if (list_cache::held* const outside = l2.find(gone->line))
      outside->dirty |= gone->dirty;
    else
      put_outside(*gone);
  }
  void put_outside(list_cache::held comes) {
    auto gone = l2.put(comes);
    if (!gone) return;
    ++l2_evictions;
    if (includes == machine::inclusion::inclusive)
      if (const auto inner = l1.take(gone->line)) {
        ++l1_invalidations;
        gone->dirty |= inner->dirty;
      }
    memory_writes += gone->dirty ? 1 : 0;
  }

  list_cache l1;
  list_cache l2;
  machine::inclusion includes;
  std::uint64_t l1_hits = 0, l2_hits = 0, l2_evictions = 0, l1_invalidations = 0, memory_reads = 0, memory_writes = 0;
};

class InclusionModel : public testing::TestWithParam<machine::inclusion> {};

TEST_P(InclusionModel, IsWhatTwoListsSay) {
  for (const std::uint32_t seed : {1U, 2U, 3U})
    for (const auto& [l1_ways, l2_lines, l2_ways] :
         {std::array{2U, 8U, 2U}, {4U, 16U, 4U}, {1U, 4U, 4U}, {2U, 6U, 3U}}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", L2 of " << l2_lines << " lines");
      const shape of{.l1_lines = 4,
                     .l1_ways = l1_ways,
                     .l2_lines = l2_lines,
                     .l2_ways = l2_ways,
                     .of_l2 = fmt::format("inclusion = \"{}\"\n", machine::name(GetParam()))};
      two_levels machine{of};
      reference expected{of, GetParam()};
      std::mt19937 random{seed};
      for (int i = 0; i < 3000; ++i) {
        const std::uint64_t line = random() % 3 == 0 ? random() % 40 : random() % (l2_lines + 2);
        const bool writes = random() % 3 == 0;
        machine.access(0, line, writes ? access_kind::write : access_kind::read);
        expected.access(line, writes);
        if (i % 50 != 0 && i < 2990) continue;
        ASSERT_EQ(machine.cache(1, "hits"), expected.l1_hits) << i;
        ASSERT_EQ(machine.cache(0, "hits"), expected.l2_hits) << i;
        ASSERT_EQ(machine.cache(0, "evictions"), expected.l2_evictions) << i;
        ASSERT_EQ(machine.cache(1, "invalidations"), expected.l1_invalidations) << i;
        ASSERT_EQ(machine.memory("reads"), expected.memory_reads) << i;
        ASSERT_EQ(machine.memory("writes"), expected.memory_writes) << i;
      }
    }
}
INSTANTIATE_TEST_SUITE_P(kinds, InclusionModel,
                         testing::Values(machine::inclusion::none, machine::inclusion::inclusive,
                                         machine::inclusion::exclusive),
                         [](const auto& which) { return std::string{machine::name(which.param)}; });

TEST(Inclusion, WhatAFileMayNotSay) {
  const auto message = [](const shape& of) {
    try {
      (void)parse_machine(text_of(of), "two.toml");
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), errc::bad_file);
      return std::string{bad.message()};
    }
    return std::string{"no error"};
  };
  EXPECT_EQ(message({.of_l1 = "inclusion = \"none\"\n", .of_l2 = "inclusion = \"inclusive\"\n"}), "no error");
  EXPECT_THAT(message({.of_l1 = "inclusion = \"inclusive\"\n"}), HasSubstr("no cache is in front of it"));
  EXPECT_THAT(message({.of_l1 = "write_policy = \"write_through\"\n", .of_l2 = "inclusion = \"exclusive\"\n"}),
              HasSubstr("takes the lines that L1"));
  EXPECT_THAT(
      message({.of_l2 = "inclusion = \"exclusive\"\noutstanding = 4\nprefetch_streams = 2\nprefetch_lines = 2\n"}),
      HasSubstr("has no prefetcher"));
  EXPECT_THAT(message({.of_l2 = "inclusion = \"all\"\n"}), HasSubstr("\"exclusive\""));
}

}  // namespace
}  // namespace situ::model
