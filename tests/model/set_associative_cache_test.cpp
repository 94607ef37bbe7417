#include "model/parts/set_associative_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>

namespace situ::model {
namespace {

// Two sets of two ways, lines of 16 bytes: even lines in set 0, odd ones in set 1.
TEST(SetAssociativeCache, TheLeastRecentlyUsedLineLeaves) {
  set_associative_cache cache{2, 2, 16};
  EXPECT_EQ(cache.line_of(0x4f), 4u);
  EXPECT_EQ(cache.address_of(4), 0x40u);
  EXPECT_FALSE(cache.hit(0));
  EXPECT_FALSE(cache.fill(0, {}).exists());
  EXPECT_FALSE(cache.fill(2, {}).exists());
  EXPECT_FALSE(cache.fill(1, {}).exists());  // another set
  EXPECT_TRUE(cache.hit(0));                 // so 2 is the older one
  const auto gone = cache.fill(4, {});
  EXPECT_EQ(gone.line, 2u);
  EXPECT_FALSE(gone.state.dirty);
  EXPECT_TRUE(cache.hit(0));
  EXPECT_FALSE(cache.hit(2));
  EXPECT_TRUE(cache.hit(4));
}

TEST(SetAssociativeCache, AWriteNeedsALineThatMayBeWritten) {
  set_associative_cache cache{4, 1, 32};
  cache.fill(7, {});
  EXPECT_FALSE(cache.hit_for_write(7));
  EXPECT_FALSE(cache.state(7).dirty);
  EXPECT_TRUE(cache.set_state(7, {.dirty = false, .writable = true}));
  EXPECT_TRUE(cache.hit_for_write(7));
  EXPECT_TRUE(cache.state(7).dirty);
  const auto gone = cache.fill(11, {});
  EXPECT_EQ(gone.line, 7u);
  EXPECT_TRUE(gone.state.dirty);
  EXPECT_FALSE(cache.set_state(7, {}));
}

TEST(SetAssociativeCache, DroppedLinesAreGone) {
  set_associative_cache cache{1, 3, 64};
  cache.fill(1, {.dirty = true});
  cache.fill(2, {});
  cache.fill(3, {});
  EXPECT_TRUE(cache.drop(1).state.dirty);
  EXPECT_FALSE(cache.drop(1).exists());
  EXPECT_FALSE(cache.fill(4, {}).exists());  // its way is free
  EXPECT_EQ(cache.fill(5, {}).line, 2u);
}

TEST(SetAssociativeCache, RangesGiveTheLinesThatAreThere) {
  set_associative_cache cache{8, 2, 16};
  for (const std::uint64_t line : {3, 5, 900}) cache.fill(line, {.dirty = line == 5});
  const auto lines = [&](std::uint64_t first, std::uint64_t last) {
    std::map<std::uint64_t, bool> found;
    cache.for_each(first, last, [&](std::uint64_t line, line_state state) { found[line] = state.dirty; });
    return found;
  };
  EXPECT_EQ(lines(4, 6), (std::map<std::uint64_t, bool>{{5, true}}));
  EXPECT_EQ(lines(0, 800), (std::map<std::uint64_t, bool>{{3, false}, {5, true}}));
  EXPECT_EQ(lines(0, ~0ULL), (std::map<std::uint64_t, bool>{{3, false}, {5, true}, {900, false}}));
  cache.for_each(0, ~0ULL, [&](std::uint64_t line, line_state) { cache.drop(line); });
  EXPECT_TRUE(lines(0, ~0ULL).empty());
}

// Against lists: the same hits, the same victims.
TEST(SetAssociativeCache, DoesAsListsDo) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    const std::uint32_t sets = 1U << random() % 4;
    const std::uint32_t ways = 1 + random() % 5;
    set_associative_cache cache{sets, ways, 32};
    std::vector<std::list<std::pair<std::uint64_t, bool>>> expected(sets);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t line = random() % (sets * ways * 2);
      auto& set = expected[line % sets];
      const auto at = std::ranges::find(set, line, &std::pair<std::uint64_t, bool>::first);
      const bool write = random() % 3 == 0;
      if (random() % 20 == 0) {
        ASSERT_EQ(cache.drop(line).exists(), at != set.end());
        if (at != set.end()) set.erase(at);
        continue;
      }
      ASSERT_EQ(write ? cache.hit_for_write(line) : cache.hit(line), at != set.end());
      if (at != set.end()) {
        at->second |= write;
        set.splice(set.begin(), set, at);
        continue;
      }
      const auto gone = cache.fill(line, {.dirty = write, .writable = true});
      set.emplace_front(line, write);
      ASSERT_EQ(gone.exists(), set.size() > ways);
      if (set.size() <= ways) continue;
      ASSERT_EQ(gone.line, set.back().first);
      ASSERT_EQ(gone.state.dirty, set.back().second);
      set.pop_back();
    }
  }
}

}  // namespace
}  // namespace situ::model
