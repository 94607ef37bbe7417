#include <situ/base/error.h>
#include <situ/machine/processor_set.h>

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace {

using situ::machine::processor_set;

TEST(processor_set, is_written_and_read_as_ranges) {
  EXPECT_EQ(processor_set::parse("0-3,8").to_string(), "0-3,8");
  EXPECT_EQ(processor_set::parse("8,3,2,1,0,2").to_string(), "0-3,8");
  EXPECT_EQ(processor_set::parse("").to_string(), "");
  EXPECT_EQ(processor_set::parse("63-64,127-129").to_string(), "63-64,127-129");
  for (const char* text : {"a", "3-1", "1,", ",1", "1-", "-1", "1 2", "1048576", "0-1048576", "1--2"})
    EXPECT_THROW((void)processor_set::parse(text), situ::error) << text;
}

TEST(processor_set, equal_sets_are_equal_whatever_was_in_them) {
  processor_set a = processor_set::parse("1,200");
  a &= processor_set::parse("0-63");
  EXPECT_EQ(a, processor_set::parse("1"));
  a &= processor_set::parse("2");
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(a.first(), processor_set::npos);
}

TEST(processor_set, agrees_with_std_set) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  for (int round = 0; round < 200; ++round) {
    std::set<std::uint32_t> in[2];
    processor_set sets[2];
    for (int i = 0; i < 2; ++i)
      for (unsigned n = random() % 60; n > 0; --n) {
        const std::uint32_t value = random() % (round % 2 == 0 ? 40 : 400);
        in[i].insert(value);
        sets[i].insert(value);
      }
    std::set<std::uint32_t> both;
    std::set<std::uint32_t> either = in[0];
    for (const std::uint32_t v : in[1]) {
      either.insert(v);
      if (in[0].contains(v)) both.insert(v);
    }
    const auto list = [](const std::set<std::uint32_t>& s) { return std::vector<std::uint32_t>(s.begin(), s.end()); };
    ASSERT_EQ((sets[0] & sets[1]).members(), list(both));
    ASSERT_EQ((sets[0] | sets[1]).members(), list(either));
    ASSERT_EQ((sets[0] | sets[1]).size(), either.size());
    ASSERT_EQ(sets[0].intersects(sets[1]), !both.empty());
    ASSERT_EQ(sets[0].includes(sets[1]), both.size() == in[1].size());
    ASSERT_EQ(processor_set::parse(sets[0].to_string()), sets[0]);
    for (std::uint32_t v = 0; v < 410; ++v) ASSERT_EQ(sets[0].contains(v), in[0].contains(v));
  }
}

TEST(processor_set, this_thread_may_run_somewhere) { EXPECT_GE(processor_set::of_this_thread().size(), 1u); }

}  // namespace
