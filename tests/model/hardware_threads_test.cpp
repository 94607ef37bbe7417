// Cores of several hardware threads: what threads of a core share, counted by hand on tests/model/two_threads_a_core.toml,
// whose processors 0 and 2 are threads of core 0, and 1 and 3 of core 1.
#include <situ/base/error.h>

#include "model/parts/branch_predictor.h"
#include "model/parts/issue_slots.h"
#include "model/parts/machine_settings.h"
#include "model/parts/modelled_machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr time_ps ns = 1000;

machine_spec spec_with(const std::vector<std::string>& settings) {
  std::ifstream stream{SITU_TEST_SOURCE_DIR "/model/two_threads_a_core.toml"};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  return parse_machine(apply_settings(text, "two.toml", settings), "two.toml");
}

std::string error_with(const std::vector<std::string>& settings) {
  try {
    (void)spec_with(settings);
  } catch (const error& failure) {
    return std::string{failure.message()};
  }
  return "no error";
}

std::map<std::string, std::uint64_t> counts_of(const modelled_machine& machine, const std::string& part) {
  std::map<std::string, std::uint64_t> made;
  for (const part_counters& each : machine.counters())
    if (each.part == part)
      for (const auto& [name, value] : each.values) made[name] = value;
  return made;
}

// --- machine files

TEST(HardwareThreads, ComeAsLinuxNumbersThem) {
  const machine_spec spec = spec_with({});
  ASSERT_EQ(spec.cores.size(), 4u);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> numbers;
  std::vector<std::string> names;
  for (const core_spec& each : spec.cores) {
    numbers.emplace_back(each.core, each.thread);
    names.push_back(each.name);
    EXPECT_EQ(each.threads, 2u);
  }
  EXPECT_THAT(numbers, ElementsAre(Pair(0, 0), Pair(1, 0), Pair(0, 1), Pair(1, 1)));
  EXPECT_THAT(names, ElementsAre("core 0 thread 0", "core 1 thread 0", "core 0 thread 1", "core 1 thread 1"));
  EXPECT_THAT(spec.tiles[0].cores, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(spec.cores[2].data_path, spec.cores[0].data_path);
  EXPECT_THAT(spec.caches[spec.cores[1].data_path.front()].cores, ElementsAre(1, 3));
  EXPECT_EQ(spec_with({"core.threads=1"}).cores.size(), 2u);
  EXPECT_EQ(spec_with({"core.threads=3"}).cores.back().name, "core 1 thread 2");
}

TEST(HardwareThreads, BoundsAreCheckedWithFileAndLine) {
  EXPECT_THAT(error_with({"core.threads=0"}),
              HasSubstr("two.toml:54: node[4].threads: a core has 1 to 128 hardware threads"));
  EXPECT_THAT(error_with({"core.threads=129"}), HasSubstr("two.toml:54"));
  EXPECT_THAT(error_with({"l2.threads=2"}), HasSubstr("threads"));
  EXPECT_THAT(error_with({"core.window=8", "core.store_buffer=1"}),
              HasSubstr("2 threads share a window of 8 and a store buffer of 1"));
}

TEST(HardwareThreads, AreTheProcessingUnitsIfTheFileHasSeveral) {
  std::ifstream stream{SITU_TEST_SOURCE_DIR "/model/two_threads_a_core.toml"};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  const auto with = [&](int units) {
    return parse_machine(
        text + fmt::format("[[node]]\nid = \"pu\"\nin = \"core\"\nkind = \"processing_unit\"\ncount = {}\n", units),
        "units.toml");
  };
  EXPECT_EQ(with(2).cores.size(), 4u);
  EXPECT_EQ(with(2).cores[3].name, "core 1 thread 1");
  EXPECT_EQ(with(1).cores.size(), 4u);
  EXPECT_THROW((void)with(3), error);
}

// --- what they share

struct ThreadsOfACore : testing::Test {
  void access(std::uint32_t processor, std::uint64_t address, access_kind kind = access_kind::read) {
    now = machine.access(processor, address, 8, kind, now);
  }
  struct taken_lines final : sharing_observer {
    void on_taken(std::uint32_t core, std::uint64_t address) override { seen.emplace_back(core, address); }
    std::vector<std::pair<std::uint32_t, std::uint64_t>> seen;
  };
  ThreadsOfACore() {
    machine.map_range(0, std::uint64_t{1} << 32, 0);
    machine.observe_sharing(&observer);
  }
  modelled_machine machine{spec_with({})};
  taken_lines observer;
  time_ps now = 0;
};

TEST_F(ThreadsOfACore, HaveOneFirstCache) {
  access(0, 4096);
  const time_ps begin = now;
  access(2, 4104);
  EXPECT_EQ(now - begin, 1 * ns);  // its page is in the TLB, too
  access(1, 4096);
  EXPECT_EQ(counts_of(machine, "L1d 0")["misses"], 1u);
  EXPECT_EQ(counts_of(machine, "L1d 0")["hits"], 1u);
  EXPECT_EQ(counts_of(machine, "L1d 1")["misses"], 1u);
  EXPECT_EQ(counts_of(machine, "core 0 thread 1")["reads"], 1u);
}

TEST_F(ThreadsOfACore, TakeNoLinesFromEachOther) {
  access(0, 4096, access_kind::write);
  access(2, 4104, access_kind::write);
  access(0, 4096, access_kind::write);
  EXPECT_THAT(observer.seen, IsEmpty());
  for (const std::uint32_t processor : {0U, 2U}) {
    EXPECT_EQ(machine.sharing(processor).coherence_misses, 0u);
    EXPECT_EQ(machine.sharing(processor).upgrades, 0u);
  }
  access(3, 4096, access_kind::write);  // both lose the line
  EXPECT_THAT(observer.seen, ElementsAre(Pair(0, 4096), Pair(2, 4096)));
  access(2, 4096);
  EXPECT_EQ(machine.sharing(2).coherence_misses, 1u);
  access(0, 4096);
  EXPECT_EQ(machine.sharing(0).coherence_misses, 0u);  // its sibling has brought it back
}

TEST_F(ThreadsOfACore, HaveOneTlb) {
  access(0, 4096);
  access(2, 4096);
  EXPECT_EQ(counts_of(machine, "DTLB 0")["misses"], 1u);
  EXPECT_EQ(counts_of(machine, "DTLB 0")["hits"], 1u);
  for (std::uint64_t page = 2; page < 6; ++page) access(2, page * 4096);  // four entries: page 1 goes
  access(0, 6 * 4096);
  access(0, 4096);
  EXPECT_EQ(counts_of(machine, "DTLB 0")["misses"], 7u);
  EXPECT_THAT(counts_of(machine, "DTLB 2"), IsEmpty());
  access(1, 4096);
  EXPECT_EQ(counts_of(machine, "DTLB 1")["misses"], 1u);
}

TEST_F(ThreadsOfACore, HaveOneSavedState) {
  access(0, 4096);
  access(2, 8192, access_kind::write);
  state_words words;
  machine.save_state(words);
  modelled_machine other{spec_with({})};
  other.map_range(0, std::uint64_t{1} << 32, 0);
  EXPECT_EQ(other.state_hash(), machine.state_hash());
  EXPECT_NE(modelled_machine{spec_with({"core.threads=1"})}.state_hash(), machine.state_hash());
  state_reader from{words};
  other.load_state(from);
  EXPECT_TRUE(from.is_at_end());
  EXPECT_EQ(other.access(2, 4096, 8, access_kind::read, 0), ns);
  EXPECT_EQ(other.access(0, 8192, 8, access_kind::read, 0), ns);
}

// A limit of a core's misses is one of all its threads.
TEST(HardwareThreads, HaveTheMissRegistersOfTheirCore) {
  modelled_machine machine{
      spec_with({"l2.outstanding=8", "l2.outstanding_per_core=1", "core.window=16", "core.store_buffer=4"})};
  machine.map_range(0, std::uint64_t{1} << 32, 0);
  const auto load = [&](std::uint32_t processor, std::uint64_t address) {
    (void)machine.access_ahead(processor, {.address = address, .bytes = 8, .kind = access_kind::read}, 0);
    return machine.wait_for_all(processor, 0);
  };
  const time_ps one = load(0, 4096);
  EXPECT_GT(load(2, 8192), 2 * one - 40 * ns);
  EXPECT_LT(load(1, 12288), 2 * one - 40 * ns);
}

// A load of about 100 ns stops a core of a window of 8 at the eighth instruction behind it; with two threads at the
// fourth.
TEST(HardwareThreads, DivideTheWindowWhileSeveralAreActive) {
  modelled_machine machine{spec_with({"core.window=8", "core.store_buffer=4"})};
  machine.map_range(0, std::uint64_t{1} << 32, 0);
  std::uint64_t next = 1;
  const auto waits_at = [&](std::uint32_t processor) {
    time_ps now = 10'000 * ns * next;
    const std::uint64_t first = 1000 * next++;
    for (std::uint64_t i = 0;; ++i) {
      const time_ps goes_on = machine.access_ahead(
          processor,
          {.address = (i == 0 ? first * 4096 : 64), .bytes = 8, .kind = access_kind::read, .instruction = first + i},
          now);
      if (goes_on > now) return i;
      now = goes_on + ns;
    }
  };
  EXPECT_EQ(waits_at(0), 8u);
  machine.share_core(0, 2);
  EXPECT_EQ(waits_at(0), 4u);
  EXPECT_EQ(waits_at(2), 4u);
  EXPECT_EQ(waits_at(1), 8u);  // another core
  machine.share_core(2, 1);
  EXPECT_EQ(waits_at(0), 8u);
}

// Stores of a window that was divided leave until there is room within the smaller buffer.
TEST(HardwareThreads, DivideTheStoreBuffer) {
  modelled_machine machine{spec_with({"core.window=64", "core.store_buffer=4", "core.threads=4"})};
  machine.map_range(0, std::uint64_t{1} << 32, 0);
  const auto store = [&](std::uint64_t i, time_ps now) {
    return machine.access_ahead(
        0, {.address = 4096 * (i + 1), .bytes = 8, .kind = access_kind::write, .instruction = i}, now);
  };
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(store(i, i * ns), i * ns);
  machine.share_core(0, 4);
  EXPECT_GT(store(4, 4 * ns), 130 * ns);  // room for one: when the last of the four is there
}

TEST(HardwareThreads, LearnBranchesInOneTable) {
  branch_predictor first;
  branch_predictor second = first.of_sibling();
  for (int i = 0; i < 8; ++i)
    for (const std::uint64_t block : {7U, 8U}) (void)first.go_to(block);
  EXPECT_TRUE(second.go_to(7));   // nothing before it: no prediction
  EXPECT_FALSE(second.go_to(9));  // the other has learnt that 8 comes next
  branch_predictor alone;
  EXPECT_TRUE(alone.go_to(7));
  EXPECT_TRUE(alone.go_to(9));
  state_words words;
  second.save(words);
  EXPECT_EQ(words.size(), 5u);  // its path: the tables are the first one's
}

// --- the width

TEST(IssueSlots, TheExample) {
  issue_slots slots{1};
  issue_slots::taken a;
  issue_slots::taken b;
  ASSERT_EQ(slots.length(), 64u);
  EXPECT_EQ(slots.take(a, 2, 0, 200), 200u);
  EXPECT_EQ(slots.take(b, 2, 0, 100), 196u);
  EXPECT_EQ(slots.take(a, 2, 200, 10), 210u);
  EXPECT_EQ(slots.take(a, 1, 210, 20), 330u);
}

// The bound that docs/design/model.md names: 1024 intervals are kept.
TEST(IssueSlots, AThreadBehindAllIntervalsTakesNothing) {
  for (const time_ps intervals : {1024, 1025}) {
    issue_slots slots{1};
    issue_slots::taken a;
    issue_slots::taken b;
    EXPECT_EQ(slots.take(a, 2, 0, intervals * 64), intervals * 64);
    EXPECT_EQ(slots.take(b, 2, 0, 32 + 16), intervals == 1024 ? 64u + 16u : 48u);
  }
}

TEST(IssueSlots, AloneIsAsWithoutThem) {
  std::mt19937_64 random{7};
  issue_slots slots{333};
  issue_slots::taken only;
  time_ps now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += random() % 3 == 0 ? random() % 500'000 : 0;
    const time_ps work = random() % 40'000;
    ASSERT_EQ(slots.take(only, 1 + random() % 2, now, work), now + work) << i;
    now += work;
  }
}

// Threads that never wait take turns of some length: no time of the core is given out twice, and each gets its share.
TEST(IssueSlots, ThreadsThatNeverWaitHaveEqualParts) {
  for (const std::uint32_t threads : {2U, 3U, 4U}) {
    issue_slots slots{1};
    std::vector<issue_slots::taken> taken(threads);
    std::vector<time_ps> clock(threads, 0);
    std::vector<time_ps> work(threads, 0);
    std::mt19937 random{threads};
    while (*std::ranges::min_element(clock) < 100'000) {
      const auto next = static_cast<std::size_t>(std::ranges::min_element(clock) - clock.begin());
      for (const time_ps until = clock[next] + 500; clock[next] < until;) {
        const time_ps part = 1 + random() % 9;
        clock[next] = slots.take(taken[next], threads, clock[next], part);
        work[next] += part;
      }
    }
    time_ps sum = 0;
    for (std::size_t i = 0; i < threads; ++i) {
      EXPECT_NEAR(static_cast<double>(work[i]), 100'000.0 / threads, 1200) << threads;
      sum += work[i];
    }
    EXPECT_NEAR(static_cast<double>(sum), 100'000, 1200);
  }
}

// One waits 100 for each 2 of work: it is hardly slower beside one that never waits, which gets all that is left.
TEST(IssueSlots, AThreadThatWaitsLeavesItsPart) {
  issue_slots slots{1};
  issue_slots::taken waits;
  issue_slots::taken computes;
  time_ps first = 0;
  time_ps second = 0;
  time_ps computed = 0;
  std::uint64_t rounds = 0;
  while (first < 100'000) {
    if (first <= second) {
      first = slots.take(waits, 2, first, 2) + 100;
      ++rounds;
      continue;
    }
    second = slots.take(computes, 2, second, 5);
    computed += 5;
  }
  EXPECT_NEAR(static_cast<double>(rounds), 100'000.0 / 102, 2);
  EXPECT_NEAR(static_cast<double>(computed), 100'000.0 * 100 / 102, 300);
}

}  // namespace
}  // namespace situ::model
