// Address translation: a second level of TLBs, larger pages, and walks that read the page table through the caches. By
// hand, and against lists of pages and lines.
#include <situ/base/error.h>

#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"
#include "model/parts/page_sizes.h"
#include "model/parts/page_tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using testing::HasSubstr;

constexpr time_ps ns = 1000;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t large = std::uint64_t{1} << 21;
constexpr std::uint64_t huge = std::uint64_t{1} << 30;

// A core of 1 GHz with a cache of 1 ns, in front of a memory that takes 100 more.
std::string text_of(const std::string& keys, std::uint32_t lines = 512, std::uint32_t ways = 8) {
  return fmt::format(R"(name = "translating"
[[node]]
id = "ddr"
kind = "memory"
size = "64 GiB"
latency = "101 ns"
bandwidth = "64 GB/s"
[[node]]
id = "l1"
kind = "cache"
cache = "data"
level = 1
size = "{} B"
ways = {}
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
[[node]]
id = "l1i"
in = "l1"
kind = "cache"
cache = "instruction"
level = 1
size = "4 KiB"
ways = 4
line_bytes = 64
latency = "1 ns"
[[node]]
id = "core"
in = "l1i"
kind = "core"
clock = "1 GHz"
cycles = {{ integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }}
{}
)",
                     lines * 64, ways, keys);
}

class translating {
 public:
  explicit translating(const std::string& keys, std::uint32_t lines = 512, std::uint32_t ways = 8)
      : machine_{parse_machine(text_of(keys, lines, ways), "translating.toml")} {
    machine_.map_range(0, std::uint64_t{1} << 40, 0);
  }
  // Returns the ns that a read takes.
  time_ps read(std::uint64_t address, access_kind kind = access_kind::read) {
    now_ += 100'000 * ns;
    return (machine_.access(0, address, 8, kind, now_) - now_) / ns;
  }
  std::vector<time_ps> read_all(const std::vector<std::uint64_t>& pages) {
    std::vector<time_ps> took;
    for (const std::uint64_t each : pages) took.push_back(read(each * page));
    return took;
  }
  [[nodiscard]] std::uint64_t counted(const char* part, const char* what) const {
    for (const part_counters& each : machine_.counters())
      if (each.part == part) return each[what];
    ADD_FAILURE() << "no part " << part;
    return 0;
  }
  modelled_machine& machine() { return machine_; }

 private:
  modelled_machine machine_;
  time_ps now_ = 0;
};

// The example at the head of tlb.h; the lines are in the cache from the first round on.
TEST(Translation, ASecondLevelFindsWhatTheFirstOneLost) {
  const std::string first = "dtlb = { entries = 2, ways = 2, page = \"4 KiB\", walk = 30 }\n";
  translating one{first};
  translating two{first + "stlb = { entries = 4, ways = 4, hit = 7 }\n"};
  for (translating* each : {&one, &two}) {
    EXPECT_EQ(each->read(1 * page), each == &one ? 131u : 138u);
    for (const std::uint64_t other : {2, 3, 4, 5, 6}) each->read(other * page);  // both levels lose page 1
    each->machine().reset_counters();
  }
  EXPECT_EQ(one.read_all({1, 1, 2, 1, 3, 2}), (std::vector<time_ps>{31, 1, 31, 1, 31, 31}));
  EXPECT_EQ(two.read_all({1, 1, 2, 1, 3, 2}), (std::vector<time_ps>{38, 1, 38, 1, 38, 8}));
  EXPECT_EQ(two.counted("DTLB 0", "hits"), 1u);
  EXPECT_EQ(two.counted("DTLB 0", "misses"), 4u);
  EXPECT_EQ(two.counted("STLB 0", "hits"), 1u);
  EXPECT_EQ(two.counted("STLB 0", "misses"), 3u);
  EXPECT_EQ(two.counted("DTLB 0", "walks"), 3u);
  EXPECT_EQ(two.counted("DTLB 0", "walk_ps"), 90 * ns);
  EXPECT_EQ(one.counted("DTLB 0", "walk_ps"), 120 * ns);
}

TEST(Translation, InstructionsAndDataShareTheSecondLevel) {
  translating machine{
      "dtlb = { entries = 1, ways = 1, page = \"4 KiB\", walk = 30 }\n"
      "itlb = { entries = 1, ways = 1, page = \"4 KiB\", walk = 20 }\n"
      "stlb = { entries = 4, ways = 4, hit = 7 }\n"};
  machine.read(3 * page);
  machine.read(3 * page, access_kind::fetch);
  EXPECT_EQ(machine.counted("ITLB 0", "misses"), 1u);
  EXPECT_EQ(machine.counted("ITLB 0", "walks"), 0u);
  EXPECT_EQ(machine.counted("STLB 0", "hits"), 1u);
}

TEST(Translation, WalksInSoftwareRetireInstructions) {
  translating machine{
      "dtlb = { entries = 1, ways = 1, page = \"64 KiB\", walk = 200, walk_instructions = 45 }\n"
      "itlb = { entries = 1, ways = 1, page = \"64 KiB\", walk = 200, walk_instructions = 40 }\n"};
  EXPECT_EQ(machine.read(0), 301u);
  EXPECT_EQ(machine.read(65535 & ~7), 101u);
  EXPECT_EQ(machine.read(65536), 301u);
  EXPECT_EQ(machine.read(0, access_kind::fetch), 301u);
  EXPECT_EQ(machine.counted("DTLB 0", "walk_instructions"), 90u);
  EXPECT_EQ(machine.machine().walk_instructions(0), 130u);
  machine.machine().reset_counters();
  EXPECT_EQ(machine.machine().walk_instructions(0), 0u);
}

// The first walk reads four entries from memory. Those of the next seven pages are beside the first one's, all in the
// cache; that of page 8 is in another line. Nine lines of one set are used.
TEST(Translation, WalksThroughCachesReadNeighbouringEntriesFromOneLine) {
  translating machine{"dtlb = { entries = 1, ways = 1, page = \"4 KiB\" }\npage_walks = \"through_caches\"\n", 1024,
                      16};
  EXPECT_EQ(machine.read_all({0, 1, 1, 2, 7, 8, 0}), (std::vector<time_ps>{505, 105, 1, 105, 105, 205, 5}));
  EXPECT_EQ(machine.counted("DTLB 0", "walks"), 6u);
  EXPECT_EQ(machine.counted("DTLB 0", "walk_reads"), 24u);
  EXPECT_EQ(machine.counted("DTLB 0", "walk_ps"), (404 + 3 * 4 + 104 + 4) * ns);
  EXPECT_EQ(machine.counted("L1d 0", "walk_misses"), 5u);
  EXPECT_EQ(machine.counted("L1d 0", "walk_hits"), 19u);
  EXPECT_EQ(machine.counted("core 0", "reads"), 7u) << "without those of the walks";
  EXPECT_EQ(machine.counted("L1d 0", "hits") + machine.counted("L1d 0", "misses"), 7u);
  EXPECT_EQ(machine.counted("dram 0", "reads"), 10u) << "those of the walks are among the memory's";
  machine.machine().reset_counters();
  EXPECT_EQ(machine.counted("DTLB 0", "walk_reads") + machine.counted("L1d 0", "walk_hits"), 0u);
}

// A page-walk cache leaves the lowest entry to read. Pages 512 apart have their own level-2 entries, in one line.
TEST(Translation, APageWalkCacheHoldsTheUpperLevels) {
  translating machine{
      "dtlb = { entries = 1, ways = 1, page = \"4 KiB\" }\npage_walks = \"through_caches\"\nwalk_cache = 4\n"};
  EXPECT_EQ(machine.read_all({0, 1, 512}), (std::vector<time_ps>{505, 102, 203}))
      << "1: an entry that the cache holds; 512: one that it holds, and one of memory";
  EXPECT_EQ(machine.counted("page-walk cache 0", "hits"), 2u);
  EXPECT_EQ(machine.counted("page-walk cache 0", "misses"), 1u);
  EXPECT_EQ(machine.counted("DTLB 0", "walk_reads"), 4u + 1 + 2);
}

// Pages of 2 MiB: a walk of three levels, separate entries, and one look-up for all 512 small pages.
TEST(Translation, LargePagesAreReadInThreeLevels) {
  const std::string keys =
      "dtlb = { entries = 1, ways = 1, page = \"4 KiB\" }\ndtlb_2m = { entries = 2, ways = 2 }\n"
      "page_walks = \"through_caches\"\n";
  translating machine{keys};
  machine.machine().set_page_size(large, 3 * large, 21);
  EXPECT_EQ(machine.read(large), 303u + 101);
  EXPECT_EQ(machine.read(large + 300 * page), 101u) << "the same page";
  EXPECT_EQ(machine.read(0), 3u + 101 + 101) << "a small page: its levels 4 to 2 are in lines that the walk has read";
  EXPECT_EQ(machine.read(large + 8), 1u) << "entries of large pages are separate";
  EXPECT_EQ(machine.read(2 * large), 3u + 101);
  EXPECT_EQ(machine.counted("DTLB 0", "misses"), 3u);
  EXPECT_EQ(machine.counted("DTLB 0", "misses_2m"), 2u);
  EXPECT_EQ(machine.counted("DTLB 0", "hits_2m"), 1u);
  EXPECT_EQ(machine.counted("DTLB 0", "walk_reads"), 3u + 4 + 3);

  translating all{keys + "page_size = \"2 MiB\"\n"};
  EXPECT_EQ(all.read(0), 303u + 101);
  EXPECT_EQ(all.read(511 * page), 101u);
  EXPECT_EQ(all.counted("DTLB 0", "misses_2m"), 1u);
  all.machine().set_page_size(0, huge, 30);
  EXPECT_EQ(all.read(2 * large), 2u + 101) << "two levels, in lines that the first walk has read";
  EXPECT_EQ(all.counted("DTLB 0", "misses_1g"), 1u);
}

// Without separate entries a large page takes one of the others, in both levels.
TEST(Translation, AllEntriesMayHoldAllSizes) {
  translating machine{
      "dtlb = { entries = 2, ways = 2, page = \"4 KiB\", walk = 30 }\nstlb = { entries = 4, ways = 4, hit = 7 }\n"};
  machine.machine().set_page_size(large, 2 * large, 21);
  EXPECT_EQ(machine.read(large), 138u);
  EXPECT_EQ(machine.read(0), 138u);
  EXPECT_EQ(machine.read(large + 77 * page), 101u);
  EXPECT_EQ(machine.read(page), 138u);
  EXPECT_EQ(machine.read(0), 8u) << "the first level holds the large page and page 1";
  EXPECT_EQ(machine.counted("STLB 0", "misses_2m"), 1u);
}

TEST(PageTables, LieAboveProgramsAndApart) {
  using namespace page_tables;
  EXPECT_EQ(entry(1, 4096), begin + (std::uint64_t{1} << 40) + 4096 + 8);
  EXPECT_EQ(entry(1, 0) / 64, entry(1, 7 * 4096 + 5) / 64);
  for (std::uint32_t level = 2; level <= levels; ++level) EXPECT_EQ(entry(level, 0), entry(level, 4096));
  const std::uint64_t last = begin - 1;
  for (std::uint32_t level = 1; level < levels; ++level) EXPECT_LT(entry(level, last), entry(level + 1, 0));
  EXPECT_GE(entry(1, 0), begin);
  EXPECT_LT(entry(levels, last), end);
  EXPECT_EQ(level_of(12), 1u);
  EXPECT_EQ(level_of(21), 2u);
  EXPECT_EQ(level_of(30), 3u);
}

// The example at the head of page_sizes.h.
TEST(PageSizes, OfWholePagesInARange) {
  page_sizes sizes;
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  sizes.set(1 * mib, 7 * mib, 21);
  const auto shifts = [&] {
    std::vector<std::uint32_t> all;
    for (std::uint64_t at = 0; at < 8; ++at) all.push_back(sizes.shift_at(at * mib));
    return all;
  };
  EXPECT_EQ(shifts(), (std::vector<std::uint32_t>{0, 0, 21, 21, 21, 21, 0, 0}));
  sizes.set(3 * mib, 4 * mib, 0);
  EXPECT_EQ(shifts(), (std::vector<std::uint32_t>{0, 0, 0, 0, 21, 21, 0, 0}));
}

// Against the size of each page of 2 MiB. A page of 1 GiB that loses a part is one no longer.
TEST(PageSizes, AreThoseOfAMapOfPages) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random{seed};
    page_sizes sizes;
    constexpr std::uint64_t parts = 2048;  // of 2 MiB
    std::vector<std::uint32_t> expected(parts, 0);
    for (int round = 0; round < 60; ++round) {
      const std::uint64_t step = large / 2;
      std::uint64_t begin = random() % (2 * parts) * step;
      std::uint64_t end = random() % (2 * parts) * step;
      if (begin > end) std::swap(begin, end);
      const std::uint32_t shift = std::vector<std::uint32_t>{0, 21, 30}[random() % 3];
      sizes.set(begin, end, shift);
      if (shift > 0) {
        const std::uint64_t size = std::uint64_t{1} << shift;
        begin = (begin + size - 1) / size * size;
        end = end / size * size;
      }
      for (std::uint64_t part = 0; part < parts; ++part) {
        if (part * large >= end || (part + 1) * large <= begin) continue;
        if (expected[part] == 30)
          for (std::uint64_t other = part / 512 * 512; other < (part / 512 + 1) * 512; ++other) expected[other] = 0;
      }
      for (std::uint64_t part = 0; part < parts; ++part)
        if (part * large < end && (part + 1) * large > begin) expected[part] = shift;
      for (std::uint64_t part = 0; part < parts; ++part)
        ASSERT_EQ(sizes.shift_at(part * large + random() % large), expected[part]) << round << ' ' << part;
    }
  }
}

// Sets of numbers in the order of their use, the last one first.
class list_of_sets {
 public:
  list_of_sets(std::size_t entries, std::size_t ways) : sets_(entries / ways), ways_{ways} {}
  // Returns whether the number was there; it is the last used one afterwards.
  bool use(std::uint64_t number, std::uint64_t set) {
    std::vector<std::uint64_t>& in = sets_[set % sets_.size()];
    const auto at = std::ranges::find(in, number);
    const bool found = at != in.end();
    if (found) in.erase(at);
    in.insert(in.begin(), number);
    if (in.size() > ways_) in.pop_back();
    return found;
  }
  [[nodiscard]] bool holds(std::uint64_t number, std::uint64_t set) const {
    return std::ranges::count(sets_[set % sets_.size()], number) > 0;
  }

 private:
  std::vector<std::vector<std::uint64_t>> sets_;
  std::size_t ways_;
};

// The same machine, written down from the docs: 8 entries for small pages, 4 for those of 2 MiB, a second level of 16, a
// page-walk cache of 3, a cache of 32 lines in 4 ways.
struct naive_translation {
  list_of_sets small{8, 2};
  list_of_sets of_2m{4, 4};
  list_of_sets second{16, 4};
  list_of_sets upper{3, 3};
  list_of_sets lines{32, 4};
  std::uint64_t last = ~std::uint64_t{0};  // the page before, by its first address
  std::uint64_t walks = 0, walk_reads = 0, walk_misses = 0, first_misses = 0, second_misses = 0, first_hits = 0;

  time_ps line(std::uint64_t address) { return lines.use(address / 64, address / 64) ? 1 : 101; }
  time_ps walk(std::uint64_t address, unsigned lowest) {
    ++walks;
    unsigned level = 4;
    const auto number = [&](unsigned of) { return (address >> (12 + 9 * (of - 1))) * 8 + of; };
    for (unsigned known = 4; known > lowest; --known)
      if (upper.holds(number(known), 0)) level = known - 1;
    if (level < 4) upper.use(number(level + 1), 0);
    time_ps took = 0;
    for (;; --level) {
      const time_ps read = line(page_tables::entry(level, address));
      took += read;
      ++walk_reads;
      walk_misses += read > 1 ? 1 : 0;
      if (level == lowest) return took;
      upper.use(number(level), 0);
    }
  }
  time_ps read(std::uint64_t address, bool is_large) {
    const std::uint64_t size = is_large ? large : page;
    const std::uint64_t number = address / size;
    time_ps took = 0;
    if (last != number * size + (is_large ? 1 : 0)) {
      last = number * size + (is_large ? 1 : 0);
      if ((is_large ? of_2m : small).use(number, number)) {
        ++first_hits;
      } else {
        ++first_misses;
        took += 7;
        if (!second.use(number * 2 + (is_large ? 1 : 0), number)) {
          ++second_misses;
          took += walk(address, is_large ? 2 : 1);
        }
      }
    }
    return took + line(address);
  }
};

TEST(Translation, IsThatOfListsOfPagesAndLines) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random{seed};
    translating machine{
        "dtlb = { entries = 8, ways = 2, page = \"4 KiB\" }\ndtlb_2m = { entries = 4, ways = 4 }\n"
        "stlb = { entries = 16, ways = 4, hit = 7 }\npage_walks = \"through_caches\"\nwalk_cache = 3\n",
        32, 4};
    naive_translation naive;
    machine.machine().set_page_size(8 * large, 24 * large, 21);
    for (int i = 0; i < 20'000; ++i) {
      // 16 regions of small pages far apart, each of 24 pages; or one of 16 large pages
      const bool is_large = random() % 4 == 0;
      const std::uint64_t address = is_large
                                        ? 8 * large + random() % (16 * large)
                                        : (64 + random() % 2 * 512 + random() % 2) * large + random() % (24 * page);
      ASSERT_EQ(machine.read(address & ~std::uint64_t{7}), naive.read(address & ~std::uint64_t{7}, is_large)) << i;
    }
    EXPECT_EQ(machine.counted("DTLB 0", "hits"), naive.first_hits);
    EXPECT_EQ(machine.counted("DTLB 0", "misses"), naive.first_misses);
    EXPECT_EQ(machine.counted("STLB 0", "misses"), naive.second_misses);
    EXPECT_EQ(machine.counted("DTLB 0", "walks"), naive.walks);
    EXPECT_EQ(machine.counted("DTLB 0", "walk_reads"), naive.walk_reads);
    EXPECT_EQ(machine.counted("L1d 0", "walk_misses"), naive.walk_misses);
    EXPECT_EQ(machine.counted("core 0", "reads"), 20'000u);
  }
}

TEST(Translation, WhatAFileMayNotSay) {
  const auto message = [](const std::string& keys) {
    try {
      (void)parse_machine(text_of(keys), "translating.toml");
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), errc::bad_file);
      return std::string{bad.message()};
    }
    return std::string{};
  };
  const std::string dtlb = "dtlb = { entries = 8, ways = 2, page = \"4 KiB\", walk = 30 }\n";
  const std::string bare = "dtlb = { entries = 8, ways = 2, page = \"4 KiB\" }\n";
  const std::string through = "page_walks = \"through_caches\"\n";
  EXPECT_EQ(message(dtlb + "page_walks = \"fixed\"\npage_size = \"4 KiB\"\n"), "");
  EXPECT_THAT(message(dtlb + "stlb = { entries = 8, ways = 2 }\n"),
              HasSubstr("translating.toml:29: node[3]: core 0: stlb needs all"));
  EXPECT_THAT(message(dtlb + "stlb = { entries = 9, ways = 3, hit = 7, page = \"4 KiB\" }\n"), HasSubstr("page"));
  EXPECT_THAT(message(dtlb + "stlb = { entries = 9, ways = 3, hit = 7 }\n"), HasSubstr("stlb: 9 entries in 3 ways"));
  EXPECT_THAT(message("stlb = { entries = 8, ways = 2, hit = 7 }\n"), HasSubstr("stlb is behind an itlb or a dtlb"));
  EXPECT_THAT(
      message(
          dtlb +
          "itlb = { entries = 8, ways = 2, page = \"2 MiB\", walk = 30 }\nstlb = { entries = 8, ways = 2, hit = 7 }\n"),
      HasSubstr("have the same page"));
  EXPECT_THAT(message("dtlb_2m = { entries = 8, ways = 2 }\n"), HasSubstr("dtlb_2m is beside the entries of dtlb"));
  EXPECT_THAT(message(dtlb + "dtlb_2m = { entries = 8 }\n"), HasSubstr("dtlb_2m needs both"));
  EXPECT_THAT(message(dtlb + "dtlb_1g = { entries = 3, ways = 1 }\n"), HasSubstr("dtlb_1g: 3 entries in 1 ways"));
  EXPECT_THAT(
      message("dtlb = { entries = 8, ways = 2, page = \"2 MiB\", walk = 30 }\ndtlb_2m = { entries = 8, ways = 8 }\n"),
      HasSubstr("dtlb_2m: the pages of dtlb are as large already"));
  EXPECT_THAT(message(dtlb + through), HasSubstr("dtlb: walk is the time of walks that do not go through the caches"));
  EXPECT_THAT(message(bare), HasSubstr("walk = 30"));
  EXPECT_THAT(message(through + "dtlb = { entries = 8, ways = 2, page = \"4 KiB\", walk_instructions = 20 }\n"),
              HasSubstr("dtlb: walk_instructions are of walks in software"));
  EXPECT_THAT(message(through), HasSubstr("page_walks are those of an itlb or a dtlb"));
  EXPECT_THAT(message(through + "dtlb = { entries = 8, ways = 2, page = \"8 KiB\" }\n"),
              HasSubstr("4 KiB, 2 MiB or 1 GiB"));
  EXPECT_THAT(message(dtlb + "walk_cache = 4\n"), HasSubstr("walk_cache is of walks through the caches"));
  EXPECT_THAT(message(dtlb + "page_walks = \"short\"\n"), HasSubstr("\"through_caches\""));
  EXPECT_THAT(message(dtlb + "page_size = \"16 KiB\"\n"), HasSubstr("page_size is that of dtlb, or 2 MiB or 1 GiB"));
  EXPECT_THAT(message("page_size = \"2 MiB\"\n"), HasSubstr("which a dtlb translates"));
}

}  // namespace
}  // namespace situ::model
