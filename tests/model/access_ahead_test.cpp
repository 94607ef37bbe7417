// Cores that go on past a miss, prefetchers, and the parts that these are made of: each by its worked example.
#include "model/parts/branch_predictor.h"
#include "model/parts/instruction_window.h"
#include "model/parts/load_dependence.h"
#include "model/parts/miss_registers.h"
#include "model/parts/modelled_machine.h"
#include "model/parts/stream_prefetcher.h"
#include "model/parts/wrong_paths.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr time_ps ahead_ns = 1000;

TEST(MissRegisters, AMissWaitsForOne) {
  miss_registers two{2};
  EXPECT_EQ(two.begin_of(0), 0u);
  two.take(1, 0, 100, 0);
  EXPECT_EQ(two.begin_of(10), 10u);
  two.take(2, 10, 110, 0);
  EXPECT_EQ(two.begin_of(20), 100u);
  EXPECT_FALSE(two.has_free(20));
  EXPECT_EQ(two.arrival(2, 50), 110u);
  EXPECT_EQ(two.arrival(2, 200), 200u);
  EXPECT_EQ(two.arrival(3, 50), 50u);
}

TEST(MissRegisters, WhatBeginsLaterKeepsNoneTillThen) {
  miss_registers two{2};
  two.take(1, 300, 400, 0);
  two.take(2, 300, 400, 0);
  EXPECT_EQ(two.begin_of(0), 0u);
  EXPECT_EQ(two.begin_of(350), 400u);
}

TEST(MissRegisters, NoCountIsNoLimit) {
  miss_registers any{0};
  any.take(1, 0, 100, 0);
  EXPECT_EQ(any.begin_of(50), 50u);
  EXPECT_EQ(any.arrival(1, 50), 50u);
}

std::vector<std::uint64_t> wanted_after(stream_prefetcher& prefetcher, std::uint64_t line) {
  std::vector<std::uint64_t> wanted;
  prefetcher.see(line, [&](std::uint64_t next) {
    wanted.push_back(next);
    return true;
  });
  return wanted;
}

TEST(StreamPrefetcher, TwoEqualStridesMakeAStream) {
  stream_prefetcher prefetcher{2, 4, 64};
  EXPECT_THAT(wanted_after(prefetcher, 10), IsEmpty());
  EXPECT_THAT(wanted_after(prefetcher, 11), IsEmpty());
  EXPECT_THAT(wanted_after(prefetcher, 12), ElementsAre(13, 14, 15, 16));
  EXPECT_THAT(wanted_after(prefetcher, 12), IsEmpty());
  EXPECT_THAT(wanted_after(prefetcher, 13), ElementsAre(17));
}

TEST(StreamPrefetcher, StridesMayBeLongOrDownwards) {
  stream_prefetcher prefetcher{2, 4, 64};
  wanted_after(prefetcher, 10);
  wanted_after(prefetcher, 13);
  EXPECT_THAT(wanted_after(prefetcher, 16), ElementsAre(19, 22, 25, 28));
  wanted_after(prefetcher, 110);
  wanted_after(prefetcher, 109);
  EXPECT_THAT(wanted_after(prefetcher, 108), ElementsAre(107, 106, 105, 104));
}

TEST(StreamPrefetcher, StreamsThatGoOnShareTheLines) {
  stream_prefetcher prefetcher{2, 4, 64};
  for (const std::uint64_t line : {10, 110, 11, 111}) wanted_after(prefetcher, line);
  EXPECT_THAT(wanted_after(prefetcher, 12), ElementsAre(13, 14, 15, 16));  // the other is none yet
  EXPECT_THAT(wanted_after(prefetcher, 112), ElementsAre(113, 114));
  EXPECT_THAT(wanted_after(prefetcher, 13), IsEmpty());  // 14 and 15 are on their way
  EXPECT_THAT(wanted_after(prefetcher, 113), ElementsAre(115));
  EXPECT_THAT(wanted_after(prefetcher, 114), ElementsAre(116, 117, 118));  // the last two accesses are its own
}

TEST(StreamPrefetcher, StopsAtThePage) {
  stream_prefetcher prefetcher{2, 4, 64};  // 64 lines a page
  wanted_after(prefetcher, 59);
  wanted_after(prefetcher, 60);
  EXPECT_THAT(wanted_after(prefetcher, 61), ElementsAre(62, 63));
  EXPECT_THAT(wanted_after(prefetcher, 62), IsEmpty());
}

TEST(StreamPrefetcher, GoesOnInALargerPage) {
  stream_prefetcher prefetcher{2, 4, 64, 8192};  // 128 lines a page
  wanted_after(prefetcher, 59);
  wanted_after(prefetcher, 60);
  EXPECT_THAT(wanted_after(prefetcher, 61), ElementsAre(62, 63, 64, 65));
  wanted_after(prefetcher, 62);
  wanted_after(prefetcher, 63);
  EXPECT_THAT(wanted_after(prefetcher, 64), ElementsAre(68));  // the same stream, in the next 4 KiB
  for (std::uint64_t line = 65; line < 125; ++line) wanted_after(prefetcher, line);
  EXPECT_THAT(wanted_after(prefetcher, 125), IsEmpty());  // 126 and 127 were asked for, and 128 is another page's
  wanted_after(prefetcher, 126);
  wanted_after(prefetcher, 127);
  EXPECT_THAT(wanted_after(prefetcher, 128), IsEmpty());
  EXPECT_THAT(wanted_after(prefetcher, 129), IsEmpty());
  EXPECT_THAT(wanted_after(prefetcher, 130), ElementsAre(131, 132, 133, 134));
}

TEST(StreamPrefetcher, RandomAccessesAreNoStream) {
  stream_prefetcher prefetcher{2, 4, 64};
  for (const std::uint64_t line : {3, 40, 7, 22, 61, 12}) EXPECT_THAT(wanted_after(prefetcher, line), IsEmpty());
}

TEST(StreamPrefetcher, WhatCouldNotBeFetchedIsWantedAgain) {
  stream_prefetcher prefetcher{2, 4, 64};
  wanted_after(prefetcher, 10);
  wanted_after(prefetcher, 11);
  int asked = 0;
  prefetcher.see(12, [&](std::uint64_t) { return ++asked < 2; });
  EXPECT_EQ(asked, 2);
  EXPECT_THAT(wanted_after(prefetcher, 13), ElementsAre(14, 15, 16, 17));
}

// A stream as its words: the time, then part, last, next, stride, used, goes on; 64 lines a page.
std::string loaded(std::uint64_t last, std::uint64_t next, std::int64_t stride) {
  const state_words words{9, last / 64, last, next, static_cast<std::uint64_t>(stride), 8, 1};
  stream_prefetcher prefetcher{1, 4, 64};
  state_reader from{words};
  try {
    prefetcher.load(from);
  } catch (const error& failure) {
    return std::string{failure.message()};
  }
  wanted_after(prefetcher, last + static_cast<std::uint64_t>(stride));
  return "loaded";
}

TEST(StreamPrefetcher, StreamsThatNoAccessesLeaveAreRefused) {
  constexpr std::uint64_t far = std::uint64_t{1} << 63;
  EXPECT_THAT(loaded(100, 99 + far, -1), HasSubstr("leaves its page"));  // would divide the least number by -1
  EXPECT_THAT(loaded(100, 128 + 1, 1), HasSubstr("leaves its page"));
  EXPECT_THAT(loaded(100, 101, 65), HasSubstr("leaves its page"));
  EXPECT_THAT(loaded(100, 101, -65), HasSubstr("leaves its page"));
  EXPECT_THAT(loaded(100, 101, std::numeric_limits<std::int64_t>::min()), HasSubstr("leaves its page"));
  EXPECT_EQ(loaded(100, 128, 1), "loaded");  // behind the last line of the page
  EXPECT_EQ(loaded(100, 63, -1), "loaded");
  EXPECT_EQ(loaded(1, ~std::uint64_t{0}, -1), "loaded");
  EXPECT_EQ(loaded(100, 0, 0), "loaded");  // one line so far
}

// All that accesses leave is accepted.
TEST(StreamPrefetcher, WhatAccessesLeaveIsTakenOver) {
  std::mt19937_64 random{5};
  stream_prefetcher prefetcher{3, 4, 64, 8192};
  std::uint64_t line = 0, step = 1;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 6 == 0) step = random() % 9 - 4;
    line = random() % 20 == 0 ? random() % 512 : line + step;
    const bool refuses = random() % 4 == 0;
    prefetcher.see(line, [&](std::uint64_t) { return !refuses; });
    state_words words, again;
    prefetcher.save(words);
    stream_prefetcher other{3, 4, 64, 8192};
    state_reader from{words};
    ASSERT_NO_THROW(other.load(from)) << "after " << i << " lines";
    other.save(again);
    ASSERT_EQ(again, words);
  }
}

// How many of the last `counted` steps of a path were not foreseen.
template <class NextBlock>
int not_foreseen(int steps, int counted, NextBlock&& next) {
  branch_predictor predictor;
  int missed = 0;
  for (int i = 0; i < steps; ++i)
    if (!predictor.go_to(next(i)) && i >= steps - counted) ++missed;
  return missed;
}

TEST(BranchPredictor, WhatRepeatsIsForeseen) {
  EXPECT_EQ(not_foreseen(100, 100, [](int) { return 0x400000; }), 0);
  // a loop of four turns: only the path tells its end
  EXPECT_EQ(not_foreseen(400, 200, [](int i) { return i % 5 == 4 ? 0x400100 : 0x400000; }), 0);
  // one of forty
  EXPECT_EQ(not_foreseen(10'000, 2000, [](int i) { return i % 40 == 39 ? 0x400100 : 0x400000; }), 0);
}

TEST(BranchPredictor, OfRandomBranchesHalfAreForeseen) {
  std::uint64_t random = 1;
  const int missed = not_foreseen(20'000, 10'000, [&](int i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    if (i % 2 == 0) return 0x400000;
    return (random >> 63) != 0 ? 0x400100 : 0x400200;
  });
  EXPECT_NEAR(missed, 2500, 300);  // of 5000 branches
}

TEST(BranchPredictor, ARareTurnIsMissedAndTheCommonOneIsNot) {
  std::uint64_t random = 1;
  const int missed = not_foreseen(20'000, 10'000, [&](int i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    if (i % 2 == 0) return 0x400000;
    return (random >> 59) == 0 ? 0x400100 : 0x400200;  // one in 32
  });
  EXPECT_GT(missed, 80);
  EXPECT_LT(missed, 500);
}

TEST(LoadDependence, APointerIsWaitedFor) {
  load_dependence loads;
  loads.loaded(0x2000, 8, 1, 500);
  EXPECT_EQ(loads.known(0x2008, 2, 10), 500u);
  EXPECT_EQ(loads.known(0x2000 - 64, 2, 10), 500u);
  EXPECT_EQ(loads.known(0x2000 + 1024, 2, 10), 10u);
  EXPECT_EQ(loads.known(0x3000, 2, 10), 10u);
  EXPECT_EQ(loads.known(0x2008, 2, 600), 600u);
  load_dependence small;
  small.loaded(0x2000, 4, 1, 500);  // four bytes hold no pointer
  EXPECT_EQ(small.known(0x2008, 2, 10), 10u);
  load_dependence null;
  null.loaded(0, 8, 1, 500);
  EXPECT_EQ(null.known(8, 2, 10), 10u);
}

TEST(LoadDependence, AnIndexIsLearntFromTwoPairs) {
  load_dependence loads;
  const std::uint64_t code = 0x400100;
  const auto step = [&](std::uint64_t value, time_ps ready, time_ps now) {
    const time_ps at = loads.known(1000 + 4 * value, code, now);
    return std::pair{at, ready};
  };
  loads.loaded(7, 4, code, 100);
  EXPECT_EQ(step(7, 0, 10).first, 10u);  // nothing is known of it
  loads.loaded(3, 4, code, 200);
  EXPECT_EQ(step(3, 0, 20).first, 20u);  // scale and base
  loads.loaded(9, 4, code, 300);
  EXPECT_EQ(step(9, 0, 30).first, 30u);  // they hold
  loads.loaded(5, 4, code, 400);
  EXPECT_EQ(step(5, 0, 40).first, 400u);
  EXPECT_EQ(loads.known(5000, code, 50), 50u);  // this one comes from elsewhere
}

TEST(LoadDependence, AConstantStrideNeedsNoIndex) {
  load_dependence loads;
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(loads.known(0x10000 + 8 * i, 0x400100, i), i);
    loads.loaded(i + 1, 8, 0x400100, i + 1000);
  }
}

TEST(InstructionWindow, StopsSoManyInstructionsLater) {
  instruction_window window{100, 4};
  EXPECT_EQ(window.enter(0, 0), 0u);
  window.add_load(0, 300);
  EXPECT_EQ(window.enter(50, 50), 50u);
  window.add_load(50, 350);
  EXPECT_EQ(window.enter(99, 99), 99u);
  EXPECT_EQ(window.enter(100, 100), 300u);
  EXPECT_EQ(window.enter(149, 349), 349u);
  EXPECT_EQ(window.enter(150, 349), 350u);
}

TEST(InstructionWindow, StoresLeaveInTheirOrder) {
  instruction_window window{100, 2};
  EXPECT_EQ(window.store_room(0), 0u);
  window.add_store(64, 8, 300);
  EXPECT_EQ(window.store_room(1), 1u);
  window.add_store(128, 8, 100);  // done at 100, gone at 300
  EXPECT_TRUE(window.forwards(132, 4));
  EXPECT_FALSE(window.forwards(132, 8));
  EXPECT_EQ(window.store_room(2), 300u);
  window.add_store(192, 8, 310);
  EXPECT_EQ(window.all_done(302), 310u);
  EXPECT_FALSE(window.forwards(192, 8));
}

TEST(WrongPaths, TheFirstThatReachedAnInstructionCounts) {
  wrong_paths paths;
  EXPECT_EQ(paths.asked_at(0, 0), 0u);
  paths.add({.until = 12, .begin = 2, .known = 101}, 106);
  EXPECT_EQ(paths.asked_at(3, 107), 3u);
  paths.add({.until = 14, .begin = 108, .known = 108}, 113);
  EXPECT_EQ(paths.asked_at(5, 114), 5u);
  EXPECT_EQ(paths.asked_at(11, 120), 11u);
  EXPECT_EQ(paths.asked_at(12, 121), 121u);
}

TEST(WrongPaths, APathEndsWhenItsBranchIsKnown) {
  wrong_paths paths;
  paths.add({.until = 100, .begin = 10, .known = 14}, 20);
  EXPECT_EQ(paths.asked_at(5, 22), 12u);
  EXPECT_EQ(paths.asked_at(9, 24), 24u);  // at 14 the core knew better
  paths.add({.until = 100, .begin = 30, .known = 50}, 55);
  EXPECT_EQ(paths.asked_at(12, 56), 31u);
}

TEST(WrongPaths, OneBehindTheWindowOfAnother) {
  wrong_paths paths;
  paths.add({.until = 10, .begin = 0, .known = 100}, 105);
  EXPECT_EQ(paths.asked_at(1, 106), 1u);
  paths.add({.until = 15, .begin = 110, .known = 130}, 135);  // at instruction 5
  EXPECT_EQ(paths.asked_at(9, 139), 9u);                      // by the first path
  EXPECT_EQ(paths.asked_at(10, 140), 115u);                   // by the second one
  EXPECT_EQ(paths.asked_at(15, 145), 145u);
}

// One core of 1 GHz: a hit takes 1 ns, memory 100 ns behind the look into the cache; lines of 64 bytes.
std::string small_host(const std::string& of_core, const std::string& of_cache) {
  return R"(name = "small"
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
size = "4 KiB"
ways = 4
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
)" + of_cache +
         R"([[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = { integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }
)" + of_core;
}

modelled_machine machine_with(const std::string& of_core, const std::string& of_cache) {
  modelled_machine machine{parse_machine(small_host(of_core, of_cache), "small.toml")};
  machine.map_range(0, 1 << 30, 0);
  return machine;
}

std::uint64_t counted_ahead(const modelled_machine& machine, const std::string& kind, const std::string& what) {
  for (const part_counters& counters : machine.counters())
    if (counters.kind == kind) return counters[what];
  ADD_FAILURE() << "no " << kind;
  return 0;
}

window_access load_at(std::uint64_t address, std::uint64_t instruction, std::uint64_t value = 0) {
  return {.address = address, .bytes = 8, .instruction = instruction, .code = 0x400000, .value = value};
}
window_access store_at(std::uint64_t address, std::uint64_t instruction) {
  return {.address = address, .bytes = 8, .kind = access_kind::write, .instruction = instruction, .code = 0x400010};
}

constexpr const char* window_of_10 = "window = 10\nstore_buffer = 2\n";

TEST(AccessAhead, MissesOverlapUpToTheRegisters) {
  modelled_machine machine = machine_with(window_of_10, "outstanding = 2\n");
  ASSERT_TRUE(machine.goes_ahead(0));
  EXPECT_EQ(machine.access_ahead(0, load_at(0x1000, 0), 0), 0u);                          // there at 101 ns
  EXPECT_EQ(machine.access_ahead(0, load_at(0x2000, 1), 1 * ahead_ns), 1 * ahead_ns);     // at 102
  EXPECT_EQ(machine.access_ahead(0, load_at(0x3000, 2), 2 * ahead_ns), 2 * ahead_ns);     // from 101 on: at 202
  EXPECT_EQ(machine.access_ahead(0, load_at(0x1000, 10), 3 * ahead_ns), 101 * ahead_ns);  // the window ends here
  EXPECT_EQ(machine.wait_for_all(0, 102 * ahead_ns), 202 * ahead_ns);
  EXPECT_EQ(counted_ahead(machine, "core", "waited_ps"), (98 + 100) * ahead_ns);
}

TEST(AccessAhead, TheMeterSeesThemOverlap) {
  modelled_machine machine = machine_with(window_of_10, "outstanding = 2\n");
  machine.access_ahead(0, load_at(0x1000, 0), 0);             // 0 to 101: 1 ns hit time
  machine.access_ahead(0, load_at(0x2000, 1), 1 * ahead_ns);  // 1 to 102
  const camat_figures f = machine.camat(0);
  EXPECT_EQ(f.accesses, 2u);
  EXPECT_EQ(f.active, 102 * ahead_ns);
  EXPECT_EQ(f.hit_active, 2 * ahead_ns);
  EXPECT_EQ(f.pure_active, 100 * ahead_ns);
  EXPECT_EQ(f.pure_time, (99 + 100) * ahead_ns);  // the first one's first nanosecond is hidden by the second's hit time
  EXPECT_DOUBLE_EQ(f.five_parameters(), f.two_parameters());
}

TEST(AccessAhead, ALoadWaitsForThePointerThatItFollows) {
  modelled_machine machine = machine_with("window = 100\n", "outstanding = 8\n");
  machine.access_ahead(0, load_at(0x1000, 0, 0x2000), 0);
  EXPECT_EQ(machine.access_ahead(0, load_at(0x2008, 1, 0x3000), 1 * ahead_ns), 1 * ahead_ns);
  EXPECT_EQ(machine.access_ahead(0, load_at(0x3010, 2, 0), 2 * ahead_ns), 2 * ahead_ns);
  EXPECT_EQ(machine.wait_for_all(0, 3 * ahead_ns), 303 * ahead_ns);
}

// A load that takes 101 ns, and a branch that hangs on it; 5 ns to begin anew.
TEST(AccessAhead, ABranchThatWasNotForeseenWaitsForItsLoad) {
  modelled_machine machine = machine_with("window = 10\nstore_buffer = 2\n", "outstanding = 8\n");
  machine.access_ahead(0, load_at(0x1000, 0), 0);
  EXPECT_EQ(machine.branch(0, true, 1, 5 * ahead_ns, 1 * ahead_ns), 1 * ahead_ns);
  machine.access_ahead(0, load_at(0x2000, 1), 1 * ahead_ns);  // there at 102
  EXPECT_EQ(machine.branch(0, false, 2, 5 * ahead_ns, 2 * ahead_ns), 107 * ahead_ns);
  // The wrong path has asked for the next line at 2 ns, and it is there at 103; an eleventh instruction later, not.
  EXPECT_EQ(machine.access_ahead(0, load_at(0x3000, 2), 107 * ahead_ns), 107 * ahead_ns);
  EXPECT_EQ(machine.wait_for_all(0, 107 * ahead_ns), 107 * ahead_ns);
  EXPECT_EQ(machine.access_ahead(0, load_at(0x4000, 12), 108 * ahead_ns), 108 * ahead_ns);
  EXPECT_EQ(machine.wait_for_all(0, 108 * ahead_ns), 209 * ahead_ns);
  // Without a load since the last branch it is known at once.
  EXPECT_EQ(machine.branch(0, true, 13, 5 * ahead_ns, 300 * ahead_ns), 300 * ahead_ns);
  EXPECT_EQ(machine.branch(0, false, 14, 5 * ahead_ns, 301 * ahead_ns), 306 * ahead_ns);
}

// Loads that each have such a branch: within a window only the first is waited for, the others cost 5 ns and a hit.
TEST(AccessAhead, BranchesBehindOneThatWaitsFindTheirLoadsDone) {
  modelled_machine machine = machine_with("window = 10\nstore_buffer = 2\n", "outstanding = 8\n");
  machine.access_ahead(0, load_at(0x1000, 0), 0);  // there at 101
  EXPECT_EQ(machine.branch(0, false, 1, 5 * ahead_ns, 1 * ahead_ns), 106 * ahead_ns);
  machine.access_ahead(0, load_at(0x2000, 1), 106 * ahead_ns);  // asked for at 1
  EXPECT_EQ(machine.branch(0, false, 2, 5 * ahead_ns, 107 * ahead_ns), 112 * ahead_ns);
  machine.access_ahead(0, load_at(0x3000, 2), 112 * ahead_ns);  // at 2, there at 103
  EXPECT_EQ(machine.branch(0, false, 3, 5 * ahead_ns, 113 * ahead_ns), 118 * ahead_ns);
  machine.access_ahead(0, load_at(0x4000, 11), 119 * ahead_ns);                           // no path came to it
  EXPECT_EQ(machine.branch(0, false, 12, 5 * ahead_ns, 120 * ahead_ns), 225 * ahead_ns);  // there at 220
}

TEST(AccessAhead, ALineOnItsWayIsWaitedForButNotByItsStore) {
  modelled_machine machine = machine_with(window_of_10, "outstanding = 2\n");
  machine.access_ahead(0, load_at(0x1000, 0), 0);
  machine.access_ahead(0, load_at(0x1008, 1), 1 * ahead_ns);
  EXPECT_EQ(counted_ahead(machine, "cache", "misses"), 1u);
  EXPECT_EQ(machine.wait_for_all(0, 2 * ahead_ns), 101 * ahead_ns);

  machine.access_ahead(0, store_at(0x4000, 2), 200 * ahead_ns);  // its line at 301
  machine.access_ahead(0, load_at(0x4000, 3), 201 * ahead_ns);   // from the buffer
  EXPECT_EQ(machine.access_ahead(0, load_at(0x1000, 13), 202 * ahead_ns), 202 * ahead_ns);
}

TEST(AccessAhead, AStoreWaitsForRoomInTheBuffer) {
  modelled_machine machine = machine_with(window_of_10, "outstanding = 8\n");
  EXPECT_EQ(machine.access_ahead(0, store_at(0x1000, 0), 0), 0u);
  EXPECT_EQ(machine.access_ahead(0, store_at(0x2000, 1), 1 * ahead_ns), 1 * ahead_ns);
  EXPECT_EQ(machine.access_ahead(0, store_at(0x3000, 2), 2 * ahead_ns), 101 * ahead_ns);
  EXPECT_EQ(machine.access_ahead(0, {.address = 0x9000, .bytes = 8, .kind = access_kind::atomic}, 102 * ahead_ns),
            (202 + 101 + 4) * ahead_ns);  // after all of them
}

TEST(AccessAhead, StreamsAreLimitedByTheMemorysBandwidth) {
  modelled_machine machine = machine_with("window = 10000\n", "outstanding = 1000\n");
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_EQ(machine.access_ahead(0, load_at(i * 64, i), 0), 0u);
  EXPECT_EQ(machine.wait_for_all(0, 0), (500 + 100) * ahead_ns);  // 64 bytes a ns
}

// What is written back leaves when the line is asked for that takes its place: so requests of the channel come in
// order.
TEST(AccessAhead, WhatIsWrittenBackTakesItsPartOfTheBandwidth) {
  modelled_machine machine = machine_with("window = 10000\nstore_buffer = 1000\n", "outstanding = 1000\n");
  for (std::uint64_t i = 0; i < 500; ++i) machine.access_ahead(0, store_at(i * 64, i), i * 3 * ahead_ns);
  // Each is there 101 ns after it was asked for: the channel has 3 ns for two lines.
  EXPECT_EQ(machine.wait_for_all(0, 499 * 3 * ahead_ns), (499 * 3 + 101) * ahead_ns);
  EXPECT_EQ(counted_ahead(machine, "memory", "queueing_ps"), 0u);
  EXPECT_EQ(counted_ahead(machine, "memory", "writes"), 500u - 64);
}

TEST(AccessAhead, APrefetchedLineIsThereInTime) {
  modelled_machine machine = machine_with("", "outstanding = 8\nprefetch_streams = 2\nprefetch_lines = 2\n");
  ASSERT_FALSE(machine.goes_ahead(0));
  time_ps now = 0;
  for (std::uint64_t line = 0; line < 3; ++line) now = machine.access(0, line * 64, 8, access_kind::read, now);
  EXPECT_EQ(now, 303 * ahead_ns);
  EXPECT_EQ(counted_ahead(machine, "cache", "prefetches"), 2u);
  EXPECT_EQ(machine.access(0, 3 * 64, 8, access_kind::read, 400 * ahead_ns), 401 * ahead_ns);
  EXPECT_EQ(counted_ahead(machine, "cache", "misses"), 3u);
}

TEST(AccessAhead, APrefetchedLineThatIsStillOnItsWayIsWaitedFor) {
  modelled_machine machine = machine_with("", "outstanding = 8\nprefetch_streams = 2\nprefetch_lines = 2\n");
  time_ps now = 0;
  for (std::uint64_t line = 0; line < 3; ++line) now = machine.access(0, line * 64, 8, access_kind::read, now);
  // asked for at 202 ns, together with line 2, behind its burst and look
  EXPECT_EQ(machine.access(0, 3 * 64, 8, access_kind::read, 303 * ahead_ns), 304 * ahead_ns);
}

TEST(AccessAhead, WhatAFileMayNotSay) {
  const auto message = [](const std::string& text) {
    try {
      (void)parse_machine(text, "small.toml");
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), errc::bad_file);
      return std::string{bad.message()};
    }
    return std::string{"no error"};
  };
  EXPECT_EQ(message(small_host(window_of_10, "outstanding = 2\n")), "no error");
  EXPECT_THAT(message(small_host("", "prefetch_streams = 2\n")), HasSubstr("write both"));
  EXPECT_THAT(message(small_host("", "prefetch_streams = 2\nprefetch_lines = 4\n")), HasSubstr("needs outstanding"));
  EXPECT_THAT(message(small_host("outstanding = 2\n", "")), HasSubstr("outstanding"));
  const auto with_mispredict = [](const std::string& of_core) {
    std::string text = small_host(of_core, "");
    text.replace(text.find("call = 1 }"), 10, "call = 1, mispredict = 15 }");
    return text;
  };
  EXPECT_EQ(message(with_mispredict(window_of_10)), "no error");
  EXPECT_THAT(message(with_mispredict("")), HasSubstr("give it a window"));
  EXPECT_THAT(message(small_host("width = 4\n", "")), HasSubstr("give it a window"));
  EXPECT_THAT(message(small_host("window = 10\nwidth = -1\n", "")), HasSubstr("-1 instructions a cycle cannot be"));
  std::string before_zero = small_host("", "");
  before_zero.replace(before_zero.find("call = 1 }"), 10, "call = -1 }");
  EXPECT_THAT(message(before_zero), HasSubstr("-1 cycles cannot be"));
  EXPECT_THAT(message(small_host(
                  "", "outstanding = 2\nprefetch_streams = 2\nprefetch_lines = 4\nprefetch_page = \"5000 B\"\n")),
              HasSubstr("multiple of 4 KiB"));
  std::string through = small_host(window_of_10, "");
  through.replace(through.find("write_back"), 10, "write_through");
  EXPECT_THAT(message(through), HasSubstr("needs a first cache that writes back"));
}

}  // namespace
}  // namespace situ::model
