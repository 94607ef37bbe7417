// Lookup of blocks from another mapping of the same memory, as another process has it.

#include "memory/segment.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>
#include <vector>

#include "memory/places_fixture.h"

namespace {

using namespace situ;
using namespace situ::detail;
using situ::test::local_places;

// The slices of a job, mapped once more, at another address.
class second_mapping {
 public:
  explicit second_mapping(local_places& places)
      : places_{places}, bytes_{std::size_t{places.job().control().place_count} << places.job().control().slice_shift} {
    void* const at =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, places.job().descriptor(), 0);
    if (at != MAP_FAILED) base_ = reinterpret_cast<std::uintptr_t>(at);
    context_ = places.context_at(base_, 1);
  }
  ~second_mapping() {
    if (base_ != 0) munmap(reinterpret_cast<void*>(base_), bytes_);
  }
  second_mapping(const second_mapping&) = delete;
  second_mapping& operator=(const second_mapping&) = delete;

  [[nodiscard]] bool is_mapped() const { return base_ != 0; }
  [[nodiscard]] const place_context& context() const { return context_; }
  [[nodiscard]] std::uintptr_t here(const void* block) const {
    return reinterpret_cast<std::uintptr_t>(block) - places_.slice(0) + base_;
  }

 private:
  local_places& places_;
  std::size_t bytes_;
  std::uintptr_t base_ = 0;
  place_context context_;
};

class find_block : public testing::Test {
 protected:
  void SetUp() override {
    if (!other_.is_mapped()) GTEST_SKIP() << "no address space for a second mapping";
  }
  std::optional<block> look(const void* at, std::size_t offset = 0) {
    return segment::find_block(other_.context(), other_.here(at) + offset);
  }

  local_places places_{2};
  second_mapping other_{places_};
  segment& owner_ = places_.segment(0);
};

TEST_F(find_block, small_block_through_its_life) {
  void* const made = owner_.allocate(100, 16);
  for (const std::size_t offset : {0u, 1u, 50u, 111u}) {
    const auto found = look(made, offset);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->start, other_.here(made));
    EXPECT_EQ(found->size, 112u);
    EXPECT_TRUE(found->live);
  }
  EXPECT_FALSE(look(made, 112)->live);  // the next block
  owner_.deallocate(made);
  ASSERT_TRUE(look(made, 5).has_value());
  EXPECT_FALSE(look(made, 5)->live);
  EXPECT_EQ(look(made, 5)->start, other_.here(made));
}

TEST_F(find_block, large_block_through_its_life) {
  constexpr std::size_t bytes = 40'000'001;  // several regions
  void* const before = owner_.allocate(300'000, 16);
  void* const made = owner_.allocate(bytes, 16);
  void* const after = owner_.allocate(300'000, 16);
  for (std::size_t offset = 0; offset < bytes; offset += 9'999) {
    const auto found = look(made, offset);
    ASSERT_TRUE(found.has_value()) << offset;
    ASSERT_EQ(found->start, other_.here(made)) << offset;
    ASSERT_EQ(found->size, bytes);
    ASSERT_TRUE(found->live);
  }
  owner_.deallocate(made);
  for (std::size_t offset = 0; offset < bytes; offset += 9'999) ASSERT_FALSE(look(made, offset).has_value()) << offset;
  // The run is split: regions still name the old block.
  void* const smaller = owner_.allocate(20'000'000, 16);
  EXPECT_EQ(smaller, made);
  EXPECT_EQ(look(made, 19'999'999)->size, 20'000'000u);
  EXPECT_FALSE(look(made, 30'000'000).has_value());
  EXPECT_TRUE(look(before)->live && look(after)->live);
}

TEST_F(find_block, nothing_where_nothing_was) {
  void* const made = owner_.allocate(100, 16);
  const std::uintptr_t heap = other_.here(reinterpret_cast<void*>(places_.heap(0)));
  EXPECT_FALSE(segment::find_block(other_.context(), heap - 1).has_value());                         // metadata
  EXPECT_FALSE(segment::find_block(other_.context(), heap + (std::uint64_t{1} << 28)).has_value());  // not open
  EXPECT_FALSE(segment::find_block(other_.context(), heap + 500'000).has_value());                   // open, never used
  EXPECT_FALSE(segment::find_block(other_.context(), other_.context().base - 1).has_value());
  EXPECT_FALSE(segment::find_block(other_.context(), 0).has_value());
  EXPECT_TRUE(look(made).has_value());
}

TEST_F(find_block, remote_deallocation_shows_at_once) {
  void* const small = owner_.allocate(100, 16);
  void* const large = owner_.allocate(1'000'000, 16);
  for (void* const block : {small, large}) {
    EXPECT_EQ(segment::deallocate_remote(other_.context(), other_.here(block)), free_status::done);
    EXPECT_FALSE(look(block)->live);
    EXPECT_EQ(segment::deallocate_remote(other_.context(), other_.here(block)), free_status::already_free);
    EXPECT_EQ(owner_.deallocate(block), free_status::already_free);
  }
  owner_.drain();
  EXPECT_EQ(owner_.statistics().live_blocks, 0u);
  EXPECT_EQ(owner_.statistics().remote_deallocations, 2u);
  EXPECT_TRUE(owner_.is_valid());
}

// Random blocks: every byte of a live one is found, none of a freed one.
TEST_F(find_block, agrees_with_a_model) {
  const unsigned seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random{seed};
  struct made {
    std::byte* start;
    std::size_t bytes;
    bool live;
  };
  std::vector<made> blocks;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t bytes = 1 + random() % (std::size_t{1} << (4 + random() % 18));
    blocks.push_back({static_cast<std::byte*>(owner_.allocate(bytes, 16)), bytes, true});
    ASSERT_NE(blocks.back().start, nullptr);
  }
  for (int i = 0; i < 1500; ++i) {
    made& one = blocks[random() % blocks.size()];
    ASSERT_EQ(owner_.deallocate(one.start) == free_status::done, one.live);
    one.live = false;
  }
  for (const made& one : blocks) {
    const auto found = look(one.start, random() % one.bytes);
    ASSERT_EQ(found.has_value() && found->live, one.live);
    if (one.live) {
      ASSERT_EQ(found->start, other_.here(one.start));
      ASSERT_GE(found->size, one.bytes);
    }
  }
  EXPECT_TRUE(owner_.is_valid());
}

}  // namespace
