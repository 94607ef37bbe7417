// Memory of a pool: taken by transactions, published by commits, never leaked.
#include "pools.h"

#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::transaction;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::map<void*, std::size_t> blocks_of(const pool& of) {
  std::map<void*, std::size_t> blocks;
  of.for_each_block([&](void* block, std::size_t bytes) { blocks[block] = bytes; });
  return blocks;
}

TEST(pool_heap, blocks_have_the_alignment_that_is_asked_for_and_do_not_overlap) {
  const folder in;
  pool made = pool::create(in.file(), small);
  made.transact([&](transaction& t) {
    std::map<std::uintptr_t, std::size_t> taken;
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2)
      for (const std::size_t bytes : {0, 1, 17, 80, 192, 1000, 1025, 9000, 65536, 65537, 100000}) {
        const auto at = reinterpret_cast<std::uintptr_t>(t.allocate(bytes, alignment));
        EXPECT_EQ(at % alignment, 0) << bytes << ' ' << alignment;
        EXPECT_EQ(at % 16, 0);
        EXPECT_TRUE(taken.emplace(at, bytes).second);
        std::memset(reinterpret_cast<void*>(at), 1, bytes);
      }
    std::uintptr_t end = 0;
    for (const auto& [at, bytes] : taken) {
      EXPECT_GE(at, end);
      end = at + bytes;
    }
  });
  EXPECT_EQ(made.check().blocks, 13 * 11);
  EXPECT_THAT(error_of(errc::bad_argument, [&] { made.transact([](transaction& t) { (void)t.allocate(8, 8192); }); }),
              HasSubstr("up to 4096"));
  EXPECT_THAT(error_of(errc::bad_argument, [&] { made.transact([](transaction& t) { (void)t.allocate(8, 24); }); }),
              HasSubstr("power of two"));
  EXPECT_THAT(error_of(errc::bad_argument,
                       [&] { made.transact([](transaction& t) { (void)t.make_array<item>(SIZE_MAX / 8); }); }),
              HasSubstr("no array"));
}

TEST(pool_heap, what_is_destroyed_is_free_after_the_commit_and_not_before) {
  const folder in;
  pool made = pool::create(in.file(), small);
  item* const first = made.transact([](transaction& t) { return t.make<item>(1u, nullptr); });
  made.transact([&](transaction& t) {
    t.destroy(first);
    EXPECT_NE(t.make<item>(2u, nullptr), first);
  });
  EXPECT_EQ(made.check().blocks, 1);
  EXPECT_EQ(made.transact([](transaction& t) { return t.make<item>(3u, nullptr); }), first);
}

// Blocks that lie one behind another are noted as one: a part that is taken back must not take its neighbours along.
TEST(pool_heap, a_part_that_is_taken_back_leaves_the_blocks_before_and_behind_it) {
  const folder in;
  pool all = pool::create(in.file(), small);
  std::set<void*> kept;
  {
    transaction outer{all};
    for (int i = 0; i < 70; ++i) kept.insert(outer.allocate(32, 8));
    void* first_of_part = nullptr;
    {
      transaction part{all};
      first_of_part = part.allocate(32, 8);
      for (int i = 0; i < 100; ++i) (void)part.allocate(32, 8);
    }
    void* const again = outer.allocate(32, 8);
    EXPECT_EQ(again, first_of_part);
    kept.insert(again);
    for (int i = 0; i < 70; ++i) kept.insert(outer.allocate(32, 8));
    outer.commit();
  }
  std::set<void*> there;
  for (const auto& [block, bytes] : blocks_of(all)) there.insert(block);
  EXPECT_EQ(there, kept);
  EXPECT_TRUE(all.check().damage.empty());
}

TEST(pool_heap, what_is_no_object_of_the_pool_is_not_destroyed) {
  const folder in;
  pool made = pool::create(in.file(), small);
  item* const array = made.transact([](transaction& t) { return t.make_array<item>(4); });
  std::byte* const large =
      made.transact([](transaction& t) { return static_cast<std::byte*>(t.allocate(1 << 17, 16)); });
  made.transact([&](transaction& t) {
    const auto refused = [&](void* object) {
      EXPECT_THAT(error_of(errc::bad_address, [&] { t.destroy(object); }), HasSubstr("is not the start of an object"));
    };
    item outside{};
    refused(&outside);
    refused(array + 1);
    refused(reinterpret_cast<std::byte*>(array) - 192);  // the head of its slab
    refused(reinterpret_cast<std::byte*>(array) + 64);   // a block that nobody has
    refused(large + 16384);
    refused(reinterpret_cast<void*>(made.info().base));
    t.destroy(nullptr);
    t.destroy(array);
    refused(array);
    t.destroy(large);
    refused(large);
  });
  EXPECT_EQ(made.check().blocks, 0);
}

TEST(pool_heap, all_memory_comes_back) {
  const folder in;
  pool made = pool::create(in.file(), small);
  const auto all = [&](bool aborted) {
    std::vector<void*> blocks;
    try {
      made.transact([&](transaction& t) {
        for (std::size_t bytes = 16; bytes < 200000; bytes += bytes / 3)
          for (int i = 0; i < 20; ++i) blocks.push_back(t.allocate(bytes, 16));
        if (aborted) throw 1;
      });
    } catch (int) {}
    return blocks;
  };
  const std::vector<void*> blocks = all(false);
  made.transact([&](transaction& t) {
    for (void* const each : blocks) t.destroy(each);
  });
  const std::uint64_t used = made.info().heap_bytes - made.info().free_bytes;
  EXPECT_EQ(made.check().blocks, 0);
  EXPECT_LE(made.check().slabs, 44);  // one of each size class stays
  (void)all(true);
  EXPECT_EQ(made.info().heap_bytes - made.info().free_bytes, used);
}

// --- random operations against a model ---

struct expected_block {
  std::size_t bytes;
  unsigned char content;
};
using expected_blocks = std::map<void*, expected_block>;

void compare(const pool& real, const expected_blocks& expected) {
  const std::map<void*, std::size_t> found = blocks_of(real);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [at, block] : expected) {
    const auto same = found.find(at);
    ASSERT_NE(same, found.end());
    ASSERT_GE(same->second, block.bytes);
    const auto* const bytes = static_cast<const unsigned char*>(at);
    ASSERT_TRUE(std::all_of(bytes, bytes + block.bytes, [&](unsigned char each) { return each == block.content; }));
  }
  ASSERT_THAT(real.check().damage, ElementsAre());
}

// Operations of one level, and of levels within it. Returns what is expected after it.
expected_blocks work(pool& real, expected_blocks now, std::mt19937& random, int depth) {
  const expected_blocks before = now;
  try {
    real.transact([&](transaction& t) {
      for (unsigned step = random() % 12; step != 0; --step) {
        const unsigned what = random() % 8;
        if (what == 0 && depth < 3) {
          now = work(real, std::move(now), random, depth + 1);
        } else if (what < 4 || now.empty()) {
          const std::size_t bytes = random() % 16 == 0 ? random() % 300000 : random() % 700;
          const auto content = static_cast<unsigned char>(random());
          void* const at = t.allocate(bytes, 16);
          std::memset(at, content, bytes);
          ASSERT_TRUE(now.emplace(at, expected_block{bytes, content}).second);
        } else {
          const auto chosen = std::next(now.begin(), static_cast<std::ptrdiff_t>(random() % now.size()));
          if (what < 6) {
            t.destroy(chosen->first);
            now.erase(chosen);
          } else {
            chosen->second.content = static_cast<unsigned char>(random());
            t.snapshot(chosen->first, chosen->second.bytes);
            std::memset(chosen->first, chosen->second.content, chosen->second.bytes);
          }
        }
      }
      if (random() % 4 == 0) throw 1;
    });
  } catch (int) {
    return before;
  }
  return now;
}

TEST(pool_heap, random_transactions_do_what_a_model_does) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random{seed};
  const folder in;
  std::optional<pool> real = pool::create(in.file(), {.most_bytes = std::uint64_t{1} << 28});
  expected_blocks expected;
  for (int round = 0; round < 1500; ++round) {
    expected = work(*real, std::move(expected), random, 1);
    if (testing::Test::HasFatalFailure()) return;
    if (round % 50 == 0) {
      ASSERT_NO_FATAL_FAILURE(compare(*real, expected));
    }
    if (round % 150 == 0) {
      real.reset();
      real = pool::open(in.file());
      ASSERT_NO_FATAL_FAILURE(compare(*real, expected));
    }
  }
}

}  // namespace
