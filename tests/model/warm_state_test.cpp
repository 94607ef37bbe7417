// The contents of a machine's caches, TLBs and prefetchers in a file, and in another machine.
#include <situ/base/error.h>

#include "model/parts/branch_predictor.h"
#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"
#include "model/parts/warm_state.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using testing::HasSubstr;

std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const error& failure) {
    return std::string{failure.message()};
  }
  return "no error";
}

TEST(WarmState, AFileHoldsItsWords) {
  const state_words words{1, 0, ~std::uint64_t{0}};
  const std::string content = encode_state(77, words);
  EXPECT_EQ(content.size(), 8 + 7 * 8u);  // magic, version, hash, number, three words, checksum
  EXPECT_EQ(decode_state(content, 77, "file"), words);
}

TEST(WarmState, ForeignAndBrokenFilesAreRefused) {
  const std::string whole = encode_state(77, state_words{5, 6, 7});
  const auto refused = [](const std::string& content) {
    return error_of([&] { (void)decode_state(content, 77, "file"); });
  };
  EXPECT_THAT(refused(""), HasSubstr("file: is no saved state"));
  EXPECT_THAT(refused("something else"), HasSubstr("file: is no saved state"));
  for (std::size_t bytes = 8; bytes < whole.size(); ++bytes)
    EXPECT_THAT(refused(whole.substr(0, bytes)), HasSubstr("file: was cut off")) << bytes;
  EXPECT_THAT(refused(whole + "12345678"), HasSubstr("more behind its end"));
  for (std::size_t at = 16; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    EXPECT_THAT(refused(changed), HasSubstr("file: was c")) << at;  // changed, or cut off by its number of words
  }
  std::string newer = whole;
  newer[8] = 9;
  EXPECT_THAT(refused(newer), HasSubstr("version 9 of saved states; this program reads version 1"));
  EXPECT_THAT(error_of([&] { (void)decode_state(whole, 78, "file"); }), HasSubstr("of another machine"));
}

TEST(WarmState, AReaderEndsWithItsWords) {
  const state_words words{3, 4};
  state_reader from{words};
  EXPECT_EQ(from.next(), 3u);
  EXPECT_THAT(error_of([&] { (void)from.next(2); }), HasSubstr("ends before"));
  EXPECT_EQ(from.next(), 4u);
  EXPECT_TRUE(from.is_at_end());
}

// A core with both TLBs, a first cache with a prefetcher, and a second one with this replacement.
machine_spec machine_of(const std::string& replacement, const char* latency = "10 ns", int ways = 4,
                        const std::string& of_core = "", const std::string& of_l1 = "",
                        const std::string& before_ddr = "") {
  return parse_machine(fmt::format(R"(name = "two levels"
{5}
[[node]]
id = "ddr"
{6}
kind = "memory"
size = "1 GiB"
latency = "110 ns"
bandwidth = "64 GB/s"
[[node]]
id = "l2"
kind = "cache"
level = 2
size = "4 KiB"
ways = {0}
line_bytes = 64
latency = "{1}"
write_policy = "write_back"
allocates_on = "reads_and_writes"
{2}
[[node]]
id = "l1"
in = "l2"
kind = "cache"
level = 1
count = 2
size = "512 B"
ways = 2
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
outstanding = 4
prefetch_streams = 4
prefetch_lines = 2
{4}
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = {{ integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }}
dtlb = {{ entries = 4, ways = 2, page = "4 KiB"{3}
)",
                                   ways, latency, replacement, of_core.empty() ? ", walk = 30 }" : of_core, of_l1,
                                   before_ddr, before_ddr.empty() ? "" : "in = \"side\""),
                       "test");
}

struct accessor {
  modelled_machine& machine;
  std::mt19937_64 random{7};
  time_ps now = 0;

  // Accesses of two cores to 32 KiB, some of them in streams.
  void access(int count) {
    for (int i = 0; i < count; ++i) {
      const auto core = static_cast<std::uint32_t>(random() % 2);
      std::uint64_t at = random() % 32768 & ~std::uint64_t{7};
      for (int step = 0; step < 4; ++step, at += 64)
        now = machine.access(core, at, 8, random() % 3 == 0 ? access_kind::write : access_kind::read, now);
    }
  }
};

std::vector<std::uint64_t> counts(const modelled_machine& of) {
  std::vector<std::uint64_t> made;
  for (const part_counters& part : of.counters())
    for (const char* counter : {"hits", "misses", "evictions", "write_backs", "invalidations", "prefetches"})
      if (part.kind == "cache" || part.kind == "tlb") made.push_back(part[counter]);
  return made;
}

class Replacements : public testing::TestWithParam<const char*> {};
TEST_P(Replacements, AnotherMachineGoesOnAlike) {
  modelled_machine first{machine_of(GetParam())};
  first.map_range(0, 1 << 20, 0);
  accessor accesses{first};
  accesses.access(2000);
  state_words words;
  first.save_state(words);

  modelled_machine second{machine_of(GetParam(), "20 ns")};  // a latency may differ
  second.map_range(0, 1 << 20, 0);
  ASSERT_EQ(first.state_hash(), second.state_hash());
  state_reader from{words};
  second.load_state(from);
  EXPECT_TRUE(from.is_at_end());
  state_words again;
  second.save_state(again);
  EXPECT_EQ(words, again);

  first.reset_counters();
  second.reset_counters();
  accessor alike{second, accesses.random, accesses.now + 1'000'000};
  accesses.now += 1'000'000;  // nothing is under way
  accesses.access(500);
  alike.access(500);
  EXPECT_EQ(counts(first), counts(second));

  modelled_machine cold{machine_of(GetParam())};
  cold.map_range(0, 1 << 20, 0);
  accessor of_cold{cold};
  of_cold.access(500);
  EXPECT_NE(counts(first), counts(cold));
}
INSTANTIATE_TEST_SUITE_P(each, Replacements,
                         testing::Values("", "replacement = \"tree_plru\"", "replacement = \"srrip\"",
                                         "replacement = \"random\"\nreplacement_seed = 5"));

// A second level of TLBs, walks through the caches, a victim buffer, a cache at the memory's side: a machine that goes on
// from another's contents counts like that one.
TEST(WarmState, AllPartsWithContentsGoOnAlike) {
  const auto whole = [] {
    return machine_of("", "10 ns", 4,
                      " }\nstlb = { entries = 8, ways = 4, hit = 7 }\npage_walks = \"through_caches\"\nwalk_cache = 4",
                      "victim_lines = 2",
                      "[[node]]\nid = \"side\"\nkind = \"cache\"\ncache = \"memory_side\"\nsize = \"8 KiB\"\nways = 1\n"
                      "line_bytes = 64\nlatency = \"60 ns\"\nbandwidth = \"100 GB/s\"");
  };
  const auto counted = [](const modelled_machine& of) {
    std::vector<std::uint64_t> made;
    for (const part_counters& part : of.counters())
      for (const auto& [name, value] : part.values)
        if (!name.ends_with("_ps")) made.push_back(value);
    return made;
  };
  modelled_machine first{whole()};
  first.map_range(0, 1 << 20, 0);
  accessor accesses{first};
  accesses.access(2000);
  state_words words;
  first.save_state(words);
  modelled_machine second{whole()};
  second.map_range(0, 1 << 20, 0);
  state_reader from{words};
  second.load_state(from);
  EXPECT_TRUE(from.is_at_end());
  first.reset_counters();
  second.reset_counters();
  accessor alike{second, accesses.random, accesses.now + 1'000'000};
  accesses.now += 1'000'000;
  accesses.access(500);
  alike.access(500);
  EXPECT_EQ(counted(first), counted(second));
  EXPECT_NE(first.state_hash(), modelled_machine{machine_of("")}.state_hash());
}

TEST(WarmState, MachinesOfOtherShapesHaveOtherHashes) {
  const modelled_machine one{machine_of("")};
  EXPECT_NE(one.state_hash(), modelled_machine{machine_of("", "10 ns", 8)}.state_hash());
  EXPECT_NE(one.state_hash(), modelled_machine{machine_of("replacement = \"srrip\"")}.state_hash());
}

// The bits of a tree, of which one would lead out of its set.
TEST(WarmState, AnOrderOfReplacementThatCannotBeIsRefused) {
  replacement_state order{{.policy = machine::replacement::tree_plru}, 1, 4};
  for (const std::uint64_t bit : {1, 2}) {
    const state_words words{0, 0, 1, bit, 0};
    state_reader from{words};
    EXPECT_THAT(error_of([&] { order.load(from); }),
                HasSubstr(bit == 1 ? "no error" : "a cache's order of replacement cannot be"));
  }
}

TEST(WarmState, TooFewWordsAreRefused) {
  modelled_machine made{machine_of("")};
  state_words words;
  made.save_state(words);
  words.pop_back();
  state_reader from{words};
  EXPECT_THAT(error_of([&] { made.load_state(from); }), HasSubstr("ends before the machine's parts do"));
}

// A loop of three blocks that the first predictor has learnt.
TEST(WarmState, APredictorGoesOnAlike) {
  branch_predictor first;
  for (int i = 0; i < 100; ++i)
    for (const std::uint64_t block : {8, 16, 24, 16}) (void)first.go_to(block);
  state_words words;
  first.save(words);
  branch_predictor second;
  state_reader from{words};
  second.load(from);
  EXPECT_TRUE(from.is_at_end());
  for (const std::uint64_t block : {8, 16, 24, 16, 8}) EXPECT_TRUE(second.go_to(block));
  EXPECT_FALSE(second.go_to(32));
}

}  // namespace
}  // namespace situ::model
