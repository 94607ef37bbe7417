#include "model/parts/coherence_shadow.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

using what = coherence_report::what;

// A plain buffer of eight lines of 32 bytes, which tiles 0..2 share.
class CoherenceShadow : public testing::Test {
 protected:
  static constexpr std::uint32_t line_bytes = 32;
  struct alignas(line_bytes) buffer {
    std::array<std::byte, 8 * line_bytes> bytes{};
  };

  CoherenceShadow() { shadow_->add_region(shared_.bytes.data(), shared_.bytes.size()); }

  [[nodiscard]] std::uint64_t address(std::size_t at) const {
    return reinterpret_cast<std::uint64_t>(shared_.bytes.data() + at);
  }
  void write(std::uint32_t tile, std::size_t at, std::uint32_t value, std::uintptr_t code = 0) {
    shadow_->see(tile, address(at), 4, true, code);
    std::memcpy(shared_.bytes.data() + at, &value, 4);
  }
  std::uint32_t read(std::uint32_t tile, std::size_t at, std::uintptr_t code = 0) {
    shadow_->see(tile, address(at), 4, false, code);
    return in_place(at);
  }
  void leave(std::uint32_t tile, std::size_t at, line_event event, bool dirty = true) {
    shadow_->on_line(tile, address(at) / line_bytes, line_bytes, event, dirty);
  }
  [[nodiscard]] std::uint32_t in_place(std::size_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, shared_.bytes.data() + at, 4);
    return value;
  }
  std::uint32_t memory(std::size_t at) {
    shadow_->see_memory(address(at), 4, false);
    return in_place(at);
  }

  buffer shared_;
  std::vector<coherence_report> reports_;
  std::unique_ptr<coherence_shadow> shadow_ = std::make_unique<coherence_shadow>(
      3, line_bytes, [this](const coherence_report& report) { reports_.push_back(report); });
};

// The C library writes 7 to a line that tile 0 has read: as if tile 0 had. So it goes to memory with a line that the
// machine takes for clean, and who has the line is stale.
TEST_F(CoherenceShadow, WhatNobodySawIsTheOwners) {
  EXPECT_EQ(read(1, 0), 0u);
  EXPECT_EQ(read(0, 0), 0u);
  const std::uint32_t seven = 7;
  std::memcpy(shared_.bytes.data(), &seven, 4);
  EXPECT_EQ(read(1, 0), 0u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].other_tile, 0u);
  EXPECT_EQ(reports_[0].other_at, 0u);
  leave(0, 0, line_event::written_back, false);
  EXPECT_EQ(memory(0), 7u);
  leave(1, 0, line_event::evicted, false);
  EXPECT_EQ(read(1, 0), 7u);
  EXPECT_EQ(reports_.size(), 1u);
}

TEST_F(CoherenceShadow, AReadOfADirtyLineElsewhereIsStale) {
  write(0, 0, 1);
  leave(0, 0, line_event::written_back);
  EXPECT_EQ(read(1, 0), 1u);
  write(0, 0, 2, 0xa);
  EXPECT_EQ(read(0, 0), 2u);
  EXPECT_EQ(read(1, 0, 0xb), 1u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].kind, what::stale_read);
  EXPECT_EQ(reports_[0].address, address(0));
  EXPECT_EQ(reports_[0].bytes, 1u);  // the others of the four are zero in both
  EXPECT_EQ(reports_[0].tile, 1u);
  EXPECT_EQ(reports_[0].other_tile, 0u);
  EXPECT_EQ(reports_[0].at, 0xbu);
  EXPECT_EQ(reports_[0].other_at, 0xau);
  EXPECT_EQ(shadow_->stale_reads(), 1u);
}

// Tile 1 has an old copy of the whole line, whichever of its bytes it looks at first; it is told once.
TEST_F(CoherenceShadow, ALineIsStaleFromItsFirstReadToItsLast) {
  EXPECT_EQ(read(1, 0), 0u);
  write(0, 0, 2, 0xa);
  EXPECT_EQ(read(1, 8), 0u);
  EXPECT_TRUE(reports_.empty());
  EXPECT_EQ(read(1, 0, 0xb), 0u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].address, address(0));
  EXPECT_EQ(reports_[0].other_tile, 0u);
  EXPECT_EQ(reports_[0].at, 0xbu);
  EXPECT_EQ(reports_[0].other_at, 0xau);
  EXPECT_EQ(read(1, 0), 0u);
  EXPECT_EQ(reports_.size(), 1u);
}

TEST_F(CoherenceShadow, WritingOtherBytesLeavesALineStale) {
  EXPECT_EQ(read(1, 0), 0u);
  write(0, 0, 2);
  write(0, 4, 3);
  write(1, 8, 5);
  write(1, 4, 6);
  EXPECT_EQ(read(1, 4), 6u);  // its own
  EXPECT_EQ(read(1, 8), 5u);
  EXPECT_TRUE(reports_.empty());
  EXPECT_EQ(read(1, 0), 0u);
  EXPECT_EQ(reports_.size(), 1u);
}

// What tile 0 wrote is lost, which is its mistake; tile 1 then has what the memory has.
TEST_F(CoherenceShadow, WhatIsDroppedMakesNobodyStale) {
  EXPECT_EQ(read(1, 0), 0u);
  write(0, 0, 2);
  EXPECT_EQ(read(1, 8), 0u);
  leave(0, 0, line_event::invalidated);
  EXPECT_EQ(read(1, 0), 0u);
  EXPECT_EQ(shadow_->stale_reads(), 0u);
  EXPECT_EQ(shadow_->lost_writes(), 1u);
}

TEST_F(CoherenceShadow, WritingBackAloneDoesNotHelpWhoHasACopy) {
  EXPECT_EQ(read(1, 0), 0u);
  write(0, 0, 7);
  leave(0, 0, line_event::written_back);
  EXPECT_EQ(read(1, 0), 0u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].other_tile, 0u);
}

TEST_F(CoherenceShadow, WritingBackAndInvalidatingIsRight) {
  EXPECT_EQ(read(1, 0), 0u);
  write(0, 0, 7);
  leave(0, 0, line_event::written_back);
  leave(1, 0, line_event::invalidated, false);
  EXPECT_EQ(read(1, 0), 7u);
  EXPECT_TRUE(reports_.empty());
}

// Two tiles write different words of a line: the later write-back of the whole line takes the first one's word back.
TEST_F(CoherenceShadow, FalseSharingLosesWrites) {
  write(0, 0, 11, 0xa);
  write(1, 4, 22, 0xb);
  leave(0, 0, line_event::evicted);
  EXPECT_EQ(memory(0), 11u);
  shadow_->set_cause(0xc);
  leave(1, 0, line_event::evicted);
  EXPECT_EQ(memory(4), 22u);
  EXPECT_EQ(memory(0), 0u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].kind, what::lost_write);
  EXPECT_EQ(reports_[0].address, address(0));
  EXPECT_EQ(reports_[0].tile, 1u);
  EXPECT_EQ(reports_[0].other_tile, 0u);
  EXPECT_EQ(reports_[0].at, 0xcu);
  EXPECT_EQ(reports_[0].other_at, 0xau);
  EXPECT_EQ(shadow_->lost_writes(), 1u);
}

TEST_F(CoherenceShadow, InvalidatingADirtyLineLosesOnesOwn) {
  write(2, 64, 5, 0xa);
  leave(2, 64, line_event::invalidated);
  EXPECT_EQ(read(2, 64), 0u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].kind, what::lost_write);
  EXPECT_EQ(reports_[0].tile, 2u);
  EXPECT_EQ(reports_[0].other_tile, 2u);
}

TEST_F(CoherenceShadow, AtomicsAndDevicesSeeTheMemory) {
  write(0, 0, 3);
  EXPECT_EQ(memory(0), 0u);  // it is in the tile's cache only
  EXPECT_EQ(read(0, 0), 3u);
  shadow_->see_memory(address(4), 4, true, 0xd);
  const std::uint32_t nine = 9;
  std::memcpy(shared_.bytes.data() + 4, &nine, 4);
  EXPECT_EQ(read(1, 4), 9u);
  EXPECT_TRUE(reports_.empty());
  EXPECT_EQ(read(0, 4), 0u);  // its copy of the line is older
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].other_tile, none);
  EXPECT_EQ(reports_[0].other_at, 0xdu);
}

TEST_F(CoherenceShadow, ReadingWhatIsEqualIsNoMistake) {
  write(0, 0, 0);
  EXPECT_EQ(read(1, 0), 0u);
  EXPECT_EQ(read(1, 8), 0u);
  write(0, 4, 1);
  EXPECT_EQ(read(1, 8), 0u);  // other bytes of the line
  EXPECT_TRUE(reports_.empty());
}

TEST_F(CoherenceShadow, ItsEndLeavesTheMemorysBytes) {
  write(0, 0, 1);
  leave(0, 0, line_event::written_back);
  write(0, 0, 2);
  shadow_.reset();
  EXPECT_EQ(in_place(0), 1u);
}

TEST_F(CoherenceShadow, OnlyItsRegionsAreItsAffair) {
  shadow_->see(0, address(256), 4, true);
  EXPECT_THROW(shadow_->add_region(shared_.bytes.data() + 1, 32), error);
  EXPECT_THROW(shadow_->add_region(shared_.bytes.data(), 33), error);
  EXPECT_THROW(coherence_shadow(255, 32), error);
  EXPECT_THROW(coherence_shadow(2, 128), error);
}

// Against caches kept the plain way: a copy of the line for each tile that has it.
TEST_F(CoherenceShadow, DoesAsPlainCopiesDo) {
  using line = std::array<std::byte, line_bytes>;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    shadow_.reset();
    shared_ = {};
    shadow_ = std::make_unique<coherence_shadow>(3, line_bytes);
    shadow_->add_region(shared_.bytes.data(), shared_.bytes.size());
    std::mt19937 random{seed};
    std::array<line, 8> memory_lines{};
    std::array<std::map<std::size_t, std::pair<line, bool>>, 3> caches;
    for (int i = 0; i < 500; ++i) {
      const std::uint32_t tile = random() % 3;
      const std::size_t number = random() % 8;
      const std::size_t at = random() % 8 * 4;
      const auto there = caches[tile].find(number);
      const auto get = [&]() -> auto& {
        return caches[tile].try_emplace(number, std::pair{memory_lines[number], false}).first->second;
      };
      switch (random() % 5) {
        case 0:
        case 1: {
          const std::uint32_t value = random() % 4;
          write(tile, number * line_bytes + at, value);
          std::memcpy(get().first.data() + at, &value, 4);
          get().second = true;
          break;
        }
        case 2: {
          std::uint32_t expected = 0;
          std::memcpy(&expected, get().first.data() + at, 4);
          ASSERT_EQ(read(tile, number * line_bytes + at), expected);
          break;
        }
        case 3: {
          std::uint32_t expected = 0;
          std::memcpy(&expected, memory_lines[number].data() + at, 4);
          ASSERT_EQ(memory(number * line_bytes + at), expected);
          break;
        }
        default: {
          if (there == caches[tile].end()) break;
          const auto event = static_cast<line_event>(random() % 3);
          leave(tile, number * line_bytes, event, there->second.second);
          if (event != line_event::invalidated && there->second.second) memory_lines[number] = there->second.first;
          there->second.second = false;
          if (event != line_event::written_back) caches[tile].erase(there);
        }
      }
    }
  }
}

// The machine tells the shadow what leaves its caches: the bytes and the time belong together.
TEST(CoherenceShadowOfAMachine, FollowsTheCachesOfTheMachine) {
  modelled_machine machine{read_machine(SITU_TEST_SOURCE_DIR "/../machines/nemesys-2x2-fitted.toml")};
  constexpr std::size_t bytes = std::size_t{1} << 20;
  struct alignas(4096) block {
    std::byte data[bytes];
  };
  const auto shared = std::make_unique<block>();
  std::memset(shared->data, 0, bytes);
  const auto base = reinterpret_cast<std::uint64_t>(shared->data);
  machine.map_range(base, base + bytes, 3);
  coherence_shadow shadow{3, 32};
  shadow.add_region(shared->data, bytes);
  machine.observe(&shadow);
  const auto store = [&](std::uint32_t core, std::size_t at, char value) {
    machine.access(core, base + at, 1, access_kind::write, 0);
    shadow.see(machine.tile_of(core), base + at, 1, true);
    shared->data[at] = static_cast<std::byte>(value);
  };
  const auto load = [&](std::uint32_t core, std::size_t at) {
    machine.access(core, base + at, 1, access_kind::read, 0);
    shadow.see(machine.tile_of(core), base + at, 1, false);
    return static_cast<char>(shared->data[at]);
  };
  EXPECT_EQ(load(5, 0), 0);
  store(0, 0, 'x');
  EXPECT_EQ(load(1, 0), 'x');  // the same tile
  EXPECT_EQ(load(5, 0), 0);    // another one
  EXPECT_EQ(shadow.stale_reads(), 1u);
  machine.write_back(0, base, base + 32, 0);
  machine.invalidate(5, base, base + 32, 0);
  EXPECT_EQ(load(5, 0), 'x');
  store(0, 0, 'y');
  for (std::size_t i = 1; i <= 4; ++i) load(0, i * 128 * 1024);  // throws the line out
  EXPECT_EQ(load(10, 0), 'y');
  EXPECT_EQ(shadow.stale_reads(), 1u);
}

// A program's second launch maps its segment where the first had it. Tile 0 wrote a 1 into the first's, which never
// went to memory; tile 1 writes a 2 into the second's, and hands it over. The 1 belongs to no byte that is still there.
TEST_F(CoherenceShadow, ARegionAnewKnowsNothingOfTheBytesBefore) {
  write(0, 0, 1);
  read(2, 0);  // stale, while that 1 is in tile 0's cache
  reports_.clear();
  std::memset(shared_.bytes.data(), 0, shared_.bytes.size());
  shadow_->add_region(shared_.bytes.data(), shared_.bytes.size());
  write(1, 0, 2);
  leave(1, 0, line_event::written_back);
  leave(0, 0, line_event::evicted);  // a tile without a view has nothing that could go to memory
  EXPECT_EQ(memory(0), 2u);
  EXPECT_EQ(read(0, 0), 2u);
  EXPECT_EQ(read(2, 0), 2u);
  EXPECT_TRUE(reports_.empty());
}

// The same with a region that begins within the one before and ends behind it.
TEST_F(CoherenceShadow, ARegionAnewMayHaveAnotherSize) {
  shadow_ = std::make_unique<coherence_shadow>(3, line_bytes);
  shadow_->add_region(shared_.bytes.data(), 4 * line_bytes);
  write(0, 2 * line_bytes, 1);
  std::memset(shared_.bytes.data(), 0, shared_.bytes.size());
  shadow_->add_region(shared_.bytes.data() + 2 * line_bytes, 4 * line_bytes);
  EXPECT_EQ(read(1, 2 * line_bytes), 0u);
  write(1, 5 * line_bytes, 3);
  EXPECT_EQ(read(0, 5 * line_bytes), 0u);  // beyond what was a region at first
  EXPECT_EQ(shadow_->stale_reads(), 1u);
}

// Core 0 writes a line into its cache. Its bytes are new ones then: nothing goes to memory when the line is written
// back, and core 0's next read asks memory.
TEST(CoherenceShadowOfAMachine, NewBytesAreInNoCache) {
  modelled_machine machine{read_machine(SITU_TEST_SOURCE_DIR "/../machines/nemesys-2x2-fitted.toml")};
  const std::uint64_t base = 0x10000;
  machine.map_range(base, base + 4096, 3);
  machine.access(0, base, 4, access_kind::write, 0);
  const time_ps hit = machine.access(0, base, 4, access_kind::read, 1'000'000) - 1'000'000;
  machine.forget(base, base + 4096);
  const time_ps dropped = machine.write_back(0, base, base + 32, 2'000'000) - 2'000'000;
  EXPECT_EQ(dropped, machine.write_back(0, base + 64, base + 96, 3'000'000) - 3'000'000);  // a line never touched
  EXPECT_GT(machine.access(0, base, 4, access_kind::read, 4'000'000) - 4'000'000, 2 * hit);
}

}  // namespace
}  // namespace situ::model
