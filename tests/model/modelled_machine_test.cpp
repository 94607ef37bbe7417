// Whole ways through the machine, worked out by hand with the figures of machines/nemesys-4x4-fitted.toml and
// assumed_host.toml.
#include "model/parts/modelled_machine.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

constexpr time_ps ns = 1000;
const std::string machines = SITU_TEST_SOURCE_DIR "/../machines/";

// The two global memories and everybody's own.
constexpr std::uint64_t global = 0x1000'0000;
constexpr std::uint64_t other_global = 0x5000'0000;
constexpr std::uint64_t local = 0x9000'0000;
constexpr std::uint32_t ddr = 14;
constexpr std::uint32_t other_ddr = 15;
constexpr std::uint32_t cores_a_tile = 5;

modelled_machine nemesys() {
  modelled_machine machine{read_machine(machines + "nemesys-4x4-fitted.toml")};
  machine.map_range(global, global + 0x4000'0000, ddr);
  machine.map_range(other_global, other_global + 0x4000'0000, other_ddr);
  machine.map_range(local, local + 0x80'0000, local_memory);
  return machine;
}

std::uint64_t counted(const modelled_machine& machine, const std::string& part, const std::string& kind,
                      const std::string& what) {
  for (const part_counters& counters : machine.counters())
    if (counters.part == part && counters.kind == kind) return counters[what];
  ADD_FAILURE() << "no " << kind << " " << part;
  return 0;
}

struct seen_line {
  std::uint32_t tile;
  std::uint64_t address;
  line_event what;
  bool was_dirty;
  friend bool operator==(const seen_line&, const seen_line&) = default;
};
struct recorder final : line_observer {
  void on_line(std::uint32_t tile, std::uint64_t line, std::uint32_t line_bytes, line_event what,
               bool was_dirty) override {
    seen.push_back({tile, line * line_bytes, what, was_dirty});
  }
  std::vector<seen_line> seen;
};

// Table 2: an L2 miss takes 90 cycles, an L2 hit 20, an L1 hit 1. Tile 0 (0,0) is two hops from the memory at 1,1:
//   L2 400, adapter 100, 2 flits over 2 hops 160, adapter 100, memory 540, adapter 100, 9 flits 300, adapter 100.
TEST(ModelledNemesys, AReadTakesTheCyclesOfTable2) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.access(0, global, 4, access_kind::read, 0), 1800 * ns);
  EXPECT_EQ(machine.access(0, global + 16, 4, access_kind::read, 1800 * ns), 2200 * ns);  // the line's other half: L2
  EXPECT_EQ(machine.access(0, global + 20, 4, access_kind::read, 2200 * ns), 2220 * ns);  // L1
  EXPECT_EQ(counted(machine, "L1d 0", "cache", "hits"), 1u);
  EXPECT_EQ(counted(machine, "L1d 0", "cache", "misses"), 2u);
  EXPECT_EQ(counted(machine, "L2 0", "cache", "hits"), 1u);
  EXPECT_EQ(counted(machine, "L2 0", "cache", "misses"), 1u);
  EXPECT_EQ(counted(machine, "compute tile 0", "adapter", "load_ps"), 1400 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "read_bytes"), 32u);
  EXPECT_EQ(counted(machine, "core 0", "core", "waited_ps"), (1780 + 380) * ns);
}

// The same by nemesys-4x4.toml, which shares the 90 cycles out without table 6: L2 400, adapter 170, 160, adapter 170,
// memory 260, adapter 170, 300, adapter 170. A second tile at the memory waits for the 160 ns of the first one's line.
TEST(ModelledNemesys, AReadTakesTheCyclesOfTable2WithoutTable6) {
  modelled_machine machine{read_machine(machines + "nemesys-4x4.toml")};
  machine.map_range(global, global + 0x4000'0000, ddr);
  EXPECT_EQ(machine.access(0, global, 4, access_kind::read, 0), 1800 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "busy_ps"), 160 * ns);
}

TEST(ModelledNemesys, AnAccessAcrossLinesIsTwo) {
  modelled_machine machine = nemesys();
  machine.access(0, global, 32, access_kind::read, 0);
  EXPECT_EQ(counted(machine, "core 0", "core", "reads"), 2u);
  EXPECT_EQ(machine.access(0, global + 14, 4, access_kind::read, 10'000 * ns), 10'040 * ns);
}

TEST(ModelledNemesys, TileLocalMemoryTakesTwentyCyclesAndNoL2) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.access(7, local, 4, access_kind::read, 0), 400 * ns);
  EXPECT_EQ(machine.access(7, local + 12, 4, access_kind::read, 400 * ns), 420 * ns);
  EXPECT_EQ(machine.access(7, local + 64, 4, access_kind::fetch, 1000 * ns), 1400 * ns);
  EXPECT_EQ(machine.access(7, local + 92, 4, access_kind::fetch, 1400 * ns), 1420 * ns);  // lines of 32 bytes there
  EXPECT_EQ(counted(machine, "L2 1", "cache", "misses"), 0u);
  EXPECT_EQ(machine.memory_of(local, 3), machine.spec().tiles[3].local_memory);
}

// A walk of 30 cycles comes before the access: 600 ns, and 400 of tile-local memory. What the fetch translates is the
// ITLB's, which this core does not have.
TEST(ModelledNemesys, AWalkComesBeforeTheAccess) {
  std::ifstream stream{machines + "nemesys-4x4-fitted.toml"};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  text.insert(text.find("cycles = {"), "dtlb = { entries = 8, ways = 8, page = \"4 KiB\", walk = 30 }\n");
  modelled_machine machine{parse_machine(text, "with_dtlb.toml")};
  machine.map_range(local, local + 0x80'0000, local_memory);
  EXPECT_EQ(machine.access(7, local, 4, access_kind::read, 0), 1000 * ns);
  EXPECT_EQ(machine.access(7, local, 4, access_kind::read, 1000 * ns), 1020 * ns);
  EXPECT_EQ(machine.access(7, local + 4096, 4, access_kind::write, 2000 * ns), 2620 * ns);
  EXPECT_EQ(machine.access(7, local, 4, access_kind::read, 4000 * ns), 4020 * ns);
  EXPECT_EQ(machine.access(7, local + 8192, 4, access_kind::fetch, 5000 * ns), 5400 * ns);
  EXPECT_EQ(counted(machine, "DTLB 7", "tlb", "misses"), 2u);
  EXPECT_EQ(counted(machine, "DTLB 7", "tlb", "hits"), 1u);
  EXPECT_EQ(counted(machine, "core 7", "core", "waited_ps"), (2 * 600 + 380 + 380) * ns);
}

// The core goes on after its cycle; the next write waits until the first is in the L2, 400 ns after it left.
TEST(ModelledNemesys, WritesGoThroughABufferOfOne) {
  modelled_machine machine = nemesys();
  machine.access(0, global, 4, access_kind::read, 0);
  EXPECT_EQ(machine.access(0, global, 4, access_kind::write, 2000 * ns), 2020 * ns);
  EXPECT_EQ(machine.access(0, global + 4, 4, access_kind::write, 2020 * ns), (2020 + 400 + 20) * ns);
  EXPECT_EQ(counted(machine, "core 0", "core", "waited_ps"), (1780 + 400) * ns);
}

// Tile 4 (0,1) is one hop from the memory, and there at 400 + 100 + 60 + 40 + 100 = 700; tile 0 at 760, and waits until
// 1240. It has its line 540 + 100 + 300 + 100 after that.
TEST(ModelledNemesys, TwoTilesContendForAMemory) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.access(4 * cores_a_tile, global, 4, access_kind::read, 0), 1680 * ns);
  EXPECT_EQ(machine.access(0, global + 4096, 4, access_kind::read, 0), 2280 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "queueing_ps"), 480 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "busy_ps"), 1080 * ns);
}

// The adapter has one load under way: the second core's begins when the first is done.
TEST(ModelledNemesys, TwoCoresContendForTheirAdapter) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.access(0, global, 4, access_kind::read, 0), 1800 * ns);
  EXPECT_EQ(machine.access(1, global + 4096, 4, access_kind::read, 0), (1800 + 1400) * ns);
  EXPECT_EQ(counted(machine, "compute tile 0", "adapter", "queueing_ps"), (1800 - 420) * ns);  // a beat of the bus, too
}

TEST(ModelledNemesys, CoresOfATileSnoop) {
  modelled_machine machine = nemesys();
  machine.access(0, global, 4, access_kind::read, 0);
  machine.access(1, global, 4, access_kind::read, 5000 * ns);
  machine.access(1, global, 4, access_kind::write, 6000 * ns);
  EXPECT_EQ(machine.access(1, global, 4, access_kind::read, 7000 * ns), 7020 * ns);
  EXPECT_EQ(machine.access(0, global, 4, access_kind::read, 8000 * ns), 8400 * ns);  // from the L2
  EXPECT_EQ(counted(machine, "L1d 0", "cache", "invalidations"), 1u);
}

TEST(ModelledNemesys, TilesDoNotSnoop) {
  modelled_machine machine = nemesys();
  machine.access(0, global, 4, access_kind::read, 0);
  machine.access(4 * cores_a_tile, global, 4, access_kind::write, 5000 * ns);
  EXPECT_EQ(machine.access(0, global, 4, access_kind::read, 20'000 * ns), 20'020 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "writes"), 0u);
}

// Four ways of 128 KiB: the fifth line of a set throws out the first, which goes to memory, and out of the L1s.
TEST(ModelledNemesys, WhatLeavesTheL2GoesToMemory) {
  modelled_machine machine = nemesys();
  recorder watching;
  machine.observe(&watching);
  machine.access(0, global, 4, access_kind::read, 0);
  machine.access(0, global, 4, access_kind::write, 5000 * ns);
  for (std::uint64_t i = 1; i <= 4; ++i)
    machine.access(1, global + i * 128 * 1024, 4, access_kind::read, i * 20'000 * ns);
  EXPECT_EQ(watching.seen, (std::vector<seen_line>{{0, global, line_event::evicted, true}}));
  EXPECT_EQ(counted(machine, "dram 14", "memory", "written_bytes"), 32u);
  EXPECT_EQ(counted(machine, "compute tile 0", "adapter", "stores"), 1u);
  EXPECT_EQ(machine.access(0, global, 4, access_kind::read, 200'000 * ns), 201'800 * ns);
}

// A command is a beat of the bus, 20 ns. A dirty line: adapter 100, 10 flits 320, adapter 100, memory 540, adapter 100,
// an acknowledgement of a flit 140, adapter 100.
TEST(ModelledNemesys, WritingBackCostsACommandALineAndTheWayOfDirtyOnes) {
  modelled_machine machine = nemesys();
  recorder watching;
  machine.observe(&watching);
  machine.access(0, global, 4, access_kind::write, 0);
  machine.access(0, global + 64, 4, access_kind::read, 10'000 * ns);
  EXPECT_EQ(machine.write_back(0, global, global + 32, 20'000 * ns), (20'000 + 20 + 1400) * ns);
  EXPECT_EQ(machine.write_back(0, global, global + 128, 40'000 * ns), (40'000 + 4 * 20) * ns);  // nothing is dirty
  EXPECT_EQ(watching.seen, (std::vector<seen_line>{{0, global, line_event::written_back, true},
                                                   {0, global, line_event::written_back, false},
                                                   {0, global + 64, line_event::written_back, false}}));
  EXPECT_EQ(machine.access(0, global + 64, 4, access_kind::read, 50'000 * ns), 50'020 * ns);  // it stays
}

// The write-back of a range reserves the link to the memory for 64 lines, 1400 apart, in one call. Other tiles' loads
// meet a line or two of them at most: 320 at the link and 540 at the memory each. Tile 4 is on the way of tile 0.
TEST(ModelledNemesys, LoadsFindGapsWhileAnotherTileWritesARangeBack) {
  modelled_machine machine = nemesys();
  time_ps now = 0;
  for (std::uint64_t i = 0; i < 64; ++i) now = machine.access(0, global + i * 32, 4, access_kind::write, now);
  now += 10'000 * ns;
  EXPECT_GT(machine.write_back(0, global, global + 64 * 32, now), now + 64 * 1400 * ns);
  time_ps load = now;
  for (std::uint64_t i = 0; i < 32; ++i) {
    const time_ps done = machine.access(4 * cores_a_tile, global + 4096 + i * 32, 4, access_kind::read, load);
    EXPECT_LE(done, load + (1680 + 2 * (320 + 540)) * ns) << i;
    load = done;
  }
}

// Nothing is there, and yet a command a line goes out, in a beat of the bus each. Core 1 waits for them, and 400.
TEST(ModelledNemesys, EachCommandKeepsTheBusForABeat) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.write_back(0, global, global + 128, 0), 80 * ns);
  EXPECT_EQ(counted(machine, "compute tile 0", "bus", "transfers"), 4u);
  EXPECT_EQ(counted(machine, "compute tile 0", "bus", "busy_ps"), 80 * ns);
  EXPECT_EQ(machine.access(1, local, 4, access_kind::read, 0), 480 * ns);
}

// The write leaves at 20, and the L2 has its line 400 + 1400 later. Then a command of 20, or the atomic's 440.
TEST(ModelledNemesys, AtomicsAndCommandsWaitForTheWritesBefore) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.access(0, global, 4, access_kind::write, 0), 20 * ns);
  EXPECT_EQ(machine.invalidate(0, global, global + 32, 20 * ns), (1820 + 20) * ns);
  modelled_machine fresh = nemesys();
  fresh.access(0, global, 4, access_kind::write, 0);
  EXPECT_EQ(fresh.access(1, local + 64, 4, access_kind::atomic, 20 * ns), (20 + 40 + 440) * ns);  // not core 0's
  EXPECT_EQ(fresh.access(0, local, 4, access_kind::atomic, 20 * ns), (1820 + 440) * ns);
}

TEST(ModelledNemesys, InvalidatingDropsAndFlushingWritesBackFirst) {
  modelled_machine machine = nemesys();
  recorder watching;
  machine.observe(&watching);
  machine.access(0, global, 4, access_kind::write, 0);
  machine.access(1, global + 32, 4, access_kind::write, 10'000 * ns);
  EXPECT_EQ(machine.invalidate(0, global, global + 32, 20'000 * ns), 20'020 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "writes"), 0u);
  machine.flush(0, 0, ~std::uint64_t{0}, 30'000 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "writes"), 1u);
  EXPECT_EQ(watching.seen, (std::vector<seen_line>{{0, global, line_event::invalidated, true},
                                                   {0, global + 32, line_event::evicted, true}}));
  EXPECT_EQ(machine.access(0, global, 4, access_kind::read, 50'000 * ns), 51'800 * ns);
}

// The look for a copy of one's own 20, adapter 100, 3 flits 180, adapter 100, read and write 1080, adapter 100, 2 flits
// 160, adapter 100.
TEST(ModelledNemesys, AnAtomicIsCarriedOutAtTheMemory) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.access(0, global, 4, access_kind::atomic, 0), 1840 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "reads"), 1u);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "writes"), 1u);
  EXPECT_EQ(counted(machine, "compute tile 0", "adapter", "atomics"), 1u);
}

// The L2's line of 32 bytes leaves, and with it both lines of 16 bytes in the L1: no inner cache holds what the L2 does
// not have.
TEST(ModelledNemesys, BothHalvesOfALineLeaveForAnAtomicInOneOfThem) {
  for (const std::uint64_t read : {global, global + 16}) {
    modelled_machine machine = nemesys();
    const time_ps first = machine.access(0, read, 4, access_kind::read, 0);
    machine.access(0, read ^ 16, 4, access_kind::atomic, 10'000 * ns);
    EXPECT_EQ(machine.access(0, read, 4, access_kind::read, 100'000 * ns) - 100'000 * ns, first) << read - global;
  }
}

// A look at what others change, and a store of it, are one access there.
TEST(ModelledNemesys, AnAtomicLoadAndAnAtomicStoreAreOneAccess) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.access(0, global, 4, access_kind::atomic_read, 0), (1840 - 540) * ns);
  EXPECT_EQ(machine.access(0, global, 4, access_kind::atomic_write, 10'000 * ns), (10'000 + 1840 - 540) * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "reads"), 1u);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "writes"), 1u);
}

// In the tile's own memory the bus is kept: 400 and a transfer of 2 beats. A core that reads then waits for it.
TEST(ModelledNemesys, AnAtomicInTheTilesOwnMemoryKeepsTheBus) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.access(0, local, 4, access_kind::atomic, 0), 440 * ns);
  EXPECT_EQ(machine.access(1, local + 64, 4, access_kind::read, 0), 840 * ns);
  EXPECT_EQ(machine.access(cores_a_tile, local + 64, 4, access_kind::read, 0), 400 * ns);  // another tile
}

// Adapter 100, 68 bytes in 18 flits over a hop 420, adapter 100, into the memory there 400.
TEST(ModelledNemesys, WorkArrivesAtAnotherTile) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.send(0, 1, 64, 0), 1020 * ns);
  EXPECT_EQ(counted(machine, "compute tile 0", "adapter", "messages"), 1u);
  EXPECT_THROW(machine.send(0, 14, 64, 0), error);
}

// The order: adapter 100, 4 flits over 2 hops 200, adapter 100. 256 bytes are read in 1100; adapter 100, 65 flits over
// the 4 hops from 1,1 to 3,3 1540, adapter 100; they are written in 1100. The second packet is read at 2600 and out of
// the adapter at 2700; the link is taken from 1600 to 2900.
TEST(ModelledNemesys, DmaGoesPacketByPacket) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.dma(0, other_global, global, 256, 0), (400 + 1100 + 1740 + 1100) * ns);
  modelled_machine fresh = nemesys();
  EXPECT_EQ(fresh.dma(0, other_global, global, 512, 0), (2900 + 1640 + 1100) * ns);
  EXPECT_EQ(counted(fresh, "dram 15", "memory", "written_bytes"), 512u);
}

// From the tile's own memory: no order goes out. Adapter 100; 4 bytes are read in 400; adapter 100, 2 flits over 2 hops
// 160, adapter 100; they are written in 540. Within that memory nothing goes out: 100, 400, and 400.
TEST(ModelledNemesys, DmaPassesTheAdaptersThatItMeets) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.dma(0, global, local, 4, 0), (100 + 400 + 360 + 540) * ns);
  modelled_machine fresh = nemesys();
  EXPECT_EQ(fresh.dma(0, local + 64, local, 4, 0), (100 + 400 + 400) * ns);
}

// Adapter 100, 2 flits over a hop 100, adapter 100, the memory there 400, and the same way back.
TEST(ModelledNemesys, AnotherTilesMemoryIsReachedThroughItsAdapter) {
  modelled_machine machine = nemesys();
  machine.map_range(local, local + 4096, machine.spec().tiles[1].local_memory);
  EXPECT_EQ(machine.access(0, local, 4, access_kind::read, 0), 1000 * ns);
}

// Once in the first cache, a line is read again in 20; what another tile writes there, and DMA, take it out.
TEST(ModelledNemesys, WhatArrivesAtATilesOwnMemoryIsSnooped) {
  modelled_machine machine = nemesys();
  machine.map_range(local, local + 4096, machine.spec().tiles[1].local_memory);
  const auto read = [&](time_ps now) { return machine.access(cores_a_tile, local, 4, access_kind::read, now) - now; };
  EXPECT_EQ(read(0), 400 * ns);
  EXPECT_EQ(read(10'000 * ns), 20 * ns);
  machine.access(0, local + 4, 4, access_kind::write, 20'000 * ns);
  EXPECT_EQ(read(30'000 * ns), 400 * ns);
  machine.access(0, local + 8, 4, access_kind::atomic, 40'000 * ns);
  EXPECT_EQ(read(50'000 * ns), 400 * ns);
  machine.dma(0, local, global, 4, 60'000 * ns);
  EXPECT_EQ(read(90'000 * ns), 400 * ns);
  machine.access(0, local + 16, 4, access_kind::write, 100'000 * ns);  // another line
  EXPECT_EQ(read(110'000 * ns), 20 * ns);
}

TEST(ModelledNemesys, AUnitBesideTheMemoryHasNoNetwork) {
  modelled_machine machine = nemesys();
  EXPECT_EQ(machine.memory_access(ddr, global, 4, false, 0), 540 * ns);
  EXPECT_EQ(counted(machine, "dram 14", "memory", "unit_bytes"), 4u);
  EXPECT_THROW(machine.memory_access(16, global, 4, false, 0), error);
}

TEST(ModelledNemesys, UncachedBytesGoToMemoryEachTime) {
  modelled_machine machine = nemesys();
  machine.map_range(global, global + 4096, ddr, false);
  // adapter 100, 160, 100, memory 540, 100, 2 flits back 160, 100; and the beat that asked
  const time_ps once = machine.access(0, global, 4, access_kind::read, 0);
  EXPECT_EQ(once, 1260 * ns);
  EXPECT_EQ(machine.access(0, global, 4, access_kind::read, 5000 * ns), 5000 * ns + once);
  EXPECT_EQ(machine.access(0, global + 4096, 4, access_kind::read, 10'000 * ns), 11'800 * ns);  // behind it, cached
}

TEST(ModelledNemesys, AddressesOfNoMemoryAreErrors) {
  modelled_machine machine = nemesys();
  EXPECT_THROW(machine.access(0, 0x10, 4, access_kind::read, 0), error);
  EXPECT_THROW(machine.map_range(8, 8, ddr), error);
  EXPECT_THROW(machine.map_range(0, 8, 16), error);
}

TEST(ModelledNemesys, CountersBeginAnew) {
  modelled_machine machine = nemesys();
  machine.access(0, global, 4, access_kind::write, 0);
  machine.access(0, global, 4, access_kind::atomic, 5000 * ns);
  machine.send(0, 1, 64, 0);
  machine.reset_counters();
  for (const part_counters& part : machine.counters())
    for (const auto& [name, value] : part.values) EXPECT_EQ(value, 0u) << part.part << " " << name;
}

// The same requests give the same times and counters, whatever the machine was before it moved here.
TEST(ModelledNemesys, TheSameRequestsTakeTheSameTimes) {
  const auto run = [] {
    modelled_machine machine = nemesys();
    std::mt19937 random{7};
    std::vector<time_ps> clocks(machine.core_count());
    std::string text;
    for (int i = 0; i < 20'000; ++i) {
      const auto core = static_cast<std::uint32_t>(std::ranges::min_element(clocks) - clocks.begin());
      const std::uint64_t address = (random() % 3 == 0 ? local : global) + random() % 0x10'0000;
      const auto kind = static_cast<access_kind>(random() % 4);
      const time_ps done = machine.access(core, address & ~3ULL, 4, kind, clocks[core]);
      EXPECT_GT(done, clocks[core]);
      clocks[core] = done;
    }
    return to_json(machine.counters());
  };
  EXPECT_EQ(run(), run());
}

modelled_machine host() {
  modelled_machine machine{read_machine(SITU_TEST_SOURCE_DIR "/model/assumed_host.toml")};
  machine.map_range(0, std::uint64_t{1} << 40, 0);
  return machine;
}

// 20 ns to look into the L3, 75 ns for the memory; from the L3 20, L2 4.666, L1 1.333.
// The MPPA-256: cores 0 to 15 are the cluster at 0,0, 256 to 259 the I/O cluster at 0,4, whose memory is the first
// DRAM.
modelled_machine mppa() {
  modelled_machine machine{read_machine(machines + "mppa-256-bostan.toml")};
  machine.map_range(local, local + 0x20'0000, 0);
  machine.map_range(global, global + 0x4000'0000, 16);
  return machine;
}
std::vector<std::string> used_links(const modelled_machine& machine) {
  std::vector<std::string> names;
  for (const part_counters& counters : machine.counters())
    if (counters.kind == "link") names.push_back(counters.part);
  return names;
}

// Whoever wants to see what the other core has written drops its line first.
TEST(ModelledMppa, CoresOfAClusterDoNotSnoop) {
  modelled_machine machine = mppa();
  time_ps now = machine.access(0, local, 8, access_kind::read, 0);
  now = machine.access(1, local, 8, access_kind::write, now);
  EXPECT_TRUE(machine.first_data_cache(0).holds(machine.first_data_cache(0).line_of(local)));
  now = machine.dma(0, local, global, 256, now);
  EXPECT_TRUE(machine.first_data_cache(0).holds(machine.first_data_cache(0).line_of(local)));
  machine.invalidate(0, local, local + 64, now);
  EXPECT_FALSE(machine.first_data_cache(0).holds(machine.first_data_cache(0).line_of(local)));
}

TEST(ModelledMppa, CoresOfAnIoClusterDo) {
  modelled_machine machine = mppa();
  const time_ps now = machine.access(256, global, 8, access_kind::read, 0);
  machine.access(257, global, 8, access_kind::write, now);
  EXPECT_FALSE(machine.first_data_cache(256).holds(machine.first_data_cache(256).line_of(global)));
}

TEST(ModelledMppa, MemoryBesideAClusterIsReachedWithoutTheNetwork) {
  modelled_machine machine = mppa();
  const time_ps beside = machine.access(256, global, 8, access_kind::read, 0);
  EXPECT_TRUE(used_links(machine).empty());
  EXPECT_GT(machine.access(260, global + 4096, 8, access_kind::read, 0), beside);
  EXPECT_FALSE(used_links(machine).empty());
}

// From 0,0 to 0,4 of five rows a torus goes north once.
TEST(ModelledMppa, MessagesHaveANetworkOfTheirOwn) {
  modelled_machine machine = mppa();
  machine.send(0, 16, 8, 0);
  EXPECT_EQ(used_links(machine), (std::vector<std::string>{"control 0,0 north", "control 0,4 to tile"}));
  machine.reset_counters();
  machine.dma(0, global, local, 256, 0);
  EXPECT_EQ(used_links(machine), (std::vector<std::string>{"0,0 north", "0,4 to tile"}));
}

TEST(ModelledHost, EachLevelTakesWhatACoreSees) {
  modelled_machine machine = host();
  EXPECT_EQ(machine.access(0, 4096, 8, access_kind::read, 0), 95 * ns);
  EXPECT_EQ(machine.access(0, 4096, 8, access_kind::read, 1000 * ns), 1000 * ns + 1333);
  EXPECT_EQ(machine.access(1, 4096, 8, access_kind::read, 2000 * ns), 2020 * ns);
  // Eight ways of 4 KiB: eight lines more in the set, and the L1 has it no longer.
  for (std::uint64_t i = 1; i <= 8; ++i) machine.access(0, 4096 * (i + 1), 8, access_kind::read, (10 + i) * 1000 * ns);
  EXPECT_EQ(machine.access(0, 4096, 8, access_kind::read, 30'000 * ns), 30'000 * ns + 4666);
}

// What another core has dirty comes from its cache: the L3's 20 ns and that cache's 1.333.
TEST(ModelledHost, CachesAreCoherent) {
  modelled_machine machine = host();
  machine.access(0, 4096, 8, access_kind::read, 0);
  machine.access(1, 4096, 8, access_kind::read, 1000 * ns);
  EXPECT_EQ(machine.access(0, 4096, 8, access_kind::write, 2000 * ns), 2000 * ns + 1333);
  EXPECT_FALSE(machine.first_data_cache(1).holds(4096 / 64));
  EXPECT_EQ(machine.access(1, 4096, 8, access_kind::read, 3000 * ns), 3020 * ns + 1333);
  EXPECT_FALSE(machine.first_data_cache(0).state(4096 / 64).dirty);
  EXPECT_TRUE(machine.first_data_cache(1).state(4096 / 64).dirty);
  EXPECT_FALSE(machine.first_data_cache(1).state(4096 / 64).writable);
}

// At most one cache may write a line; where one may, no other has it.
TEST(ModelledHost, OneWriterOrManyReaders) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    modelled_machine machine = host();
    std::mt19937 random{seed};
    time_ps now = 0;
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t line = random() % 2000;
      const auto kind = random() % 2 == 0 ? access_kind::read : access_kind::write;
      now = machine.access(random() % 2, line * 64 * 37, 8, kind, now);
      const std::uint64_t at = line * 37;
      const auto& one = machine.first_data_cache(0);
      const auto& two = machine.first_data_cache(1);
      ASSERT_FALSE(one.state(at).writable && two.holds(at));
      ASSERT_FALSE(two.state(at).writable && one.holds(at));
      ASSERT_FALSE(one.state(at).dirty && two.state(at).dirty);
    }
  }
}

// Everything that was written reaches memory, once it is flushed; nothing is dirty then.
TEST(ModelledHost, FlushingLeavesNothingDirty) {
  modelled_machine machine = host();
  for (std::uint64_t i = 0; i < 100; ++i) machine.access(i % 2, i * 64, 8, access_kind::write, i * 1000 * ns);
  machine.flush(0, 0, 100 * 64, 1'000'000 * ns);
  EXPECT_EQ(counted(machine, "dram 0", "memory", "written_bytes"), 6400u);
  machine.flush(0, 0, 100 * 64, 2'000'000 * ns);
  EXPECT_EQ(counted(machine, "dram 0", "memory", "written_bytes"), 6400u);
}

// An atomic is a write from the memory, 95, and four looks into the L1, 1.333 each. It waits for the write before,
// which went at 0 and is there at 95, and begins then.
TEST(ModelledHost, WaitingForTheWriteBeforeAnAtomicCountsOnce) {
  modelled_machine machine = host();
  EXPECT_EQ(machine.access(0, 4096, 8, access_kind::write, 0), 1333u);
  EXPECT_EQ(machine.access(0, 8192, 8, access_kind::atomic, 1333), (95 + 95) * ns + 4 * 1333);
  EXPECT_EQ(counted(machine, "core 0", "core", "waited_ps"), (95 + 95) * ns + 4 * 1333 - 1333);
}

// A write that misses costs the core no waiting: it is no pure miss.
TEST(ModelledNemesys, CamatOfAFirstCacheHasTheMissesThatTheCoreWaitsFor) {
  modelled_machine machine = nemesys();
  machine.access(0, global, 4, access_kind::write, 0);
  machine.access(0, global, 4, access_kind::read, 5000 * ns);
  const camat_figures first = machine.camat(machine.spec().cores[0].data_path[0]);
  EXPECT_EQ(counted(machine, "L1d 0", "cache", "misses"), 2u);
  EXPECT_EQ(first.accesses, 2u);
  EXPECT_EQ(first.pure_misses, 1u);
  EXPECT_DOUBLE_EQ(first.pure_miss_penalty(), 380 * ns);
}

// Ten reads of one line: nine hits at 1.333 ns and a miss of 95.
TEST(ModelledHost, CamatOfAFirstCacheIsWhatACoreWaits) {
  modelled_machine machine = host();
  time_ps now = 0;
  for (int i = 0; i < 10; ++i) now = machine.access(0, 64, 8, access_kind::read, now);
  const std::uint32_t l1 = machine.spec().cores[0].data_path[0];
  EXPECT_EQ(machine.camat(l1).active, 9 * 1333 + 95'000u);
  EXPECT_DOUBLE_EQ(machine.camat(l1).two_parameters(), machine.camat(l1).five_parameters());
  const std::uint32_t l3 = machine.spec().cores[0].data_path[2];
  EXPECT_EQ(machine.camat(l3).accesses, 1u);
  EXPECT_EQ(machine.camat(l3).active, 95'000u);
  EXPECT_EQ(machine.camat(l3).pure_time, 75'000u);
}

}  // namespace
}  // namespace situ::model
