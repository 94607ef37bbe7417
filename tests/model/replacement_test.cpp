// Replacements other than the least recently used line: worked examples, and a reference that is written for the test.
#include <situ/base/error.h>

#include "model/parts/machine_spec.h"
#include "model/parts/set_associative_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using machine::replacement;
using testing::HasSubstr;

// Accesses lines in turn, and fills those that are not there. Returns one letter for each: h for a hit, m for a miss.
std::string outcome(set_associative_cache& cache, std::initializer_list<std::uint64_t> lines) {
  std::string made;
  for (const std::uint64_t line : lines) {
    const bool there = cache.hit(line);
    if (!there) cache.fill(line, {});
    made += there ? 'h' : 'm';
  }
  return made;
}

TEST(Replacement, TheTreePointsAwayFromTheWaysThatWereUsed) {
  set_associative_cache cache{1, 4, 64, {.policy = replacement::tree_plru}};
  EXPECT_EQ(outcome(cache, {10, 11, 12, 13, 10}), "mmmmh");
  EXPECT_EQ(cache.fill(14, {}).line, 12u) << "the least recently used line is 11";
  // The root points left, and the left node to 11's way.
  EXPECT_EQ(cache.fill(15, {}).line, 11u);
  EXPECT_EQ(cache.fill(16, {}).line, 13u);
  EXPECT_EQ(cache.fill(17, {}).line, 10u);
}

// Two lines that are used again, and a scan of four: the example of replacement.h.
TEST(Replacement, PredictionsKeepWhatWasUsedAgain) {
  const auto of = [](replacement policy) {
    set_associative_cache cache{1, 4, 64, {.policy = policy}};
    return outcome(cache, {1, 2, 2, 1, 11, 12, 13, 14, 1, 2});
  };
  EXPECT_EQ(of(replacement::srrip), "mmhhmmmmhh");
  EXPECT_EQ(of(replacement::lru), "mmhhmmmmmm");
}

TEST(Replacement, ALineThatCameInIsNotYetUsedAgain) {
  set_associative_cache cache{1, 2, 64, {.policy = replacement::srrip}};
  EXPECT_NE(cache.entries()[0] >> 2, 1u);
  cache.fill(1, {});
  EXPECT_NE(cache.entries()[0] >> 2, 1u) << "an executor that hits here would not make its prediction 0";
  EXPECT_TRUE(cache.hit(1));
  EXPECT_EQ(cache.entries()[0] >> 2, 1u);
  cache.fill(2, {});
  EXPECT_EQ(cache.fill(3, {}).line, 2u);
}

TEST(Replacement, ASeedStatesItsVictims) {
  const auto victims = [](std::uint64_t seed) {
    set_associative_cache cache{1, 8, 64, {.policy = replacement::random, .seed = seed}};
    std::vector<std::uint64_t> all;
    for (std::uint64_t line = 0; line < 200; ++line) all.push_back(cache.fill(line, {}).line);
    return all;
  };
  EXPECT_EQ(victims(7), victims(7));
  EXPECT_NE(victims(7), victims(8));
  EXPECT_EQ(victims(7)[7], set_associative_cache::no_line) << "no line leaves while a way is free";

  // Each of 8 ways is the victim of an eighth of 40,000 fills, within 4 standard deviations (66).
  replacement_state order{{.policy = replacement::random, .seed = 1}, 1, 8};
  std::array<int, 8> count{};
  for (int i = 0; i < 40'000; ++i) ++count[order.victim(0)];
  for (const int each : count) EXPECT_NEAR(each, 5000, 265);
}

// One set, as plain as it can be: ways with a line or none, and the policy's own state.
class reference_set {
 public:
  reference_set(replacement policy, std::size_t ways)
      : policy_{policy}, ways_(ways), last_use_(ways), distance_(ways) {}

  [[nodiscard]] bool hit(std::uint64_t line) {
    const auto way = find(line);
    if (!way) return false;
    note(*way);
    distance_[*way] = 0;
    return true;
  }
  // Returns the line that leaves.
  std::optional<std::uint64_t> fill(std::uint64_t line) {
    const auto free = std::ranges::find(ways_, std::optional<std::uint64_t>{});
    const std::size_t way = free != ways_.end()                 ? static_cast<std::size_t>(free - ways_.begin())
                            : policy_ == replacement::tree_plru ? plru_victim(0, ways_.size())
                                                                : srrip_victim();
    const auto gone = ways_[way];
    ways_[way] = line;
    note(way);
    distance_[way] = 2;
    return gone;
  }
  bool drop(std::uint64_t line) {
    const auto way = find(line);
    if (way) ways_[*way].reset();
    return way.has_value();
  }

 private:
  [[nodiscard]] std::optional<std::size_t> find(std::uint64_t line) const {
    const auto found = std::ranges::find(ways_, std::optional{line});
    if (found == ways_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - ways_.begin());
  }
  void note(std::size_t way) { last_use_[way] = ++now_; }
  // A tree's bit points to the half whose last use is older. Of two that were never used the tree points to the first.
  [[nodiscard]] std::size_t plru_victim(std::size_t begin, std::size_t end) const {
    if (end - begin == 1) return begin;
    const std::size_t middle = (begin + end) / 2;
    const auto newest = [&](std::size_t from, std::size_t to) {
      return *std::max_element(last_use_.begin() + static_cast<std::ptrdiff_t>(from),
                               last_use_.begin() + static_cast<std::ptrdiff_t>(to));
    };
    return newest(begin, middle) <= newest(middle, end) ? plru_victim(begin, middle) : plru_victim(middle, end);
  }
  [[nodiscard]] std::size_t srrip_victim() {
    const int most = *std::ranges::max_element(distance_);
    for (int& each : distance_) each += 3 - most;
    return static_cast<std::size_t>(std::ranges::find(distance_, 3) - distance_.begin());
  }

  replacement policy_;
  std::vector<std::optional<std::uint64_t>> ways_;
  std::vector<std::uint64_t> last_use_;
  std::vector<int> distance_;
  std::uint64_t now_ = 0;
};

class ReplacementModel : public testing::TestWithParam<replacement> {};

// Reads, writes, fills and drops, a quarter of the hits by the first entry alone, as an executor does.
TEST_P(ReplacementModel, IsWhatAReferenceSays) {
  for (const std::uint32_t ways : {1U, 2U, 4U, 16U})
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE(testing::Message() << ways << " ways, seed " << seed);
      constexpr std::uint32_t sets = 4;
      set_associative_cache cache{sets, ways, 64, {.policy = GetParam()}};
      std::vector<reference_set> reference(sets, reference_set{GetParam(), ways});
      std::map<std::uint64_t, bool> dirty;
      std::mt19937 random{seed};
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t line = random() % (sets * ways * 2);
        reference_set& set = reference[line % sets];
        if (random() % 16 == 0) {
          const auto gone = cache.drop(line);
          ASSERT_EQ(gone.exists(), set.drop(line));
          ASSERT_EQ(gone.state.dirty, dirty[line]);
          dirty.erase(line);
          continue;
        }
        const bool writes = random() % 3 == 0;
        const bool is_front = cache.entries()[(line & (sets - 1)) * cache.stride()] >> 2 == line;
        const bool there = set.hit(line);
        if (is_front && !writes) {
          ASSERT_TRUE(there);
        } else {
          ASSERT_EQ(writes ? cache.hit_for_write(line) : cache.hit(line), there);
        }
        if (there) {
          dirty[line] = dirty[line] || writes;
          ASSERT_EQ(cache.state(line).dirty, dirty[line]);
          continue;
        }
        const auto gone = cache.fill(line, {.dirty = writes, .writable = true});
        const auto expected = set.fill(line);
        ASSERT_EQ(gone.exists(), expected.has_value());
        if (expected) {
          ASSERT_EQ(gone.line, *expected) << i;
          ASSERT_EQ(gone.state.dirty, dirty[*expected]);
          dirty.erase(*expected);
        }
        dirty[line] = writes;
      }
      std::set<std::uint64_t> held;
      cache.for_each(0, ~std::uint64_t{0} >> 2, [&](std::uint64_t line, line_state state) {
        EXPECT_TRUE(held.insert(line).second) << "each line once";
        EXPECT_EQ(state.dirty, dirty[line]);
      });
      EXPECT_EQ(held.size(), dirty.size());
    }
}
INSTANTIATE_TEST_SUITE_P(policies, ReplacementModel, testing::Values(replacement::tree_plru, replacement::srrip),
                         [](const auto& which) { return std::string{machine::name(which.param)}; });

TEST(Replacement, WhatAFileMayNotSay) {
  const auto message = [](const std::string& ways, const std::string& more) {
    try {
      const machine_spec made = parse_machine(R"(name = "one"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "101 ns"
bandwidth = "64 GB/s"
[[node]]
id = "l1"
kind = "cache"
level = 1
size = "12 KiB"
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
ways = )" + ways + "\n" + more + R"(
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = { integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }
)",
                                              "one.toml");
      return std::string{machine::name(made.caches[0].replacement.policy)};
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), errc::bad_file);
      return std::string{bad.message()};
    }
  };
  EXPECT_EQ(message("3", ""), "lru");
  EXPECT_EQ(message("3", "replacement = \"lru\""), "lru");
  EXPECT_EQ(message("3", "replacement = \"srrip\""), "srrip");
  EXPECT_EQ(message("3", "replacement = \"random\"\nreplacement_seed = 5"), "random");
  EXPECT_THAT(message("3", "replacement = \"random\""), HasSubstr("write both"));
  EXPECT_THAT(message("3", "replacement_seed = 5"), HasSubstr("write both"));
  EXPECT_THAT(message("3", "replacement = \"tree_plru\""), HasSubstr("needs a power of two of ways, not 3"));
  EXPECT_THAT(message("3", "replacement = \"oldest\""), HasSubstr("\"tree_plru\""));
}

}  // namespace
}  // namespace situ::model
