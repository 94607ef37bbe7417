// The misses that a cache has in flight, if several cores share it: a limit of the cache and one of each core.
#include <situ/base/error.h>

#include "model/parts/machine_spec.h"
#include "model/parts/miss_registers.h"
#include "model/parts/modelled_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using testing::HasSubstr;

constexpr time_ps ns = 1000;

TEST(SharedMissRegisters, ACoreHasAPartOfThem) {
  shared_miss_registers registers{3, 2, 2};
  const auto miss = [&](std::size_t core, std::uint64_t line, time_ps now) {
    const time_ps begin = registers.begin_of(core, now);
    EXPECT_EQ(registers.has_free(core, now), begin == now);
    registers.take(core, line, begin, begin + 100, now);
    return begin;
  };
  ASSERT_TRUE(registers.exist());
  EXPECT_EQ(miss(0, 1, 0), 0u);
  EXPECT_EQ(miss(0, 2, 0), 0u);
  EXPECT_EQ(registers.begin_of(0, 0), 100u) << "its own two are taken";
  EXPECT_EQ(miss(1, 3, 0), 0u);
  EXPECT_EQ(miss(1, 4, 0), 100u) << "all three are taken";
  EXPECT_EQ(registers.arrival(2, 50), 100u) << "a line is awaited by any core";
}

TEST(SharedMissRegisters, WithoutALimitOfTheirOwnTheyAreAllCores) {
  shared_miss_registers registers{0, 2, 3};
  for (std::size_t core = 0; core < 3; ++core)
    for (std::uint64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(registers.begin_of(core, 0), 0u);
      registers.take(core, core * 2 + i, 0, 100, 0);
    }
  for (std::size_t core = 0; core < 3; ++core) EXPECT_EQ(registers.begin_of(core, 0), 100u);
  EXPECT_EQ(registers.arrival(5, 0), 100u);

  shared_miss_registers none{0, 0, 3};
  EXPECT_FALSE(none.exist());
  none.take(0, 1, 0, 100, 0);
  EXPECT_EQ(none.begin_of(0, 0), 0u);
  EXPECT_EQ(none.arrival(1, 0), 0u);
}

// The reference looks at every moment: a miss begins at the first at which fewer than the limits are in flight.
TEST(SharedMissRegisters, AreWhatAListOfMissesSays) {
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    const std::uint32_t in_all = 1 + below(6);
    const std::uint32_t of_a_core = 1 + below(in_all);
    shared_miss_registers registers{in_all, of_a_core, 3};
    struct miss {
      std::size_t core;
      time_ps begin;
      time_ps end;
    };
    std::vector<miss> all;
    const auto is_free = [&](std::size_t core, time_ps at) {
      const auto in_flight = [&](const miss& m) { return m.begin <= at && at < m.end; };
      return std::ranges::count_if(all, in_flight) < in_all &&
             std::ranges::count_if(all, [&](const miss& m) { return m.core == core && in_flight(m); }) < of_a_core;
    };
    time_ps settled = 0;
    for (std::uint64_t line = 0; line < 300; ++line) {
      settled += below(12);
      const time_ps now = settled + (below(4) == 0 ? below(60) : 0);  // a load that another load's value delays
      const std::size_t core = below(3);
      time_ps begin = now;
      while (!is_free(core, begin)) ++begin;
      ASSERT_EQ(registers.begin_of(core, now), begin) << line;
      ASSERT_EQ(registers.has_free(core, now), begin == now) << line;
      const time_ps end = begin + 1 + below(80);
      registers.take(core, line, begin, end, settled);
      all.push_back({core, begin, end});
    }
  }
}

// Two cores of 1 GHz, each with a first cache, below one cache that both share. Memory serves a line a nanosecond.
std::string two_cores(const std::string& of_shared) {
  return R"(name = "two"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "110 ns"
bandwidth = "64 GB/s"
[[node]]
id = "l2"
kind = "cache"
level = 2
size = "64 KiB"
ways = 4
line_bytes = 64
latency = "10 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
)" + of_shared +
         R"([[node]]
id = "l1"
in = "l2"
kind = "cache"
level = 1
count = 2
size = "4 KiB"
ways = 4
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = { integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }
window = 1000
store_buffer = 10
)";
}

// Returns when a core's last line is there, if the first `cores` cores ask for eight lines each at time 0.
time_ps eight_lines(const std::string& of_shared, std::uint32_t cores) {
  modelled_machine machine{parse_machine(two_cores(of_shared), "two.toml")};
  machine.map_range(0, 1 << 30, 0);
  for (std::uint64_t i = 0; i < 8; ++i)
    for (std::uint32_t core = 0; core < cores; ++core)
      machine.access_ahead(core, {.address = core * 0x100000 + i * 64, .bytes = 8, .instruction = i, .code = 0x400000},
                           0);
  time_ps last = 0;
  for (std::uint32_t core = 0; core < cores; ++core) last = std::max(last, machine.wait_for_all(core, 0));
  return last;
}

// Four lines at a time take two rounds of 110 ns and the channel's time. Two cores that share four take four rounds;
// with four each they take two.
TEST(SharedMisses, OneCoresLimitDoesNotSlowTwo) {
  const time_ps alone = eight_lines("outstanding = 4\n", 1);
  EXPECT_GE(alone, 220 * ns);
  EXPECT_LT(alone, 240 * ns);
  EXPECT_EQ(eight_lines("outstanding_per_core = 4\n", 1), alone);
  EXPECT_EQ(eight_lines("outstanding = 8\noutstanding_per_core = 4\n", 1), alone);

  EXPECT_GE(eight_lines("outstanding = 4\n", 2), 440 * ns);
  EXPECT_LT(eight_lines("outstanding_per_core = 4\n", 2), 250 * ns);
  EXPECT_EQ(eight_lines("outstanding = 8\noutstanding_per_core = 4\n", 2),
            eight_lines("outstanding_per_core = 4\n", 2));
  const time_ps six = eight_lines("outstanding = 6\noutstanding_per_core = 4\n", 2);
  EXPECT_GE(six, 330 * ns) << "16 lines, six at a time";
  EXPECT_LT(six, 360 * ns);
}

// Eight loads that hit the shared cache, all at time 0; another round has brought the lines there, and others into the
// first caches since.
time_ps eight_hits(const std::string& of_shared, std::uint32_t cores) {
  modelled_machine machine{parse_machine(two_cores(of_shared), "two.toml")};
  machine.map_range(0, 1 << 30, 0);
  std::uint64_t instruction = 0;
  const auto read = [&](std::uint32_t core, std::uint64_t line, time_ps now) {
    machine.access_ahead(
        core, {.address = core * 0x100000 + line * 64, .bytes = 8, .instruction = instruction++, .code = 0x400000},
        now);
  };
  for (std::uint32_t core = 0; core < cores; ++core)
    for (std::uint64_t line = 0; line < 8 + 64; ++line) read(core, line, line * 1000 * ns);
  constexpr time_ps later = 1'000'000 * ns;
  for (std::uint64_t line = 0; line < 8; ++line)
    for (std::uint32_t core = 0; core < cores; ++core) read(core, line, later);
  time_ps last = 0;
  for (std::uint32_t core = 0; core < cores; ++core) last = std::max(last, machine.wait_for_all(core, later));
  return last - later;
}

// A hit takes 10 ns. At 16 GB/s a line follows the one before by 4 ns: the eighth is there after 7 * 4 + 10. Each core
// has a bandwidth of its own.
TEST(SharedMisses, OneCoresLinesFollowEachOtherAtItsBandwidth) {
  EXPECT_EQ(eight_hits("", 1), 10 * ns);
  EXPECT_EQ(eight_hits("bandwidth_per_core = \"16 GB/s\"\n", 1), 38 * ns);
  EXPECT_EQ(eight_hits("bandwidth_per_core = \"16 GB/s\"\n", 2), 38 * ns);
  EXPECT_EQ(eight_hits("bandwidth_per_core = \"64 GB/s\"\n", 1), 17 * ns);
}

TEST(SharedMisses, LimitsThatCannotBeAreNamed) {
  const auto message = [](const std::string& text) {
    try {
      (void)parse_machine(text, "two.toml");
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), errc::bad_file);
      return std::string{bad.message()};
    }
    return std::string{"no error"};
  };
  EXPECT_THAT(message(two_cores("outstanding = 4\noutstanding_per_core = 5\n")),
              HasSubstr("outstanding_per_core = 5 cannot be more than outstanding = 4"));
  EXPECT_THAT(message(two_cores("outstanding_per_core = -1\n")), HasSubstr("out of range"));
  std::string of_first = two_cores("");
  of_first.insert(of_first.find("level = 1"), "bandwidth_per_core = \"1 GB/s\"\n");
  EXPECT_THAT(message(of_first), HasSubstr("bandwidth_per_core is of a cache behind another one"));
  EXPECT_EQ(message(two_cores("outstanding_per_core = 4\nprefetch_streams = 2\nprefetch_lines = 2\n")), "no error");
}

}  // namespace
}  // namespace situ::model
