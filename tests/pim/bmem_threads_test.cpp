// Threads: blocks that one allocates and another frees, what ending threads and ending devices leave, and refusals only
// where there is no room.
#include <situ/base/error.h>
#include <situ/pim/bmem.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace {

using situ::pim::block;
using situ::pim::bmem;
using situ::pim::geometry;

constexpr geometry shape{.rows = 128, .columns = 128, .subarrays = 4, .banks = 2};

// The threads' blocks, with the thread that has each granule; and those on their way to another thread.
class shared_blocks {
 public:
  explicit shared_blocks(bmem& on) : on_{on}, owners_(on.shape().granules()) {}

  void claim(void* at) {
    each_granule(on_.find(at),
                 [&](std::atomic<int>& owner) { EXPECT_EQ(owner.exchange(1), 0) << "two blocks overlap"; });
  }
  void free(void* at) {
    each_granule(on_.find(at), [&](std::atomic<int>& owner) { owner.store(0); });
    on_.free(at);
  }
  void post(void* at) {
    const std::lock_guard lock{mutex_};
    posted_.push_back(at);
  }
  void* fetch() {
    const std::lock_guard lock{mutex_};
    if (posted_.empty()) return nullptr;
    void* const at = posted_.back();
    posted_.pop_back();
    return at;
  }

 private:
  template <class Use>
  void each_granule(const block& of, Use use) {
    for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays; ++s)
      for (std::uint32_t row = of.row; row < of.row + of.rows; ++row)
        use(owners_[std::size_t{s} * on_.shape().rows + row]);
  }

  bmem& on_;
  std::vector<std::atomic<int>> owners_;
  std::mutex mutex_;
  std::vector<void*> posted_;
};

void work(bmem& on, shared_blocks& all, std::uint32_t seed, int steps) {
  std::mt19937 random{seed};
  std::vector<void*> own;
  for (int step = 0; step < steps; ++step) {
    const auto choice = random() % 100;
    const bool is_allocation = choice < 50 || own.empty();
    if (is_allocation) {
      void* at = nullptr;
      if (choice < 8 && !own.empty())
        at = on.try_allocate_beside(own.back(), 1 + static_cast<std::uint32_t>(random() % 8));
      else
        at = on.try_allocate_block(1 + static_cast<std::uint32_t>(random() % 3),
                                   1 + static_cast<std::uint32_t>(random() % (random() % 8 != 0 ? 4 : 70)));
      if (at != nullptr) {
        all.claim(at);
        own.push_back(at);
      }
    } else if (choice < 75) {
      all.free(own.back());
      own.pop_back();
    } else {
      all.post(own.back());
      own.pop_back();
      if (void* const other = all.fetch()) all.free(other);
    }
  }
  for (void* const each : own) all.free(each);
}

TEST(pim_bmem_threads, blocks_of_many_threads_never_overlap) {
  for (const bool is_across_banks : {false, true}) {
    bmem device{shape, {.across_banks = is_across_banks}};
    shared_blocks all{device};
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { work(device, all, 100 + i, 4000); });
      for (int i = 0; i < 20; ++i) {
        (void)device.usage();
        (void)device.largest_free();
      }
    }
    while (void* const left = all.fetch()) all.free(left);
    EXPECT_EQ(device.usage().live_granules, 0u);
    EXPECT_EQ(device.largest_free().rows, shape.rows);
  }
}

// Each of some threads has at most its share of the granules, so there is room at every moment, though it lies in other
// threads' kept blocks most of the time, or moves between the banks.
void share(bmem& device, std::uint32_t threads_count) {
  const std::uint64_t most = device.shape().granules() / threads_count;
  std::latch start{threads_count};
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < threads_count; ++i)
    threads.emplace_back([&, i] {
      std::mt19937 random{i};
      std::vector<void*> own;
      start.arrive_and_wait();
      for (int step = 0; step < 60'000; ++step) {
        if (own.size() < most && (own.empty() || random() % 100 < 80)) {
          own.push_back(device.try_allocate_block(1, 1));
          ASSERT_NE(own.back(), nullptr) << "step " << step;
        } else {
          std::swap(own[random() % own.size()], own.back());
          device.free(own.back());
          own.pop_back();
        }
      }
      for (void* const each : own) device.free(each);
    });
  threads.clear();
  EXPECT_EQ(device.usage().refused, 0u);
  EXPECT_EQ(device.usage().live_granules, 0u);
}

TEST(pim_bmem_threads, nothing_is_refused_while_there_is_room) {
  constexpr geometry many_banks{.rows = 1, .columns = 64, .subarrays = 1, .banks = 32};
  constexpr geometry few_banks{.rows = 8, .columns = 64, .subarrays = 2, .banks = 4};
  for (const bool has_thread_caches : {true, false})
    for (const geometry& of : {many_banks, few_banks})
      for (const std::uint32_t threads_count : {2u, 4u}) {
        bmem device{of, {.thread_caches = has_thread_caches}};
        share(device, threads_count);
      }
}

TEST(pim_bmem_threads, what_a_waiting_thread_keeps_is_taken_before_a_refusal) {
  bmem device{shape};
  std::latch is_kept{1};
  std::latch is_over{1};
  std::jthread keeper{[&] {
    device.free(device.allocate_block(4, 4));  // a granule of each subarray is taken by its kept block
    is_kept.count_down();
    is_over.wait();
    device.free(device.allocate_block(1, 1));
  }};
  is_kept.wait();
  std::vector<void*> all;
  for (int i = 0; i < 2; ++i) all.push_back(device.try_allocate_block(4, 128));
  EXPECT_NE(all[0], nullptr);
  EXPECT_NE(all[1], nullptr);
  EXPECT_EQ(device.try_allocate_block(1, 1), nullptr);
  for (void* const each : all) device.free(each);
  is_over.count_down();
  keeper.join();
  EXPECT_EQ(device.usage().free_granules, shape.granules());
}

TEST(pim_bmem_threads, a_thread_that_ends_gives_its_blocks_back) {
  bmem device{shape};
  for (int i = 0; i < 50; ++i)
    std::jthread{[&] {
      std::vector<void*> blocks;
      for (std::uint32_t rows = 1; rows <= 8; ++rows) blocks.push_back(device.allocate_block(2, rows));
      for (void* const each : blocks) device.free(each);
    }};
  EXPECT_EQ(device.find(device.allocate_block(4, 128)), (block{0, 0, 4, 128}));
  EXPECT_EQ(device.find(device.allocate_block(4, 128)), (block{4, 0, 4, 128}));
}

TEST(pim_bmem_threads, a_device_may_end_before_its_threads_and_another_begin) {
  std::optional<bmem> device;
  for (int round = 0; round < 10; ++round) {
    device.emplace(shape);
    std::latch is_used{1};
    std::latch is_gone{1};
    std::jthread user{[&] {
      device->free(device->allocate_block(1, 3));
      is_used.count_down();
      is_gone.wait();
      device->free(device->allocate_block(1, 3));  // the next device, at the same address
      EXPECT_EQ(device->usage().live_granules, 0u);
    }};
    is_used.wait();
    device.emplace(shape);
    is_gone.count_down();
    user.join();
    device.reset();
  }
}

TEST(pim_bmem_threads, a_thread_may_end_after_its_only_device) {
  auto device = std::make_unique<bmem>(shape);
  std::latch is_used{1};
  std::latch is_gone{1};
  std::jthread user{[&] {
    device->free(device->allocate_block(1, 3));
    is_used.count_down();
    is_gone.wait();
  }};
  is_used.wait();
  device = nullptr;
  is_gone.count_down();
}

TEST(pim_bmem_threads, a_thread_keeps_blocks_of_several_devices) {
  std::vector<std::unique_ptr<bmem>> devices;
  for (int i = 0; i < 7; ++i) devices.push_back(std::make_unique<bmem>(shape));
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    for (const auto& each : devices) blocks.push_back(each->allocate_block(2, 2));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      EXPECT_THROW(devices[(i + 1) % devices.size()]->free(blocks[i]), situ::error);
      devices[i]->free(blocks[i]);
      EXPECT_THROW(devices[i]->free(blocks[i]), situ::error);
    }
    devices.erase(devices.begin() + 1);
    devices.push_back(std::make_unique<bmem>(shape));
  }
  for (const auto& each : devices) EXPECT_EQ(each->usage().free_granules, shape.granules());
}

// Destroyed after what the thread keeps, since it is made before.
struct late_user {
  bmem* on = nullptr;
  void* at = nullptr;
  ~late_user() {
    on->free(at);
    on->free(on->allocate_block(1, 1));
  }
};

TEST(pim_bmem_threads, a_threads_last_destructors_may_free) {
  bmem device{shape};
  std::jthread{[&] {
    static thread_local late_user late;
    late.on = &device;
    late.at = device.allocate_block(1, 2);
    device.free(device.allocate_block(1, 2));
  }}.join();
  EXPECT_EQ(device.usage().free_granules, shape.granules());
}

}  // namespace
