// machines/tile64.toml against tables 1 to 3 and section 5.1 of Ungar and Adams, Hosting an Object Heap on Manycore
// Hardware (DLS 2009). All times are in cycles.
#include "model/parts/machine_settings.h"
#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

constexpr double cycle_ps = 1e12 / 700e6;
constexpr double rounding = 0.1;  // the model's times are whole picoseconds
constexpr std::uint64_t memory_bytes = std::uint64_t{1} << 30;

machine_spec tile64(const std::vector<std::string>& settings = {}) {
  const std::string path = SITU_TEST_SOURCE_DIR "/../machines/tile64.toml";
  std::ifstream stream{path};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  return parse_machine(apply_settings(text, path, settings), path);
}

// The machine with a GiB of addresses in each of its memories, and accesses that never meet.
class measured {
 public:
  explicit measured(const std::vector<std::string>& settings = {}) : machine_{tile64(settings)} {
    for (std::uint32_t i = 0; i < machine_.spec().memories.size(); ++i)
      machine_.map_range(i * memory_bytes, (i + 1) * memory_bytes, i);
  }
  double read(std::uint32_t tile, std::uint64_t address) { return access(tile, address, access_kind::read); }
  double write(std::uint32_t tile, std::uint64_t address) { return access(tile, address, access_kind::write); }
  double access(std::uint32_t tile, std::uint64_t address, access_kind kind) {
    return cycles([&](time_ps now) { return machine_.access(tile, address, 4, kind, now); });
  }
  template <class Operation>
  double cycles(Operation operation) {
    now_ += 1'000'000'000;
    return static_cast<double>(operation(now_) - now_) / cycle_ps;
  }
  // Looks the page up before an access is measured.
  void translate(std::uint32_t tile, std::uint64_t address) { read(tile, address + 4096); }
  modelled_machine& machine() { return machine_; }

  [[nodiscard]] int hops(std::uint32_t a, std::uint32_t b) const {
    const auto &from = machine_.spec().tiles[a], &to = machine_.spec().tiles[b];
    return distance(from.x, to.x) + distance(from.y, to.y);
  }
  [[nodiscard]] int hops_to_memory(std::uint32_t tile, std::uint32_t memory) const {
    const tile_spec& from = machine_.spec().tiles[tile];
    const memory_spec& to = machine_.spec().memories[memory];
    return distance(from.x, to.x) + distance(from.y, to.y);
  }
  [[nodiscard]] std::uint64_t counted(const std::string& part, const std::string& what) const {
    for (const part_counters& each : machine_.counters())
      if (each.part == part) return each[what];
    return 0;
  }

 private:
  static int distance(std::uint32_t a, std::uint32_t b) { return std::abs(static_cast<int>(a) - static_cast<int>(b)); }
  modelled_machine machine_;
  time_ps now_ = 0;
};

// Tables 1 to 3: 2 cycles in the L1, 8 in the L2, in the user-managed regime and at the home tile.
TEST(Tile64, ReadsOfItsOwnCaches) {
  for (const bool is_homed : {false, true}) {
    measured machine;
    if (is_homed) machine.machine().home_range(0, 65536, 9, 0);
    machine.read(9, 0);
    EXPECT_NEAR(machine.read(9, 0), 2, rounding);
    EXPECT_NEAR(machine.read(9, 16), 8, rounding);  // another line of the L1, the same of the L2
    EXPECT_NEAR(machine.read(9, 16), 2, rounding);
  }
}

// Section 5.1.2: about 35 cycles and 2 a hop. Table 1: 35 to 49, which 7 hops are. Table 3: about 40.
TEST(Tile64, ReadsOfAnotherTilesL2) {
  measured machine;
  machine.machine().home_range(0, 65536, 0, 0);
  machine.read(0, 0);
  int most = 0;
  for (std::uint32_t tile = 1; tile < 64; ++tile) {
    machine.translate(tile, 0);
    const int hops = machine.hops(tile, 0);
    const double took = machine.read(tile, 0);
    EXPECT_NEAR(took, 35 + 2 * hops, rounding) << hops;
    if (hops <= 7) {
      EXPECT_GE(took, 35);
      EXPECT_LE(took, 49 + rounding);
    }
    if (hops == 2 || hops == 3) {
      EXPECT_NEAR(took, 40, 1 + rounding);
    }
    most = std::max(most, hops);
  }
  EXPECT_EQ(most, 14);  // farther than the table's: up to 63 cycles
}

// Table 1: 69 to 88 cycles for memory. The farthest of the 13 hops exceed that; 9 are within.
TEST(Tile64, ReadsOfMemory) {
  measured machine;
  std::uint64_t line = 1 << 20;
  int within = 0;
  for (std::uint32_t memory = 0; memory < 4; ++memory)
    for (std::uint32_t tile = 0; tile < 64; ++tile) {
      const std::uint64_t address = memory * memory_bytes + (line += 64);
      machine.translate(tile, address);
      const int hops = machine.hops_to_memory(tile, memory);
      const double took = machine.read(tile, address);
      EXPECT_NEAR(took, 69.5 + 2 * hops, 0.2) << hops;
      if (hops > 9) continue;
      ++within;
      EXPECT_GE(took, 69);
      EXPECT_LE(took, 88);
    }
  EXPECT_GT(within, 200);
}

// Table 3: about 80 cycles for what is homed elsewhere and in memory; table 1: 69 to 88.
TEST(Tile64, ReadsOfAnotherTilesMemory) {
  measured machine;
  double sum = 0;
  int count = 0;
  for (std::uint32_t home = 0; home < 64; home += 5)
    for (std::uint32_t tile = 0; tile < 64; tile += 3) {
      if (tile == home) continue;
      std::uint32_t nearest = 0;
      for (std::uint32_t i = 1; i < 4; ++i)
        if (machine.hops_to_memory(home, i) < machine.hops_to_memory(home, nearest)) nearest = i;
      const std::uint64_t page = nearest * memory_bytes + (std::uint64_t{1 + home} << 16);
      const std::uint64_t address = page + 64 * tile;
      machine.machine().home_range(page, page + 65536, home, 0);
      machine.read(tile, page + 60'000);
      const int hops =
          machine.hops(tile, home) + machine.hops_to_memory(home, nearest) + machine.hops_to_memory(tile, nearest);
      const double took = machine.read(tile, address);
      EXPECT_NEAR(took, 68 + hops, 0.2);
      if (hops <= 20) {
        EXPECT_GE(took, 69);
        EXPECT_LE(took, 88.2);
      }
      sum += took;
      ++count;
      EXPECT_NEAR(machine.read(tile, address), 35 + 2 * machine.hops(tile, home), rounding);  // the home has it now
    }
  EXPECT_NEAR(sum / count, 80, 5);  // of all distances alike
}

// Table 2: the four steps of a write in the user-managed regime.
TEST(Tile64, AUserManagedWrite) {
  measured machine;
  for (const std::uint32_t tile : {0U, 9U}) machine.read(tile, 0);
  // 1. The other tile invalidates the line: a command.
  EXPECT_NEAR(machine.cycles([&](time_ps now) { return machine.machine().invalidate(9, 0, 64, now); }), 1, rounding);
  // 2. The storing tile stores. The core goes on after a hit of its L1.
  EXPECT_NEAR(machine.write(0, 0), 2, rounding);
  // 3. and 4. It flushes the line and waits until it is in memory: a request of 18 flits, an answer of one.
  const int hops = machine.hops_to_memory(0, 0);
  EXPECT_NEAR(machine.cycles([&](time_ps now) { return machine.machine().flush(0, 0, 64, now); }),
              1 + 5.75 + 18 + 1 + 29 + 1 + 1 + 5.75 + 2 * hops, 0.3);
  // Both then read it from memory.
  for (const std::uint32_t tile : {0U, 9U}) {
    const double took = machine.read(tile, 0);
    EXPECT_GE(took, 69);
    EXPECT_LE(took, 88);
  }
}

// Table 3: "hardware does it". The core goes on, and the home's next read sees the write.
TEST(Tile64, AHomedWrite) {
  measured machine;
  machine.machine().home_range(0, 65536, 0, 0);
  machine.read(0, 0);
  machine.translate(9, 0);
  EXPECT_NEAR(machine.write(9, 0), 1, rounding);
  EXPECT_NEAR(machine.read(0, 0), 8, rounding);
  EXPECT_NEAR(machine.write(0, 0), 2, rounding);
}

// Section 5.1: 23 cycles to send a message of 10 words, and 12 to receive it.
TEST(Tile64, RawMessages) {
  measured machine;
  const raw_channel_spec& raw = machine.machine().spec().raw;
  EXPECT_EQ(raw.bytes, 40u);
  EXPECT_NEAR(static_cast<double>(raw.send_time) / cycle_ps, 23, 0.01);
  EXPECT_NEAR(static_cast<double>(raw.receive_time) / cycle_ps, 12, 0.01);
  for (const std::uint32_t tile : {0U, 1U, 9U, 63U})
    EXPECT_NEAR(machine.cycles([&](time_ps now) { return machine.machine().send_raw(0, tile, 40, now); }),
                machine.hops(0, tile), rounding);
}

// 16 entries for data, 8 for instructions; pages of 64 KiB, or 16 MiB. Misses retire instructions.
TEST(Tile64, PagesThatItTranslates) {
  for (const std::uint64_t page : {std::uint64_t{64} << 10, std::uint64_t{16} << 20}) {
    const std::string bytes = std::to_string(page >> 10) + "KiB";
    measured machine{{"core.dtlb.page=" + bytes, "core.itlb.page=" + bytes}};
    for (const int pages : {16, 17}) {
      machine.machine().reset_counters();
      for (int round = 0; round < 2; ++round)
        for (int i = 0; i < pages; ++i) machine.read(0, static_cast<std::uint64_t>(i) * page);
      // The 17th page throws out the first one, and each further page the next.
      EXPECT_EQ(machine.counted("DTLB 0", "misses"), pages == 16 ? 16u : 18u);
      EXPECT_EQ(machine.machine().walk_instructions(0), 60 * machine.counted("DTLB 0", "misses"));
    }
  }
}

}  // namespace
}  // namespace situ::model
