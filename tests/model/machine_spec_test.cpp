#include "model/parts/machine_spec.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::HasSubstr;

const std::string machines = SITU_TEST_SOURCE_DIR "/../machines/";

TEST(MachineSpec, NemesysIsTheMachineOfTable2) {
  const machine_spec spec = read_machine(machines + "nemesys-4x4-fitted.toml");
  EXPECT_FALSE(spec.coherent);
  ASSERT_EQ(spec.tiles.size(), 14u);
  ASSERT_EQ(spec.cores.size(), 70u);
  ASSERT_EQ(spec.caches.size(), 14u * (1 + 5 * 2));
  const tile_spec& tile = spec.tiles[5];
  EXPECT_EQ(tile.name, "compute tile 5");
  EXPECT_EQ(tile.x, 2u);
  EXPECT_EQ(tile.y, 1u);
  EXPECT_EQ(tile.cores.size(), 5u);
  EXPECT_EQ(tile.bus_period, 20'000u);
  EXPECT_EQ(tile.bus_bytes, 4u);
  EXPECT_EQ(tile.adapter_time, 100'000u);
  const core_spec& core = spec.cores[tile.cores[2]];
  EXPECT_EQ(core.period, 20'000u);
  EXPECT_EQ(core.tile, 5u);
  EXPECT_EQ(core.cycles.divide, 35);
  ASSERT_EQ(core.data_path.size(), 2u);
  ASSERT_EQ(core.fetch_path.size(), 2u);
  const cache_spec& l1 = spec.caches[core.data_path[0]];
  EXPECT_EQ(l1.sets, 1024u);
  EXPECT_EQ(l1.ways, 2u);
  EXPECT_EQ(l1.line_bytes, 16u);
  EXPECT_EQ(l1.hit_time, 20'000u);
  EXPECT_TRUE(l1.write_through);
  EXPECT_FALSE(l1.allocates_on_write);
  EXPECT_EQ(spec.caches[core.fetch_path[0]].sets, 512u);
  const cache_spec& l2 = spec.caches[core.data_path[1]];
  EXPECT_EQ(core.fetch_path[1], core.data_path[1]);
  EXPECT_EQ(l2.sets, 4096u);
  EXPECT_FALSE(l2.write_through);
  EXPECT_EQ(l2.cores, tile.cores);
}

TEST(MachineSpec, NemesysHasMemoriesUnitsAndAMesh) {
  const machine_spec spec = read_machine(machines + "nemesys-4x4-fitted.toml");
  ASSERT_EQ(spec.memories.size(), 16u);
  const memory_spec& local = spec.memories[spec.tiles[5].local_memory];
  EXPECT_EQ(local.tile, 5u);
  EXPECT_EQ(local.access_time, 400'000u);
  const memory_spec& ddr = spec.memories[15];
  EXPECT_EQ(ddr.tile, none);
  EXPECT_EQ(ddr.x, 3u);
  EXPECT_EQ(ddr.y, 3u);
  EXPECT_EQ(spec.memories[14].x, 1u);
  EXPECT_EQ(spec.memories[14].y, 1u);
  EXPECT_EQ(spec.tiles[9].x, 2u);
  EXPECT_EQ(spec.tiles[9].y, 2u);
  EXPECT_EQ(ddr.access_time, 540'000u);
  EXPECT_EQ(ddr.occupancy, 540'000u);
  EXPECT_EQ(ddr.burst_bytes, 32u);
  EXPECT_EQ(ddr.adapter_time, 100'000u);
  EXPECT_EQ(spec.mesh.columns, 4u);
  EXPECT_EQ(spec.mesh.flit_bytes, 4u);
  EXPECT_EQ(spec.mesh.hop_time, 60'000u);
  ASSERT_EQ(spec.accelerators.size(), 14u * 2 + 2);
  const accelerator_spec& copy = spec.accelerators.back();
  EXPECT_EQ(copy.kind, machine::device_kind::graph_copy);
  EXPECT_EQ(copy.entries, 16u);
  EXPECT_EQ(copy.memory, 15u);
  EXPECT_EQ(copy.period, 10'000u);
  EXPECT_EQ(copy.x, 3u);
}

// The machine without table 6, and that with it, have the same parts and the same L2 miss; what the paper does not give
// is marked in the first, and in the second nothing is.
TEST(MachineSpec, NemesysSaysWhatItAssumes) {
  const machine_spec spec = read_machine(machines + "nemesys-4x4.toml");
  const machine_spec fitted = read_machine(machines + "nemesys-4x4-fitted.toml");
  EXPECT_TRUE(fitted.assumed.empty());
  EXPECT_EQ(spec.cores.size(), fitted.cores.size());
  EXPECT_EQ(spec.caches.size(), fitted.caches.size());
  std::vector<std::string> figures;
  for (const machine::assumption& each : spec.assumed) figures.push_back(each.figure);
  for (const char* const each :
       {"adapter.latency", "adapter.entries", "memory_adapter.latency", "ddr.access_time", "ddr.occupancy",
        "ddr.bandwidth", "tile.width_bits", "link.latency", "link.width_bits", "core.cycles.floating"})
    EXPECT_THAT(figures, testing::Contains(each));
  const auto miss_of = [](const machine_spec& of) {  // two hops away: 4 passes, 4 hops, 11 flits
    return of.caches[of.cores[0].data_path[1]].hit_time + 2 * of.tiles[0].adapter_time +
           2 * of.memories[14].adapter_time + of.memories[14].access_time + 4 * of.mesh.hop_time + 11 * of.mesh.period;
  };
  EXPECT_EQ(miss_of(spec), 1'800'000u);
  EXPECT_EQ(miss_of(fitted), 1'800'000u);
  const machine_spec small = read_machine(machines + "nemesys-2x2.toml");
  EXPECT_EQ(small.assumed, spec.assumed);
}

TEST(MachineSpec, TheSmallNemesysHasThreeTilesAndOneMemory) {
  const machine_spec spec = read_machine(machines + "nemesys-2x2-fitted.toml");
  EXPECT_EQ(spec.tiles.size(), 3u);
  EXPECT_EQ(spec.cores.size(), 15u);
  EXPECT_EQ(spec.memories.size(), 4u);
  EXPECT_EQ(spec.accelerators.size(), 7u);
  EXPECT_EQ(spec.memories[3].x, 1u);
  EXPECT_EQ(spec.memories[3].y, 1u);
}

TEST(MachineSpec, TheHostIsOneCoherentTile) {
  const machine_spec spec = read_machine(SITU_TEST_SOURCE_DIR "/model/assumed_host.toml");
  EXPECT_TRUE(spec.coherent);
  ASSERT_EQ(spec.tiles.size(), 1u);
  ASSERT_EQ(spec.cores.size(), 2u);
  EXPECT_EQ(spec.cores[1].data_path.size(), 3u);
  EXPECT_EQ(spec.mesh.columns, 0u);
  ASSERT_EQ(spec.memories.size(), 1u);
  // What a core sees, 95 ns, less the look into the L3, 20 ns; 64 bytes at a quarter of 40 GB/s take 6.4 ns.
  EXPECT_EQ(spec.memories[0].access_time, 75'000u);
  EXPECT_EQ(spec.memories[0].occupancy, 6'400u);
  EXPECT_EQ(spec.memories[0].channels, 4u);
}

// Whatever is wrong: an error with file and line, and what is allowed.
const std::string good = R"(name = "small"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "90 ns"
bandwidth = "10 GB/s"
[[node]]
id = "l1"
kind = "cache"
level = 1
size = "32 KiB"
ways = 2
line_bytes = 64
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = { integer = 1, multiply = 4, divide = 35, floating = 4, branch = 1, call = 3 }
)";

std::string broken(const std::string& from, const std::string& to) {
  std::string text = good;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    (void)parse_machine(text, "small.toml");
  } catch (const error& bad) {
    EXPECT_EQ(bad.code(), errc::bad_file);
    return std::string{bad.message()};
  }
  ADD_FAILURE() << "no error for " << to;
  return "";
}

// Section 2.1 of the RMem paper: clusters of 16 cores whose first caches nobody keeps coherent, I/O clusters whose
// cores share a coherent one, two networks.
TEST(MachineSpec, TheMppaHasClustersAndTwoNetworks) {
  const machine_spec spec = read_machine(machines + "mppa-256-bostan.toml");
  EXPECT_FALSE(spec.coherent);
  ASSERT_EQ(spec.tiles.size(), 20u);
  ASSERT_EQ(spec.cores.size(), 256u + 16u);
  for (std::size_t i = 0; i < spec.tiles.size(); ++i) {
    const bool is_cluster = i < 16;
    EXPECT_EQ(spec.tiles[i].is_snooped, !is_cluster);
    EXPECT_EQ(spec.tiles[i].local_memory != none, is_cluster);
    EXPECT_EQ(spec.tiles[i].cores.size(), is_cluster ? 16u : 4u);
  }
  EXPECT_EQ(spec.memories.back().bytes, std::uint64_t{64} << 30);
  EXPECT_EQ(spec.memories.back().adapter_time, 25'000u);
  EXPECT_TRUE(spec.mesh.is_torus);
  EXPECT_EQ(spec.mesh.flit_bytes, 4u);
  EXPECT_EQ(spec.mesh.period, 2500u);
  EXPECT_EQ(spec.control.columns, 4u);
  EXPECT_EQ(spec.control.rows, 5u);
  EXPECT_EQ(spec.control.flit_bytes, 1u);
}

TEST(MachineSpec, OneNetworkForMessagesAsLargeAsTheMesh) {
  std::ifstream file{machines + "mppa-256-bostan.toml"};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const auto error_of = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.rfind(from), from.size(), to);
    try {
      (void)parse_machine(changed, "mppa.toml");
    } catch (const error& bad) {
      return std::string{bad.message()};
    }
    return std::string{};
  };
  EXPECT_THAT(error_of("carries = \"messages\"", "carries = \"all\""),
              HasSubstr("one mesh, and perhaps one that carries messages"));
  EXPECT_THAT(error_of("rows = 5", "rows = 6"), HasSubstr("has the columns and rows of the mesh beside it"));
  EXPECT_THAT(error_of("carries = \"messages\"", "carries = \"mail\""), HasSubstr("carries"));
}

TEST(MachineSpec, ASmallMachineIsEnough) {
  const machine_spec spec = parse_machine(good, "small.toml");
  EXPECT_EQ(spec.tiles.size(), 1u);
  EXPECT_EQ(spec.caches[0].sets, 256u);
}

TEST(MachineSpec, ErrorsSayWhereAndWhatIsAllowed) {
  EXPECT_THAT(broken("clock = \"1 GHz\"\n", ""), HasSubstr("small.toml:18: node[2]: core 0: a core needs a clock"));
  EXPECT_THAT(broken("ways = 2\n", ""), HasSubstr("small.toml:8: node[1]: L1 0: a cache needs ways"));
  EXPECT_THAT(broken("ways = 2", "ways = 3"), HasSubstr("are 170.667 sets; a power of two of them is allowed"));
  EXPECT_THAT(broken("line_bytes = 64", "line_bytes = 48"), HasSubstr("a power of two from 4 on is allowed"));
  EXPECT_THAT(broken("latency = \"90 ns\"\n", ""), HasSubstr("a memory needs a latency"));
  EXPECT_THAT(broken("bandwidth = \"10 GB/s\"\n", ""), HasSubstr("a memory needs a bandwidth, or an occupancy"));
  EXPECT_THAT(broken("latency = \"90 ns\"", "latency = \"1 ns\""), HasSubstr("below that of the outermost cache"));
  EXPECT_THAT(broken("ways = 2", "wayz = 2"), HasSubstr("small.toml:13"));
  EXPECT_THAT(broken("write_policy = \"write_back\"\n", ""),
              HasSubstr("small.toml:8: node[1]: L1 0: a cache of data needs a write_policy: \"write_back\" or"));
  EXPECT_THAT(broken("allocates_on = \"reads_and_writes\"\n", ""),
              HasSubstr("small.toml:8: node[1]: L1 0: a cache of data needs allocates_on: \"reads\" or"));
  EXPECT_THAT(broken("cycles = {", "# {"), HasSubstr("small.toml:18: node[2]: core 0: a core needs cycles of each"));
  EXPECT_THAT(broken(", call = 3", ""), HasSubstr("small.toml:18: node[2]: core 0: a core needs cycles of each"));
}

// The model of programs knows grids alone.
TEST(MachineSpec, FullLinksAndRingsAreNotOfProgramsMachines) {
  for (const std::string shape : {"full", "ring"}) {
    const std::string text = good +
                             "[[node]]\nid = \"more\"\nkind = \"core\"\n[[link]]\nkind = \"coherent\"\nends = "
                             "[\"more\", \"l1\"]\ntopology = \"" +
                             shape + "\"\n";
    try {
      (void)parse_machine(text, "small.toml");
      ADD_FAILURE() << shape;
    } catch (const error& failure) {
      EXPECT_THAT(failure.what(), HasSubstr("topology = \"" + shape + "\" is not modelled for programs"));
    }
  }
}

TEST(MachineSpec, TlbsAreOfCores) {
  const auto with = [](const std::string& keys) { return good + keys; };
  const machine_spec spec =
      parse_machine(with("dtlb = { entries = 32, ways = 4, page = \"4 KiB\", walk = 30 }\n"), "small.toml");
  EXPECT_EQ(spec.cores[0].dtlb.sets, 8u);
  EXPECT_EQ(spec.cores[0].dtlb.ways, 4u);
  EXPECT_EQ(spec.cores[0].dtlb.page_bytes, 4096u);
  EXPECT_EQ(spec.cores[0].dtlb.walk_time, 30'000u);
  EXPECT_EQ(spec.cores[0].itlb.sets, 0u);
  const auto error_of = [&](const std::string& keys) {
    try {
      (void)parse_machine(with(keys), "small.toml");
    } catch (const error& bad) {
      return std::string{bad.message()};
    }
    return std::string{};
  };
  EXPECT_THAT(error_of("dtlb = { entries = 32, ways = 4, page = \"4 KiB\" }\n"),
              HasSubstr("small.toml:18: node[2]: core 0: dtlb needs all of { entries = 32"));
  EXPECT_THAT(error_of("dtlb = { entries = 30, ways = 4, page = \"4 KiB\", walk = 30 }\n"),
              HasSubstr("dtlb: 30 entries in 4 ways are 7.5 sets; a power of two of them is allowed"));
  EXPECT_THAT(error_of("dtlb = { entries = 32, ways = 4, page = \"32 B\", walk = 30 }\n"),
              HasSubstr("dtlb: page is a power of two from 64 bytes, a line, to 2 GiB"));
  EXPECT_THAT(error_of("itlb = { entries = 32, ways = 4, page = \"4 KiB\", walk = 30 }\n"),
              HasSubstr("give it one, or remove itlb"));
  EXPECT_THAT(error_of("dtlb = { entries = 32, way = 4 }\n"), HasSubstr("small.toml:24"));
}

// An instruction cache has no writes, and need not say what becomes of them.
TEST(MachineSpec, CachesOfInstructionsNeedNoWritePolicy) {
  std::string text = good;
  text.replace(
      text.find("write_policy"),
      std::string{"write_policy = \"write_back\"\nallocates_on = "}.size() + std::string{"\"reads_and_writes\""}.size(),
      "cache = \"instruction\"");
  EXPECT_EQ(parse_machine(text, "small.toml").caches.size(), 1u);
}

// Two cores with L1s of their own, of 32 and 64 bytes a line.
TEST(MachineSpec, PrivateCachesThatWriteBackHaveEqualLines) {
  const std::string second = R"([[node]]
id = "other_l1"
kind = "cache"
level = 1
size = "32 KiB"
ways = 2
line_bytes = 32
latency = "1 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
[[node]]
id = "other_core"
in = "other_l1"
kind = "core"
os = "1"
clock = "1 GHz"
cycles = { integer = 1, multiply = 4, divide = 35, floating = 4, branch = 1, call = 3 }
)";
  const auto message = [](const std::string& of) {
    try {
      (void)parse_machine(of, "small.toml");
    } catch (const error& bad) {
      return std::string{bad.message()};
    }
    return std::string{"no error"};
  };
  EXPECT_THAT(message(good + second),
              HasSubstr("small.toml:24: node[3]: L1 1: lines of 32 bytes of a cache that writes "
                        "back"));
  std::string equal = good + second;
  equal.replace(equal.find("line_bytes = 32"), std::string{"line_bytes = 32"}.size(), "line_bytes = 64");
  EXPECT_EQ(message(equal), "no error");
}

TEST(MachineSpec, TilesNeedANetworkWithRoomForThem) {
  std::string text = R"(name = "two"
coherence = "none"
[[node]]
id = "tile"
kind = "group"
count = 2
coherence = "snooping"
position = ["0,0", "1,0"]
[[node]]
id = "adapter"
in = "tile"
kind = "device"
device = "network_adapter"
latency = "5 ns"
[[node]]
id = "core"
in = "tile"
kind = "core"
clock = "1 GHz"
cycles = { integer = 1, multiply = 4, divide = 35, floating = 4, branch = 1, call = 3 }
)";
  const auto message = [](const std::string& of) {
    try {
      (void)parse_machine(of, "two.toml");
    } catch (const error& bad) {
      return std::string{bad.message()};
    }
    return std::string{"no error"};
  };
  EXPECT_THAT(message(text), HasSubstr("several tiles need a [[link]] with topology = \"mesh\""));
  std::string link =
      "[[link]]\nkind = \"incoherent\"\ntopology = \"mesh\"\ncolumns = 2\nrows = 1\nwidth_bits = 32\nclock = \"1 "
      "GHz\"\n"
      "latency = \"3 ns\"\nends = [\"tile\"]\n";
  EXPECT_EQ(message(text + link), "no error");
  const auto with = [&](std::string from, std::string to) {
    std::string changed = text + link;
    changed.replace(changed.find(from), from.size(), to);
    return message(changed);
  };
  EXPECT_THAT(with("columns = 2", "columns = 1"), HasSubstr("the position 1,0 is outside of a mesh of 1 columns"));
  EXPECT_THAT(with("\"1,0\"", "\"0,0\""), HasSubstr("two ends of a mesh have the position 0,0"));
  EXPECT_THAT(with("width_bits = 32\n", ""), HasSubstr("its mesh needs width_bits"));
  EXPECT_THAT(with("device = \"network_adapter\"", "device = \"dma\"\nclock = \"1 GHz\""),
              HasSubstr("a tile on a mesh has a network adapter"));
  text +=
      "[[node]]\nid = \"memory_tile\"\nkind = \"group\"\nposition = [\"2,0\"]\n[[node]]\nid = \"ddr\"\nin = "
      "\"memory_tile\"\nkind = \"memory\"\nsize = \"1 GiB\"\naccess_time = \"50 ns\"\noccupancy = \"50 ns\"\n"
      "burst_bytes = 32\n";
  link.replace(link.find("columns = 2"), 11, "columns = 3");
  link.replace(link.find("[\"tile\"]"), 8, "[\"tile\", \"memory_tile\"]");
  EXPECT_THAT(message(text + link),
              HasSubstr("two.toml:25: node[4]: dram 0: a memory on a mesh has a network adapter"));
  EXPECT_THAT(with("coherence = \"none\"", "coherence = \"directory\""),
              HasSubstr("coherence between tiles is not modelled"));
}

}  // namespace
}  // namespace situ::model
