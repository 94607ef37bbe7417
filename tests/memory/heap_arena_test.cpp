// Arenas of a heap: blocks lie in memory that was placed for their arena, and what an arena has no use for goes back.

#include "memory/heap.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace situ::detail;

constexpr unsigned slice_shift = 26;
constexpr std::uint64_t heap_bytes = std::uint64_t{32} << 20;
constexpr std::uint64_t open_step = std::uint64_t{1} << 20;

// Memory of its own with a heap in it, and a record of whose pages each chunk has.
class backing final : public heap_backing {
 public:
  explicit backing(std::uint64_t budget, std::uint64_t kept = 0) : budget_{budget} {
    const std::uint64_t metadata = heap_map::metadata_bytes(slice_shift);
    bytes_ = metadata + heap_bytes + 2 * huge_page_bytes;
    mapping_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(mapping_, MAP_FAILED);
    start = (reinterpret_cast<std::uintptr_t>(mapping_) + metadata + huge_page_bytes) & ~(huge_page_bytes - 1);
    all.emplace(*this, heap_map::at(start, slice_shift), kept);
  }
  ~backing() {
    ASAN_UNPOISON_MEMORY_REGION(mapping_, bytes_);
    all.reset();
    munmap(mapping_, bytes_);
  }

  bool open(std::uint64_t bytes) noexcept override {
    if (bytes > heap_bytes) return false;
    const std::uint64_t extent = (bytes + open_step - 1) / open_step * open_step;
    if (extent > std::uint64_t{all->open_chunks()} * chunk_bytes)
      all->opened(static_cast<std::uint32_t>(extent >> chunk_shift));
    return true;
  }
  bool charge(std::uint64_t bytes) noexcept override {
    if (charged + bytes > budget_) return false;
    charged += bytes;
    return true;
  }
  void uncharge(std::uint64_t bytes) noexcept override { charged -= bytes; }
  bool give_back(std::uint64_t offset, std::uint64_t bytes) noexcept override {
    EXPECT_EQ(madvise(reinterpret_cast<void*>(start + offset), bytes, MADV_DONTNEED), 0);
    return true;
  }
  bool place(unsigned arena, std::uint64_t offset, std::uint64_t bytes) noexcept override {
    EXPECT_EQ(offset % huge_page_bytes, 0u);
    EXPECT_EQ(bytes % huge_page_bytes, 0u);
    if (refuse_next > 0) {
      --refuse_next;
      return false;
    }
    own(offset, bytes, 0, arena);
    ++placed;
    return true;
  }
  void unplace(std::uint64_t offset, std::uint64_t bytes) noexcept override {
    const unsigned before = owners[offset / chunk_bytes];
    EXPECT_NE(before, 0u);
    own(offset, bytes, before, 0);
    ++unplaced;
  }

  // Whether all bytes of a block lie in memory that was placed for this arena (or for none).
  [[nodiscard]] bool belongs(std::uintptr_t block, std::size_t bytes, unsigned arena) const {
    for (std::uint64_t chunk = (block - start) / chunk_bytes; chunk <= (block - start + bytes - 1) / chunk_bytes;
         ++chunk)
      if (owners[chunk] != arena) return false;
    return true;
  }

 private:
  void own(std::uint64_t offset, std::uint64_t bytes, unsigned from, unsigned to) {
    for (std::uint64_t chunk = offset / chunk_bytes; chunk < (offset + bytes) / chunk_bytes; ++chunk) {
      EXPECT_EQ(owners[chunk], from);
      owners[chunk] = to;
    }
  }
  std::uint64_t budget_;
  void* mapping_ = nullptr;
  std::uint64_t bytes_ = 0;

 public:
  std::uintptr_t start = 0;
  std::vector<unsigned> owners = std::vector<unsigned>(heap_bytes / chunk_bytes);  // of each chunk; 0: the kernel's
  std::uint64_t charged = 0;
  int placed = 0;
  int unplaced = 0;
  int refuse_next = 0;  // so many calls of place() fail
  std::optional<heap> all;
};

TEST(heap_arena, blocks_lie_in_memory_of_their_arena) {
  backing memory{heap_bytes};
  heap& all = *memory.all;
  const unsigned fast = all.add_arena();
  const unsigned slow = all.add_arena();
  ASSERT_EQ(fast, 1u);
  ASSERT_EQ(slow, 2u);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{70'000}, std::size_t{3} << 20}) {
    for (const unsigned arena : {heap::plain, fast, slow}) {
      void* const block = all.allocate_in(arena, bytes, 16);
      ASSERT_NE(block, nullptr);
      EXPECT_TRUE(memory.belongs(reinterpret_cast<std::uintptr_t>(block), bytes, arena)) << bytes << " in " << arena;
      std::memset(block, 7, bytes);
    }
  }
  EXPECT_TRUE(all.is_valid());
  EXPECT_EQ(memory.placed, 4) << "2 MiB for each of the two arenas, and 4 for what does not fit there";
}

TEST(heap_arena, a_free_block_is_its_own_arena_s_next) {
  backing memory{heap_bytes, heap_bytes};
  heap& all = *memory.all;
  const unsigned fast = all.add_arena();
  void* const block = all.allocate_in(fast, 48, 16);
  ASSERT_EQ(all.deallocate(block), free_status::done);
  EXPECT_EQ(all.deallocate(block), free_status::already_free);
  EXPECT_NE(all.allocate(48, 16), block);
  EXPECT_EQ(all.allocate_in(fast, 48, 16), block);
  const auto inside = reinterpret_cast<std::uintptr_t>(block) + 8;
  EXPECT_EQ(all.deallocate(reinterpret_cast<void*>(inside)), free_status::no_block);
  EXPECT_EQ(all.map().free_remote(reinterpret_cast<std::uintptr_t>(block), all.open_chunks()), free_status::done);
  EXPECT_EQ(all.map().free_remote(reinterpret_cast<std::uintptr_t>(block), all.open_chunks()),
            free_status::already_free);
  all.drain();
  EXPECT_EQ(all.count().remote_deallocations, 1u);
  EXPECT_TRUE(all.is_valid());
}

TEST(heap_arena, what_is_not_kept_goes_back_to_the_plain_arena) {
  backing memory{heap_bytes};
  heap& all = *memory.all;
  const unsigned fast = all.add_arena();
  void* const block = all.allocate_in(fast, std::size_t{8} << 20, 16);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(all.deallocate(block), free_status::done);
  EXPECT_EQ(memory.unplaced, 1);
  for (const unsigned owner : memory.owners) EXPECT_EQ(owner, 0u);
  EXPECT_EQ(memory.charged, 0u);
  EXPECT_TRUE(all.is_valid());
  EXPECT_NE(all.allocate(std::size_t{31} << 20, 16), nullptr) << "one run again";
}

TEST(heap_arena, memory_that_an_arena_keeps_is_given_up_where_another_needs_it) {
  backing memory{heap_bytes, heap_bytes};  // everything may be kept
  heap& all = *memory.all;
  const unsigned fast = all.add_arena();
  const unsigned slow = all.add_arena();
  void* const first = all.allocate_in(fast, std::size_t{20} << 20, 16);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(all.deallocate(first), free_status::done);
  EXPECT_EQ(memory.unplaced, 0) << "kept";
  EXPECT_NE(all.allocate_in(slow, std::size_t{20} << 20, 16), nullptr);
  EXPECT_EQ(memory.unplaced, 1);
  EXPECT_TRUE(all.is_valid());
}

TEST(heap_arena, a_refusal_to_place_leaves_everything_as_it_was) {
  backing memory{heap_bytes};
  heap& all = *memory.all;
  const unsigned fast = all.add_arena();
  memory.refuse_next = 2;  // it is tried again without what others keep
  EXPECT_EQ(all.allocate_in(fast, 100, 16), nullptr);
  EXPECT_EQ(memory.refuse_next, 0);
  EXPECT_EQ(memory.charged, 0u);
  EXPECT_EQ(all.count().allocations, 0u);
  EXPECT_TRUE(all.is_valid());
  EXPECT_NE(all.allocate_in(fast, 100, 16), nullptr);
}

TEST(heap_arena, has_room_for_many_and_no_more) {
  backing memory{heap_bytes};
  for (unsigned i = 1; i < heap::most_arenas; ++i) ASSERT_EQ(memory.all->add_arena(), i);
  EXPECT_EQ(memory.all->add_arena(), heap::plain);
}

class heap_arena_model : public testing::TestWithParam<unsigned> {};

TEST_P(heap_arena_model, agrees_with_a_map) {
  struct content {
    std::size_t bytes;
    unsigned char fill;
    unsigned arena;
  };
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random{GetParam()};
  backing memory{std::uint64_t{24} << 20, (GetParam() % 3) << 20};  // small enough to run out now and then
  heap& all = *memory.all;
  for (int i = 0; i < 3; ++i) all.add_arena();
  std::map<std::uintptr_t, content> model;
  std::size_t target = 0;
  int refused = 0;
  for (int step = 0; step < 30'000; ++step) {
    if (step % 3000 == 0) target = random() % 3000;
    if (random() % 1000 == 0) memory.refuse_next = 2;
    if (model.size() <= target) {
      const unsigned log2 = random() % 100 == 0 ? 21 : random() % 10 == 0 ? 17 : 11;
      const content is{1 + random() % (std::size_t{1} << (1 + random() % log2)), static_cast<unsigned char>(random()),
                       static_cast<unsigned>(random() % 4)};
      const std::size_t alignment = std::size_t{1} << (random() % 50 == 0 ? random() % 22 : random() % 7);
      void* const block = all.allocate_in(is.arena, is.bytes, alignment);
      if (block == nullptr) {
        ++refused;
        target /= 2;
        continue;
      }
      const auto address = reinterpret_cast<std::uintptr_t>(block);
      ASSERT_EQ(address % alignment, 0u);
      ASSERT_TRUE(memory.belongs(address, is.bytes, is.arena)) << "step " << step;
      const auto next = model.lower_bound(address);
      ASSERT_TRUE(next == model.end() || address + is.bytes <= next->first) << "step " << step;
      ASSERT_TRUE(next == model.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= address)
          << "step " << step;
      std::memset(block, is.fill, is.bytes);
      model.emplace(address, is);
    } else {
      auto victim = model.lower_bound(memory.start + random() % heap_bytes);
      if (victim == model.end()) victim = model.begin();
      const auto* const bytes = reinterpret_cast<const unsigned char*>(victim->first);
      for (std::size_t i = 0; i < victim->second.bytes; ++i)
        ASSERT_EQ(bytes[i], victim->second.fill) << "step " << step;
      const free_status status = random() % 3 == 0 ? all.map().free_remote(victim->first, all.open_chunks())
                                                   : all.deallocate(reinterpret_cast<void*>(victim->first));
      ASSERT_EQ(status, free_status::done) << "step " << step;
      model.erase(victim);
    }
    if (step % 500 == 0) {
      all.drain();
      ASSERT_TRUE(all.is_valid()) << "step " << step;
      const heap::counters count = all.count();
      ASSERT_EQ(count.allocations - count.deallocations, model.size()) << "step " << step;
    }
  }
  for (const auto& [address, is] : model)
    ASSERT_EQ(all.deallocate(reinterpret_cast<void*>(address)), free_status::done);
  EXPECT_TRUE(all.is_valid());
  EXPECT_GT(refused, 0);
  EXPECT_GT(memory.unplaced, 0);
}

INSTANTIATE_TEST_SUITE_P(seeds, heap_arena_model, testing::Values(1, 2, 3, 4, 5, 6));

}  // namespace
