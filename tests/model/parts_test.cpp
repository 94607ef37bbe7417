// The worked examples in the headers of mesh, memory_controller, tile_bus and network_adapter.
#include "model/parts/memory_controller.h"
#include "model/parts/mesh.h"
#include "model/parts/network_adapter.h"
#include "model/parts/tile_bus.h"
#include "model/parts/tlb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace situ::model {
namespace {

constexpr time_ps ns = 1000;
constexpr mesh_spec small_mesh{.columns = 4, .rows = 4, .flit_bytes = 4, .period = 20 * ns, .hop_time = 60 * ns};

std::vector<part_counters> links(const mesh& network) {
  std::vector<part_counters> all;
  network.append_counters(all);
  return all;
}

TEST(Mesh, APacketTakesItsHopsAndItsFlits) {
  mesh network{small_mesh};
  EXPECT_EQ(network.flits(32), 9u);
  EXPECT_EQ(network.hops({0, 0}, {1, 1}), 2u);
  EXPECT_EQ(network.send({0, 0}, {1, 1}, 32, 0), (2 * 60 + 9 * 20) * ns);
  EXPECT_EQ(network.send({0, 0}, {1, 1}, 32, 0), (9 * 20 + 2 * 60 + 9 * 20) * ns);
}

// XY: from 0,0 to 2,1 the links 0,0 east, 1,0 east, 2,0 south, and out of the router 2,1.
TEST(Mesh, ColumnsComeFirst) {
  mesh network{small_mesh};
  network.send({0, 0}, {2, 1}, 4, 0);
  network.send({3, 3}, {2, 2}, 4, 0);
  std::vector<std::string> names;
  for (const part_counters& link : links(network)) names.push_back(link.part);
  EXPECT_EQ(names, (std::vector<std::string>{"0,0 east", "1,0 east", "2,0 south", "2,1 to tile", "2,2 to tile",
                                             "2,3 north", "3,3 west"}));
  EXPECT_EQ(links(network)[0]["flits"], 2u);
  EXPECT_EQ(links(network)[0]["busy_ps"], 40 * ns);
}

TEST(Mesh, ToItselfNothingMoves) {
  mesh network{small_mesh};
  EXPECT_EQ(network.send({2, 2}, {2, 2}, 1000, 77), 77u);
  EXPECT_TRUE(links(network).empty());
}

// From 0,0 to 3,3 of four columns and rows a torus goes west and north, over its edges.
TEST(Mesh, ATorusGoesTheShorterWayAround) {
  mesh_spec spec = small_mesh;
  spec.is_torus = true;
  mesh network{spec, "data "};
  EXPECT_EQ(network.hops({0, 0}, {3, 3}), 2u);
  EXPECT_EQ(network.hops({0, 0}, {2, 1}), 3u);
  EXPECT_EQ(network.hops({3, 2}, {0, 2}), 1u);
  EXPECT_EQ(network.send({0, 0}, {3, 3}, 4, 0), (2 * 60 + 2 * 20) * ns);
  network.send({3, 3}, {0, 3}, 4, 0);
  std::vector<std::string> names;
  for (const part_counters& link : links(network)) names.push_back(link.part);
  EXPECT_EQ(names, (std::vector<std::string>{"data 0,0 west", "data 3,0 north", "data 0,3 to tile", "data 3,3 east",
                                             "data 3,3 to tile"}));
}

TEST(Mesh, DifferentLinksDoNotWaitForEachOther) {
  mesh network{small_mesh};
  const time_ps alone = network.send({0, 0}, {3, 0}, 32, 0);
  EXPECT_EQ(network.send({3, 0}, {0, 0}, 32, 0), alone);  // the other way round has links of its own
  EXPECT_EQ(network.send({0, 1}, {3, 1}, 32, 0), alone);
}

// A packet of 9 flits goes 1,0 -> 3,0 from 0 on, and has the link 1,0 east until 180. One of 2 flits from 0,0 to 2,0
// finds its first link free at 0, the head at the second at 60; that is taken until 180, so it waits 120 with the first
// link kept until 40 + 120 = 160. A third packet 0,0 -> 1,0 at 40 gets the first link at 160, not at 40.
TEST(Mesh, AStandingPacketKeepsTheLinkBehindIt) {
  mesh network{small_mesh};
  network.send({1, 0}, {3, 0}, 32, 0);
  EXPECT_EQ(network.send({0, 0}, {2, 0}, 4, 0), (180 + 60 + 40) * ns);
  EXPECT_EQ(network.send({0, 0}, {1, 0}, 4, 40 * ns), (160 + 60 + 40) * ns);
}

memory_spec one_channel() {
  return {.name = "dram 0",
          .access_time = 540 * ns,
          .occupancy = 540 * ns,
          .burst_bytes = 32,
          .bytes_per_second = 400'000'000,
          .channels = 1};
}

TEST(MemoryController, OneRequestAtATime) {
  memory_controller memory{one_channel()};
  EXPECT_EQ(memory.access(0, 32, false, 0), 540 * ns);
  EXPECT_EQ(memory.access(64, 32, true, 100 * ns), 1080 * ns);
  const part_counters c = memory.counters();
  EXPECT_EQ(c["reads"], 1u);
  EXPECT_EQ(c["writes"], 1u);
  EXPECT_EQ(c["written_bytes"], 32u);
  EXPECT_EQ(c["busy_ps"], 1080 * ns);
  EXPECT_EQ(c["queueing_ps"], 440 * ns);
}

TEST(MemoryController, LongAccessesGoOnAtTheBandwidth) {
  memory_controller memory{one_channel()};
  EXPECT_EQ(memory.access(0, 96, false, 0), 700 * ns);
  EXPECT_EQ(memory.counters()["busy_ps"], 700 * ns);
}

TEST(MemoryController, ChannelsServeDifferentBurstsAtOnce) {
  memory_spec spec = one_channel();
  spec.channels = 2;
  memory_controller memory{spec};
  EXPECT_EQ(memory.access(0, 32, false, 0), 540 * ns);
  EXPECT_EQ(memory.access(32, 32, false, 0), 540 * ns);   // the other channel
  EXPECT_EQ(memory.access(64, 32, false, 0), 1080 * ns);  // the first again
  memory_controller other{spec};
  EXPECT_EQ(other.access(16, 64, false, 0), 1080 * ns);  // 16..31 and 64..79 on the first, 32..63 on the second
}

TEST(MemoryController, CountsUnitsApart) {
  memory_controller memory{one_channel()};
  memory.access(0, 32, false, 0);
  memory.access_by_unit(0, 4, true, 0);
  EXPECT_EQ(memory.counters()["unit_bytes"], 4u);
  EXPECT_EQ(memory.counters()["unit_busy_ps"], 540 * ns);
  memory.reset_counters();
  EXPECT_EQ(memory.counters()["busy_ps"], 0u);
}

TEST(TileBus, AnAddressAndItsBytes) {
  tile_bus bus{{.name = "tile 0", .bus_period = 20 * ns, .bus_bytes = 4}};
  EXPECT_EQ(bus.transfer(16, 0), 0u);
  EXPECT_EQ(bus.transfer(16, 0), 100 * ns);
  EXPECT_EQ(bus.counters()["bytes"], 32u);
  EXPECT_EQ(bus.counters()["queueing_ps"], 100 * ns);
}

// Asked at 0, the bytes are ready at 1000: the bus is taken from 0 to 20 and from 920 to 1000, and free in between.
TEST(TileBus, ASplitReadGivesItFree) {
  tile_bus bus{{.name = "tile 0", .bus_period = 20 * ns, .bus_bytes = 4}};
  EXPECT_EQ(bus.ask(0), 0u);
  EXPECT_EQ(bus.answer(16, 1000 * ns), 1000 * ns);
  EXPECT_EQ(bus.transfer(16, 0), 20 * ns);
  EXPECT_EQ(bus.transfer(16, 900 * ns), 1000 * ns);
}

// A part's counters have too_late if there were such requests, and only then.
TEST(TooLate, IsCountedByBusesLinksAndMemories) {
  memory_controller memory{one_channel()};
  mesh network{small_mesh};
  tile_bus bus{{.name = "tile 0", .bus_period = 20 * ns, .bus_bytes = 4}};
  const auto count_of = [&] {
    std::vector<std::uint64_t> counts;
    for (const part_counters& each : {memory.counters(), links(network).front(), bus.counters()}) {
      const bool is_shown =
          std::ranges::any_of(each.values, [](const auto& value) { return value.first == part_counters::too_late; });
      EXPECT_EQ(is_shown, each[part_counters::too_late] != 0);
      counts.push_back(each[part_counters::too_late]);
    }
    return counts;
  };
  for (time_ps i = 1; i < busy_times::most_kept() + 9; ++i) {
    memory.access(0, 32, false, i * 1000 * ns);
    network.send({0, 0}, {1, 0}, 4, i * 1000 * ns);
    bus.ask(i * 1000 * ns);
  }
  EXPECT_EQ(count_of(), (std::vector<std::uint64_t>{0, 0, 0}));
  memory.access(0, 32, false, 0);
  network.send({0, 0}, {1, 0}, 4, 0);
  bus.ask(0);
  bus.ask(0);
  EXPECT_EQ(count_of(), (std::vector<std::uint64_t>{1, 1, 2}));
}

TEST(TileBus, WithoutAPeriodThereIsNoBus) {
  tile_bus bus{{.name = "machine"}};
  EXPECT_EQ(bus.transfer(64, 5), 5u);
  EXPECT_EQ(bus.answer(64, 5), 5u);
  EXPECT_EQ(bus.lock(1000, 5), 5u);
}

TEST(NetworkAdapter, OneOperationForItsWholeRoundTrip) {
  network_adapter adapter{{.name = "tile 0", .adapter_outstanding = 1}};
  using operation = network_adapter::operation;
  EXPECT_EQ(adapter.carry_out(operation::load, 32, 0, [](time_ps begin) { return begin + 1400 * ns; }), 1400 * ns);
  EXPECT_EQ(adapter.carry_out(operation::store, 32, 500 * ns, [](time_ps begin) { return begin + 1000 * ns; }),
            2400 * ns);
  const part_counters c = adapter.counters();
  EXPECT_EQ(c["loads"], 1u);
  EXPECT_EQ(c["load_ps"], 1400 * ns);
  EXPECT_EQ(c["store_ps"], 1000 * ns);  // from 1400 on
  EXPECT_EQ(c["busy_ps"], 2400 * ns);
  EXPECT_EQ(c["queueing_ps"], 900 * ns);
  EXPECT_EQ(c["bytes"], 64u);
}

// Asked for at 50, which is before the first: begins behind it.
TEST(NetworkAdapter, ServesInTheOrderOfTheCalls) {
  network_adapter adapter{{.name = "tile 0", .adapter_outstanding = 1}};
  const auto load = [&](time_ps at) {
    return adapter.carry_out(network_adapter::operation::load, 4, at, [](time_ps begin) { return begin + 10; });
  };
  EXPECT_EQ(load(100), 110u);
  EXPECT_EQ(load(50), 120u);
}

TEST(NetworkAdapter, AsManyAtATimeAsItHas) {
  network_adapter adapter{{.name = "tile 0", .adapter_outstanding = 2}};
  const auto load = [&] {
    return adapter.carry_out(network_adapter::operation::load, 4, 0, [](time_ps begin) { return begin + 10; });
  };
  EXPECT_EQ(load(), 10u);
  EXPECT_EQ(load(), 10u);
  EXPECT_EQ(load(), 20u);
}

// The example at the head of tlb.h.
TEST(Tlb, IsLookedIntoWhereThePageIsAnother) {
  tlb buffer{{.sets = 1, .ways = 2, .page_bytes = 4096, .walk_time = 30}};
  std::vector<int> found;
  for (const std::uint64_t page : {1, 1, 2, 1, 3, 2}) {
    const std::uint64_t address = page * 4096 + 8 * page;
    found.push_back(buffer.is_last(address) ? 2 : buffer.look_up(address, buffer.shift_of(0)) ? 1 : 0);
  }
  EXPECT_EQ(found, (std::vector<int>{0, 2, 0, 1, 0, 0}));
  const part_counters counted = buffer.counters("DTLB 0");
  EXPECT_EQ(counted["hits"], 1u);
  EXPECT_EQ(counted["misses"], 4u);
}

TEST(Tlb, OfAMachineWithoutOneNeedsNoLookUp) {
  tlb buffer{tlb_spec{}};
  EXPECT_FALSE(buffer.exists());
  EXPECT_TRUE(buffer.is_last(4096));
  buffer.forget_last();
  EXPECT_TRUE(buffer.is_last(4096));
}

TEST(Counters, AsTextAndJson) {
  const std::vector<part_counters> parts{{"L2 0", "cache", {{"hits", 12}, {"misses", 3}}},
                                         {"L2 1", "cache", {{"hits", 0}, {"misses", 0}}},
                                         {"dram 0", "memory", {{"reads", 3}}}};
  EXPECT_EQ(to_text(parts), "cache  hits  misses\nL2 0     12       3\n\nmemory  reads\ndram 0      3\n");
  EXPECT_EQ(to_text({}), "nothing was counted\n");
  const std::vector<part_counters> times{{"bus 0", "bus", {{"bytes", 64}, {"busy_ps", 10'764'139'989}}},
                                         {"bus 1", "bus", {{"bytes", 8}, {"busy_ps", 0}}}};
  EXPECT_EQ(to_text(times), "bus    bytes     busy\nbus 0     64  10.8 ms\nbus 1      8     0 ns\n");
  EXPECT_EQ(
      to_json(parts, -1),
      R"([{"part":"L2 0","kind":"cache","hits":12,"misses":3},{"part":"L2 1","kind":"cache","hits":0,"misses":0},)"
      R"({"part":"dram 0","kind":"memory","reads":3}])");
}

}  // namespace
}  // namespace situ::model
