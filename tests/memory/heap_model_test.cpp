// Random allocations and deallocations, own and remote, against a map; blocks carry a pattern that must survive.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "memory/places_fixture.h"

namespace {

using namespace situ;
using namespace situ::detail;
using situ::test::acting_as;
using situ::test::local_places;

struct content {
  std::size_t bytes;
  unsigned char fill;
};

void write(void* block, content is) { std::memset(block, is.fill, is.bytes); }

bool holds(const void* block, content is) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  for (std::size_t i = 0; i < is.bytes; ++i)
    if (bytes[i] != is.fill) return false;
  return true;
}

std::size_t random_bytes(std::mt19937_64& random) {
  const unsigned log2 = random() % 100 == 0 ? 21 : random() % 10 == 0 ? 17 : 11;
  return random() % (std::size_t{1} << (1 + random() % log2));
}

class heap_model : public testing::TestWithParam<unsigned> {};

TEST_P(heap_model, agrees_with_a_map) {
  const unsigned seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random{seed};
  local_places places{2, 5u << 20};  // small enough to run out now and then
  segment& owner = places.segment(0);
  std::map<std::uintptr_t, content> model;
  std::size_t target = 0;
  int refused = 0;
  for (int step = 0; step < 40'000; ++step) {
    if (step % 4000 == 0) target = random() % 4000;
    if (model.size() <= target) {
      const std::size_t alignment = std::size_t{1} << (random() % 50 == 0 ? random() % 22 : random() % 7);
      const content is{random_bytes(random), static_cast<unsigned char>(random())};
      void* const block = owner.allocate(is.bytes, alignment);
      if (block == nullptr) {
        ++refused;
        target /= 2;
        continue;
      }
      const auto address = reinterpret_cast<std::uintptr_t>(block);
      ASSERT_EQ(address % alignment, 0u);
      const auto next = model.lower_bound(address);
      ASSERT_TRUE(next == model.end() || address + is.bytes <= next->first) << "step " << step;
      ASSERT_TRUE(next == model.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= address)
          << "step " << step;
      write(block, is);
      ASSERT_TRUE(model.emplace(address, is).second) << "step " << step;
    } else {
      auto victim = model.lower_bound(places.heap(0) + random() % (owner.statistics().opened_bytes + 1));
      if (victim == model.end()) victim = model.begin();
      ASSERT_TRUE(holds(reinterpret_cast<void*>(victim->first), victim->second)) << "step " << step;
      const free_status status = random() % 3 == 0 ? segment::deallocate_remote(places.context(1), victim->first)
                                                   : owner.deallocate(reinterpret_cast<void*>(victim->first));
      ASSERT_EQ(status, free_status::done) << "step " << step;
      model.erase(victim);
    }
    if (step % 1000 == 0) {
      ASSERT_TRUE(owner.is_valid()) << "step " << step;
      ASSERT_EQ(owner.statistics().live_blocks, model.size()) << "step " << step;
    }
  }
  for (const auto& [address, is] : model) {
    ASSERT_TRUE(holds(reinterpret_cast<void*>(address), is));
    ASSERT_EQ(owner.deallocate(reinterpret_cast<void*>(address)), free_status::done);
  }
  const memory_usage usage = owner.statistics();
  EXPECT_EQ(usage.live_blocks, 0u);
  EXPECT_EQ(usage.live_bytes, 0u);
  EXPECT_GT(usage.remote_deallocations, 0u);
  EXPECT_TRUE(owner.is_valid());
  EXPECT_NE(owner.allocate(4u << 20, 16), nullptr);  // nothing is lost to fragments
  EXPECT_GT(refused, 0);                             // or this test has not seen what it should
}

INSTANTIATE_TEST_SUITE_P(seeds, heap_model, testing::Values(1, 2, 3, 4, 5, 6));

// Four places at once: each allocates, writes, hands blocks round, and deallocates what it is handed. Mail is the only
// synchronisation, as a message of the fabric would be.
TEST(heap_stress, places_free_each_others_blocks) {
  constexpr std::uint32_t count = 4;
  constexpr int rounds = 20'000;
  local_places places{count};
  struct alignas(64) box {
    std::atomic<std::uint64_t*> letter{nullptr};
  };
  std::vector<box> boxes(count * 16);
  std::atomic<bool> failed{false};
  const auto consume = [&](std::uint64_t* block) {
    const std::uint64_t words = block[0];
    for (std::uint64_t i = 1; i < words; ++i)
      if (block[i] != (words ^ i)) failed = true;
    deallocate(ptr<std::uint64_t>{block});
  };
  std::vector<std::thread> threads;
  for (std::uint32_t me = 0; me < count; ++me)
    threads.emplace_back([&, me] {
      const acting_as place{places.context(me)};
      std::mt19937 random{me + 1};
      for (int i = 0; i < rounds; ++i) {
        const std::uint64_t words = 2 + random() % (i % 500 == 0 ? 20'000 : 60);
        std::uint64_t* const block = allocate<std::uint64_t>(words).local();
        block[0] = words;
        for (std::uint64_t k = 1; k < words; ++k) block[k] = words ^ k;
        // Into a random box; what lay there is mine to free, whoever made it.
        if (std::uint64_t* const found =
                boxes[random() % boxes.size()].letter.exchange(block, std::memory_order_acq_rel))
          consume(found);
      }
    });
  for (std::thread& thread : threads) thread.join();
  {
    const acting_as place{places.context(0)};
    for (box& each : boxes)
      if (std::uint64_t* const found = each.letter.exchange(nullptr)) consume(found);
  }
  EXPECT_FALSE(failed.load());
  std::uint64_t remote = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const memory_usage usage = places.segment(i).statistics();
    EXPECT_EQ(usage.live_blocks, 0u) << "place " << i;
    EXPECT_EQ(usage.allocations, static_cast<std::uint64_t>(rounds)) << "place " << i;
    EXPECT_TRUE(places.segment(i).is_valid()) << "place " << i;
    remote += usage.remote_deallocations;
  }
  EXPECT_GT(remote, 0u);
}

// A block that every other place tries to free at once is freed exactly once.
TEST(heap_stress, one_of_many_deallocations_wins) {
  constexpr std::uint32_t count = 4;
  local_places places{count};
  for (int round = 0; round < 200; ++round) {
    const auto block = reinterpret_cast<std::uintptr_t>(places.segment(0).allocate(40, 16));
    std::atomic<int> done{0}, ready{0};
    std::vector<std::thread> threads;
    for (std::uint32_t me = 1; me < count; ++me)
      threads.emplace_back([&, me] {
        ready.fetch_add(1);
        while (ready.load() < 3) std::this_thread::yield();
        if (segment::deallocate_remote(places.context(me), block) == free_status::done) done.fetch_add(1);
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(done.load(), 1);
  }
  places.segment(0).drain();
  EXPECT_EQ(places.segment(0).statistics().live_blocks, 0u);
  EXPECT_TRUE(places.segment(0).is_valid());
}

}  // namespace
