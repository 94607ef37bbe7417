// Random operations against a byte for each granule: no two blocks overlap, each lies where it may, and what is refused
// was not there.
#include <situ/base/error.h>
#include <situ/pim/bmem.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "pim/exact_bmem.h"
#include "pim/row_map.h"

namespace {

using situ::pim::block;
using situ::pim::bmem;
using situ::pim::geometry;

constexpr std::uint32_t seeds[] = {1, 7, 20171112};

// A byte for each granule: 1 is taken.
class byte_map {
 public:
  explicit byte_map(const geometry& shape) : shape_{shape}, taken_(shape.granules(), 0) {}

  // Returns whether all granules were the other way.
  bool set(const block& of, bool is_taken) {
    bool was_other = true;
    for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays; ++s)
      for (std::uint32_t row = of.row; row < of.row + of.rows; ++row) {
        char& here = taken_[std::size_t{s} * shape_.rows + row];
        was_other = was_other && (here != 0) != is_taken;
        here = is_taken ? 1 : 0;
      }
    return was_other;
  }
  [[nodiscard]] bool is_free(const block& of) const {
    for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays; ++s)
      for (std::uint32_t row = of.row; row < of.row + of.rows; ++row)
        if (taken_[std::size_t{s} * shape_.rows + row] != 0) return false;
    return true;
  }
  [[nodiscard]] bool may_lie(const block& of, bool is_across_banks) const {
    const std::uint32_t end = of.subarray + of.subarrays;
    return of.subarrays > 0 && of.rows > 0 && end <= shape_.all_subarrays() && of.row + of.rows <= shape_.rows &&
           (is_across_banks || of.subarray / shape_.subarrays == (end - 1) / shape_.subarrays);
  }
  [[nodiscard]] bool has_room(std::uint32_t subarrays, std::uint32_t rows, bool is_across_banks) const {
    for (std::uint32_t s = 0; s + subarrays <= shape_.all_subarrays(); ++s)
      for (std::uint32_t row = 0; row + rows <= shape_.rows; ++row) {
        const block here{s, row, subarrays, rows};
        if (may_lie(here, is_across_banks) && is_free(here)) return true;
      }
    return false;
  }
  [[nodiscard]] std::uint64_t free_granules() const {
    return static_cast<std::uint64_t>(std::count(taken_.begin(), taken_.end(), 0));
  }

 private:
  geometry shape_;
  std::vector<char> taken_;
};

struct way {
  geometry shape;
  bool is_across_banks, has_thread_caches;
};

std::string name_of(const testing::TestParamInfo<way>& info) {
  const way& is = info.param;
  return std::to_string(is.shape.rows) + "x" + std::to_string(is.shape.all_subarrays()) +
         (is.is_across_banks ? "_across_banks" : "") + (is.has_thread_caches ? "_kept" : "");
}

class PimBmemRandom : public testing::TestWithParam<way> {
 protected:
  void run(std::uint32_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    bmem device{of_.shape, {.across_banks = of_.is_across_banks, .thread_caches = of_.has_thread_caches}};
    byte_map expected{of_.shape};
    std::vector<void*> live;
    for (int step = 0; step < 6000 && !HasFailure(); ++step) {
      if (live.empty() || below(100) < 54)
        allocate(device, expected, live);
      else
        free_one(device, expected, live);
    }
    EXPECT_EQ(device.usage().free_granules, expected.free_granules());
    EXPECT_GT(device.usage().refused, 0u);
    while (!live.empty() && !HasFailure()) free_one(device, expected, live);
    EXPECT_EQ(device.usage().live_granules, 0u);
    EXPECT_EQ(device.largest_free().rows, of_.shape.rows);
  }

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  void allocate(bmem& device, byte_map& expected, std::vector<void*>& live) {
    const bool is_beside = !live.empty() && below(5) == 0;
    const std::uint32_t widest = of_.is_across_banks ? of_.shape.all_subarrays() : of_.shape.subarrays;
    const std::uint32_t rows = 1 + below(std::min(of_.shape.rows, below(4) != 0 ? 12u : 100u));
    const std::uint32_t subarrays = 1 + below(std::min(widest, below(4) != 0 ? 3u : widest));
    if (is_beside) {
      const void* const other = live[below(static_cast<std::uint32_t>(live.size()))];
      const block of = device.find(other);
      void* const at = device.try_allocate_beside(other, rows);
      if (at == nullptr) {
        for (std::uint32_t row = 0; row + rows <= of_.shape.rows; ++row)
          ASSERT_FALSE(expected.is_free({of.subarray, row, of.subarrays, rows}));
        return;
      }
      ASSERT_EQ(device.find(at).subarray, of.subarray);
      enter(device, at, {of.subarray, device.find(at).row, of.subarrays, rows}, expected, live);
      return;
    }
    void* const at = device.try_allocate_block(subarrays, rows);
    if (at == nullptr) {
      ASSERT_FALSE(expected.has_room(subarrays, rows, of_.is_across_banks)) << subarrays << " x " << rows;
      return;
    }
    const block found = device.find(at);
    enter(device, at, {found.subarray, found.row, subarrays, rows}, expected, live);
  }
  void enter(const bmem& device, void* at, const block& as, byte_map& expected, std::vector<void*>& live) {
    ASSERT_EQ(device.find(at), as);
    ASSERT_TRUE(expected.may_lie(as, of_.is_across_banks));
    ASSERT_TRUE(expected.set(as, true)) << "overlaps another block";
    live.push_back(at);
  }
  void free_one(bmem& device, byte_map& expected, std::vector<void*>& live) {
    std::swap(live[below(static_cast<std::uint32_t>(live.size()))], live.back());
    void* const at = live.back();
    live.pop_back();
    ASSERT_TRUE(expected.set(device.find(at), false));
    device.free(at);
    if (below(64) == 0) {
      EXPECT_THROW(device.free(at), situ::error);
    }
  }

  way of_ = GetParam();
  std::mt19937 random_;
};

TEST_P(PimBmemRandom, operations_agree_with_a_byte_map) {
  for (const std::uint32_t seed : seeds) run(seed);
}

constexpr geometry tall{.rows = 200, .columns = 1024, .subarrays = 6, .banks = 3};
constexpr geometry flat{.rows = 48, .columns = 192, .subarrays = 40, .banks = 2};
constexpr geometry one_word{.rows = 64, .columns = 64, .subarrays = 8, .banks = 1};
INSTANTIATE_TEST_SUITE_P(ways, PimBmemRandom,
                         testing::Values(way{tall, false, false}, way{tall, false, true}, way{tall, true, false},
                                         way{tall, true, true}, way{flat, false, true}, way{flat, true, true},
                                         way{one_word, false, true}),
                         name_of);

// The bounds are never too small, and the counts right, whatever is taken and released.
TEST(pim_row_map, bounds_stay_sound) {
  using situ::pim::detail::row_map;
  for (const std::uint32_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    row_map map{tall, true};
    std::vector<block> live;
    for (int step = 0; step < 1500; ++step) {
      if (live.empty() || random() % 100 < 55) {
        const auto scope = static_cast<std::uint32_t>(random() % 4);
        const auto subarrays = static_cast<std::uint32_t>(1 + random() % 5);
        const auto rows = static_cast<std::uint32_t>(1 + random() % (random() % 3 != 0 ? 20 : 90));
        const row_map::place taken = map.take_in(scope, subarrays, rows);
        if (!taken.is_none()) live.push_back({taken.subarray, taken.row, subarrays, rows});
      } else {
        std::swap(live[random() % live.size()], live.back());
        map.release(live.back());
        live.pop_back();
      }
      if (step % 5 == 0) {
        ASSERT_TRUE(map.is_consistent()) << "step " << step;
      }
    }
  }
}

// In a device of one word of rows, a search finds what the paper's finds, after any history.
TEST(pim_row_map, one_word_of_rows_is_filled_in_the_papers_order) {
  for (const std::uint32_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    bmem ours{{.rows = 40, .columns = 64, .subarrays = 100, .banks = 1}, {.thread_caches = false}};
    situ_pim_test::exact_bmem exact{40, 100};
    std::vector<void*> live;
    for (int step = 0; step < 3000; ++step) {
      if (live.empty() || random() % 100 < 55) {
        const auto subarrays = static_cast<std::uint32_t>(1 + random() % (random() % 4 != 0 ? 6 : 60));
        const auto rows = static_cast<std::uint32_t>(1 + random() % (random() % 4 != 0 ? 6 : 40));
        const auto expected = exact.allocate(subarrays, rows);
        void* const at = ours.try_allocate_block(subarrays, rows);
        ASSERT_EQ(at != nullptr, expected.has_value()) << subarrays << " x " << rows;
        if (at == nullptr) continue;
        ASSERT_EQ(ours.find(at), *expected);
        live.push_back(at);
      } else {
        std::swap(live[random() % live.size()], live.back());
        exact.free(ours.find(live.back()));
        ours.free(live.back());
        live.pop_back();
      }
    }
  }
}

}  // namespace
