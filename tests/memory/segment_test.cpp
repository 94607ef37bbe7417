// Layout, extents, budget and metadata of segments, and the allocator through them.

#include "memory/segment.h"

#include <gtest/gtest.h>
#include <situ/base/error.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "memory/places_fixture.h"

namespace {

using namespace situ;
using namespace situ::detail;
using situ::test::local_places;

constexpr std::size_t MiB = 1 << 20;

TEST(segment, heap_starts_at_the_same_offset_above_the_metadata) {
  local_places places{3};
  const std::uint64_t offset = segment::heap_offset(places.job().control(), local_places::private_bytes);
  EXPECT_EQ(offset % (2 * MiB), 0u);
  EXPECT_GE(offset, local_places::private_bytes + heap_map::metadata_bytes(places.job().control().slice_shift));
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(places.segment(i).allocate(64, 16)) & ~(chunk_bytes - 1),
              places.heap(i));
}

TEST(segment, private_bytes_are_left_alone) {
  local_places places{1};
  auto* const channels = reinterpret_cast<unsigned char*>(places.slice(0));
  std::memset(channels, 0xa5, local_places::private_bytes);
  for (int i = 0; i < 1000; ++i) (void)places.segment(0).allocate(static_cast<std::size_t>(i) * 37, 16);
  for (std::size_t i = 0; i < local_places::private_bytes; ++i) ASSERT_EQ(channels[i], 0xa5) << i;
}

TEST(segment, a_part_of_a_huge_page_does_not_go_back) {
  for (const std::uint64_t unit : {4096u, 2u << 20}) {
    local_places places{1, 256 * MiB};
    places.job().control().file_unit = unit;  // as of a job on reserved huge pages
    std::vector<void*> blocks;
    for (int i = 0; i < 200; ++i) {
      blocks.push_back(places.segment(0).allocate(MiB, 16));
      ASSERT_NE(blocks.back(), nullptr);
    }
    for (std::size_t i = 0; i < blocks.size(); i += 2) (void)places.segment(0).deallocate(blocks[i]);
    const memory_usage usage = places.segment(0).statistics();
    EXPECT_EQ(usage.returned_bytes != 0, unit == 4096) << "1 MiB each";
    if (unit != 4096) EXPECT_GE(usage.charged_bytes, 200 * MiB) << "the budget has what the kernel has";
    EXPECT_TRUE(places.segment(0).is_valid());
  }
}

TEST(segment, extent_only_grows_in_steps_and_mirrors) {
  local_places places{2};
  std::uint64_t& limit = places.limit(1);
  places.segment(1).mirror_extent(&limit);
  const std::atomic<std::uint64_t>& extent = places.job().control().slot(1).extent;
  EXPECT_EQ(extent.load(), 0u);
  std::uint64_t before = 0;
  std::vector<void*> blocks;
  for (int i = 0; i < 400; ++i) {
    blocks.push_back(places.segment(1).allocate(100'000, 16));
    ASSERT_NE(blocks.back(), nullptr);
    ASSERT_GE(extent.load(), before);
    ASSERT_EQ(extent.load() % MiB, 0u);
    ASSERT_EQ(limit, extent.load());
    ASSERT_LE(reinterpret_cast<std::uintptr_t>(blocks.back()) + 100'000, places.heap(1) + extent.load());
    before = extent.load();
  }
  EXPECT_GE(before, 400u * 100'000);
  EXPECT_LE(before, 400u * (7 * chunk_bytes) * 9 / 8 + MiB);
  for (void* const block : blocks) EXPECT_EQ(places.segment(1).deallocate(block), free_status::done);
  EXPECT_EQ(extent.load(), before);
  EXPECT_EQ(places.job().control().slot(0).extent.load(), 0u);
  EXPECT_TRUE(places.segment(1).is_valid());
}

TEST(segment, blocks_are_aligned_and_apart) {
  local_places places{1};
  segment& here = places.segment(0);
  std::vector<std::pair<std::uintptr_t, std::size_t>> blocks;
  for (std::size_t alignment = 1; alignment <= 8 * MiB; alignment *= 2)
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{24}, alignment - 1, alignment,
                                    alignment + 1, std::size_t{100'000}}) {
      void* const block = here.allocate(bytes, alignment);
      ASSERT_NE(block, nullptr) << bytes << " aligned to " << alignment;
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u) << bytes << " aligned to " << alignment;
      blocks.emplace_back(reinterpret_cast<std::uintptr_t>(block), std::max<std::size_t>(bytes, 1));
    }
  ASSERT_TRUE(here.is_valid());
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 1; i < blocks.size(); ++i)
    ASSERT_LE(blocks[i - 1].first + blocks[i - 1].second, blocks[i].first);
  for (const auto& [block, bytes] : blocks)
    ASSERT_EQ(here.deallocate(reinterpret_cast<void*>(block)), free_status::done);
  EXPECT_EQ(here.statistics().live_blocks, 0u);
  EXPECT_TRUE(here.is_valid());
}

TEST(segment, last_freed_is_next_allocated) {
  local_places places{1};
  void* const block = places.segment(0).allocate(100, 16);
  (void)places.segment(0).deallocate(block);
  EXPECT_EQ(places.segment(0).allocate(100, 16), block);
}

TEST(segment, freed_neighbours_become_one_run) {
  local_places places{1, 64 * MiB};
  segment& here = places.segment(0);
  std::vector<void*> blocks;
  for (void* block = here.allocate(MiB, 16); block != nullptr; block = here.allocate(MiB, 16)) blocks.push_back(block);
  EXPECT_EQ(blocks.size(), 64u);
  EXPECT_EQ(here.allocate(chunk_bytes, 1 << 15), nullptr);
  for (const std::size_t first : {0u, 1u})  // every other one, then the rest
    for (std::size_t i = first; i < blocks.size(); i += 2) ASSERT_EQ(here.deallocate(blocks[i]), free_status::done);
  EXPECT_TRUE(here.is_valid());
  EXPECT_NE(here.allocate(64 * MiB, 16), nullptr);
}

TEST(segment, exhaustion_is_an_answer_and_memory_comes_back) {
  local_places places{2, 16 * MiB};
  segment& here = places.segment(0);
  std::vector<void*> blocks;
  for (void* block = here.allocate(1000, 16); block != nullptr; block = here.allocate(1000, 16))
    blocks.push_back(block);
  EXPECT_GT(blocks.size(), 16 * MiB / 1024 * 9 / 10);
  EXPECT_EQ(places.job().control().opened_bytes.load(), 16 * MiB);
  EXPECT_EQ(here.allocate(1000, 16), nullptr);
  EXPECT_LT(here.room_bytes(), MiB);
  EXPECT_EQ(places.segment(1).allocate(1, 16), nullptr);  // the budget is the job's
  EXPECT_TRUE(here.is_valid());
  for (void* const block : blocks) ASSERT_EQ(here.deallocate(block), free_status::done);
  EXPECT_TRUE(here.is_valid());
  EXPECT_NE(here.allocate(8 * MiB, 16), nullptr);  // what was blocks of 1000 is one run again
  EXPECT_TRUE(here.is_valid());
}

// A phase of one place may use what an earlier phase of another place has freed.
TEST(segment, budget_passes_from_place_to_place) {
  local_places places{2, 256 * MiB};
  for (int phase = 0; phase < 6; ++phase) {
    segment& here = places.segment(static_cast<std::uint32_t>(phase) % 2);
    void* const block = here.allocate(200 * MiB, 16);
    ASSERT_NE(block, nullptr) << "phase " << phase;
    ASSERT_EQ(here.deallocate(block), free_status::done);
    ASSERT_TRUE(here.is_valid());
    ASSERT_LE(places.job().control().opened_bytes.load(), 256 * MiB);
  }
}

// Four places that each kept 96 MiB of what they freed would leave nothing of a small budget to a fifth.
TEST(segment, free_memory_that_places_keep_is_a_small_part_of_the_budget) {
  constexpr std::uint32_t others = 4;
  local_places places{others + 1, 64 * MiB};
  for (std::uint32_t i = 0; i < others; ++i) {
    segment& other = places.segment(i);
    std::vector<void*> blocks;
    while (void* const block = other.allocate(MiB, 16)) blocks.push_back(block);
    ASSERT_GE(blocks.size(), 16u) << "place " << i;
    for (void* const block : blocks) ASSERT_EQ(other.deallocate(block), free_status::done);
  }
  void* const block = places.segment(others).allocate(32 * MiB, 16);
  ASSERT_NE(block, nullptr) << places.job().control().opened_bytes.load() << " bytes are charged";
  EXPECT_EQ(places.segment(others).deallocate(block), free_status::done);
}

std::size_t resident_pages(std::uintptr_t address, std::size_t bytes) {
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  if (mincore(reinterpret_cast<void*>(address), bytes, pages.data()) != 0) return ~std::size_t{0};
  std::size_t count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count;
}

TEST(segment, large_freed_runs_go_back_to_the_system) {
  local_places places{1};
  segment& here = places.segment(0);
  void* const block = here.allocate(128 * MiB, 16);
  std::memset(block, 1, 128 * MiB);
  EXPECT_EQ(resident_pages(reinterpret_cast<std::uintptr_t>(block), 128 * MiB), 128 * MiB / 4096);
  EXPECT_EQ(here.deallocate(block), free_status::done);
  EXPECT_EQ(resident_pages(reinterpret_cast<std::uintptr_t>(block), 128 * MiB), 0u);
  EXPECT_GE(here.statistics().returned_bytes, 128 * MiB);
  EXPECT_LE(here.statistics().charged_bytes, 8 * MiB);
  void* const small = here.allocate(4 * MiB, 16);  // below the threshold: kept
  std::memset(small, 1, 4 * MiB);
  EXPECT_EQ(here.deallocate(small), free_status::done);
  EXPECT_EQ(resident_pages(reinterpret_cast<std::uintptr_t>(small), 4 * MiB), 4 * MiB / 4096);
}

TEST(segment, an_idle_place_costs_little) {
  local_places places{2};
  const std::uint64_t heap_offset = segment::heap_offset(places.job().control(), local_places::private_bytes);
  const std::uint64_t metadata = heap_map::metadata_bytes(places.job().control().slice_shift);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(places.segment(0).allocate(static_cast<std::size_t>(i) * 10, 16));
  // mincore of the metadata's parts, each from its start: the rest is never touched.
  const heap_map map = heap_map::at(places.slice(0) + heap_offset, places.job().control().slice_shift);
  std::size_t pages = 0;
  for (const void* const part :
       {static_cast<const void*>(map.header), static_cast<const void*>(map.map), static_cast<const void*>(map.regions),
        static_cast<const void*>(map.links), static_cast<const void*>(map.states), static_cast<const void*>(map.bits)})
    pages += resident_pages(reinterpret_cast<std::uintptr_t>(part), 64 * 4096);
  EXPECT_LE(pages, 20u);  // 80 KB
  EXPECT_LE(metadata, heap_offset);
  EXPECT_EQ(resident_pages(places.slice(1), local_places::private_bytes), 0u);
  EXPECT_LE(places.segment(0).statistics().charged_bytes, MiB);
}

TEST(segment, wrong_deallocations_change_nothing) {
  local_places places{1};
  segment& here = places.segment(0);
  auto* const block = static_cast<std::byte*>(here.allocate(48, 16));
  auto* const large = static_cast<std::byte*>(here.allocate(200'000, 16));
  const memory_usage before = here.statistics();
  EXPECT_EQ(here.deallocate(block + 16), free_status::no_block);
  EXPECT_EQ(here.deallocate(block + 48), free_status::already_free);  // a neighbour, in the magazine
  EXPECT_EQ(here.deallocate(large + chunk_bytes), free_status::no_block);
  EXPECT_EQ(here.deallocate(large + 16), free_status::no_block);
  EXPECT_EQ(here.deallocate(reinterpret_cast<void*>(places.heap(0) - 64)), free_status::no_block);
  EXPECT_EQ(here.deallocate(reinterpret_cast<void*>(places.heap(0) + (std::uint64_t{1} << 30))), free_status::no_block);
  int local = 0;
  EXPECT_EQ(here.deallocate(&local), free_status::no_block);
  EXPECT_EQ(here.statistics().live_bytes, before.live_bytes);
  EXPECT_EQ(here.deallocate(block), free_status::done);
  EXPECT_EQ(here.deallocate(block), free_status::already_free);
  EXPECT_EQ(here.deallocate(large), free_status::done);
  EXPECT_EQ(here.deallocate(large), free_status::no_block);
  EXPECT_TRUE(here.is_valid());
}

TEST(segment, huge_pages_are_aligned_and_reported) {
  local_places places{1};
  segment& here = places.segment(0);
  (void)here.allocate(100, 16);
  void* const block = here.allocate_huge(3 * MiB, 16);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (2 * MiB), 0u);
  std::memset(block, 1, 4 * MiB);  // rounded up to whole huge pages
  EXPECT_EQ(here.statistics().huge_page_bytes, 4 * MiB);
  EXPECT_EQ(here.deallocate(block), free_status::done);
  EXPECT_EQ(here.allocate_huge(~std::size_t{0}, 16), nullptr);
}

TEST(segment, absurd_sizes_are_refused) {
  local_places places{1};
  segment& here = places.segment(0);
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 100, std::size_t{1} << 63, std::size_t{1} << 47})
    for (const std::size_t alignment : {std::size_t{16}, std::size_t{1} << 40, std::size_t{1} << 63}) {
      EXPECT_EQ(here.allocate(bytes, alignment), nullptr) << bytes << " " << alignment;
      EXPECT_EQ(here.allocate(16, std::size_t{1} << 63), nullptr);
    }
  EXPECT_TRUE(here.is_valid());
  EXPECT_NE(here.allocate(16, 16), nullptr);
}

TEST(segment, too_small_a_slice_is_refused) {
  local_places places{1};
  const std::uint64_t slice = std::uint64_t{1} << places.job().control().slice_shift;
  EXPECT_THROW((segment{places.job().control(), places.slice(0), 0, slice}), situ::error);
}

}  // namespace
