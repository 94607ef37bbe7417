// Sets of points against the points themselves.
#include "stencil/region.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

using namespace situ::stencil;

constexpr int side = 7;

box random_box(std::mt19937& random) {
  const auto bound = [&] { return static_cast<int>(random() % (side + 1)); };
  const auto [x, y, z, u, v, w] = std::array{bound(), bound(), bound(), bound(), bound(), bound()};
  return range(std::min(x, y), std::max(x, y), std::min(z, u), std::max(z, u), std::min(v, w), std::max(v, w));
}

struct points {
  std::vector<bool> in = std::vector<bool>(side * side * side);
  template <class F>
  static void each(const box& b, F f) {
    for (int k = b.low[2]; k < b.high[2]; ++k)
      for (int j = b.low[1]; j < b.high[1]; ++j)
        for (int i = b.low[0]; i < b.high[0]; ++i) f(static_cast<std::size_t>((k * side + j) * side + i));
  }
  void add(const box& b) {
    each(b, [&](std::size_t n) { in[n] = true; });
  }
  [[nodiscard]] bool covers(const box& b) const {
    bool all = true;
    each(b, [&](std::size_t n) { all = all && in[n]; });
    return all;
  }
  [[nodiscard]] int longest(box b, int d) const {
    int best = 0, now = 0;
    for (const int high = b.high[d]; b.low[d] < high; ++b.low[d]) {
      b.high[d] = b.low[d] + 1;
      now = covers(b) ? now + 1 : 0;
      best = std::max(best, now);
    }
    return best;
  }
};

TEST(region, covers_what_its_boxes_cover_together) {
  std::mt19937 random{7};
  int covered = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    region set;
    points expected;
    for (unsigned n = random() % 12; n > 0; --n) {
      const box b = random_box(random);
      set.add(b);
      expected.add(b);
    }
    const box asked = random_box(random);
    ASSERT_EQ(set.covers(asked), expected.covers(asked)) << "trial " << trial;
    const int d = trial % 3;
    const box part = set.longest_part(asked, d);
    if (!asked.empty()) {
      ASSERT_EQ(part.extent(d), expected.longest(asked, d)) << "trial " << trial;
    }
    ASSERT_TRUE(expected.covers(part)) << "trial " << trial;
    points covered_or_gap;
    for (const box& gap : set.gaps(asked)) {
      points::each(gap, [&](std::size_t n) {
        ASSERT_FALSE(expected.in[n] || covered_or_gap.in[n]) << "trial " << trial;
        covered_or_gap.in[n] = true;
      });
    }
    points::each(asked,
                 [&](std::size_t n) { ASSERT_TRUE(expected.in[n] || covered_or_gap.in[n]) << "trial " << trial; });
    covered += !asked.empty() && set.covers(asked);
  }
  EXPECT_GT(covered, 100);
}

TEST(region, with_too_many_boxes_it_forgets_the_smallest) {
  region set;
  for (int n = 0; n < 2 * static_cast<int>(region::most_boxes); ++n) set.add(range(3 * n, 3 * n + 1 + (n == 5), 0, 2));
  EXPECT_TRUE(set.covers(range(15, 17, 0, 2)));
  EXPECT_FALSE(set.covers(range(0, 1, 0, 2)) && set.covers(range(3, 4, 0, 2)) && set.covers(range(6, 7, 0, 2)));
  EXPECT_FALSE(set.covers(range(2, 3, 0, 1)));
}

}  // namespace
