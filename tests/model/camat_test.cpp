#include "model/parts/camat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace situ::model {
namespace {

struct one_access {
  time_ps begin;
  time_ps hit;
  time_ps miss;
};

camat_figures measure(std::vector<one_access> accesses) {
  std::ranges::stable_sort(accesses, {}, &one_access::begin);
  camat_meter meter;
  for (const one_access& a : accesses) meter.add(a.begin, a.hit, a.miss);
  return meter.figures();
}

// Figure 3 of the paper: 10 accesses of 2 hit cycles; 2, 4, 7 and 10 miss for 3 cycles, 6 and 9 for 7. The text gives
// the pure miss cycles (4 and 7: one, 6: three, 9: five, 10: three) and the totals; from them follow the cycles in
// which the accesses begin:
//
//   cycle      1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17
//   access 1   H  H                                                 8, 9, 10 as below
//          2   H  H  m  m  m                            9   H  H  m  m  P  P  P  P  P   from cycle 9
//          3         H  H                               8   H  H                        from cycle 9
//          4            H  H  m  m  P                   10        H  H  P  P  P         from cycle 11
//          5               H  H
//          6                  H  H  P  m  m  m  m  P  P
//          7                  H  H  P  m  m
TEST(Camat, GoldenExampleOfFigure3) {
  const camat_figures f = measure(
      {{1, 2, 0}, {1, 2, 3}, {3, 2, 0}, {4, 2, 3}, {5, 2, 0}, {6, 2, 7}, {6, 2, 3}, {9, 2, 0}, {9, 2, 7}, {11, 2, 3}});
  EXPECT_EQ(f.accesses, 10u);
  EXPECT_EQ(f.active, 17u);
  EXPECT_DOUBLE_EQ(f.two_parameters(), 1.7);
  EXPECT_EQ(f.hit_time, 20u);
  EXPECT_EQ(f.hit_active, 11u);
  EXPECT_EQ(f.pure_time, 13u);
  EXPECT_EQ(f.pure_active, 6u);
  EXPECT_EQ(f.pure_misses, 5u);
  EXPECT_DOUBLE_EQ(f.hit_concurrency(), 20.0 / 11);
  EXPECT_DOUBLE_EQ(f.pure_miss_concurrency(), 13.0 / 6);
  EXPECT_DOUBLE_EQ(f.pure_miss_penalty(), 13.0 / 5);
  EXPECT_DOUBLE_EQ(f.pure_miss_rate(), 0.5);
  EXPECT_DOUBLE_EQ(f.five_parameters(), 1.7);
}

TEST(Camat, NothingIsZero) {
  const camat_figures f = measure({});
  EXPECT_EQ(f.accesses, 0u);
  EXPECT_EQ(f.two_parameters(), 0);
  EXPECT_EQ(f.five_parameters(), 0);
}

// A core that waits for each access: C-AMAT is AMAT, hit time + miss rate * miss penalty = 1 + 1/4 * 20.
TEST(Camat, WithoutConcurrencyItIsAmat) {
  const camat_figures f = measure({{0, 1, 0}, {1, 1, 20}, {22, 1, 0}, {30, 1, 0}});
  EXPECT_DOUBLE_EQ(f.two_parameters(), 6);
  EXPECT_DOUBLE_EQ(f.five_parameters(), 6);
  EXPECT_DOUBLE_EQ(f.hit_concurrency(), 1);
  EXPECT_DOUBLE_EQ(f.pure_miss_concurrency(), 1);
}

// Both forms agree, and with counting cycle by cycle.
TEST(Camat, AgreesWithCountingCycles) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    std::vector<one_access> accesses;
    for (int i = 0; i < 40; ++i)
      accesses.push_back({random() % 150, 1 + random() % 3, random() % 2 == 0 ? 0 : random() % 12});
    std::vector<std::uint64_t> hits(250), misses(250);
    for (const one_access& a : accesses) {
      for (time_ps t = 0; t < a.hit; ++t) ++hits[a.begin + t];
      for (time_ps t = 0; t < a.miss; ++t) ++misses[a.begin + a.hit + t];
    }
    camat_figures expected;
    for (std::size_t t = 0; t < hits.size(); ++t) {
      expected.active += hits[t] + misses[t] > 0;
      expected.hit_active += hits[t] > 0;
      if (hits[t] > 0) continue;
      expected.pure_active += misses[t] > 0;
      expected.pure_time += misses[t];
    }
    const camat_figures f = measure(accesses);
    for (const one_access& a : accesses) {
      bool pure = false;
      for (time_ps t = a.begin + a.hit; t < a.begin + a.hit + a.miss; ++t) pure |= hits[t] == 0;
      expected.pure_misses += pure;
    }
    ASSERT_EQ(f.pure_misses, expected.pure_misses);
    ASSERT_EQ(f.active, expected.active);
    ASSERT_EQ(f.hit_active, expected.hit_active);
    ASSERT_EQ(f.pure_active, expected.pure_active);
    ASSERT_EQ(f.pure_time, expected.pure_time);
    ASSERT_NEAR(f.two_parameters(), f.five_parameters(), 1e-9);
  }
}

}  // namespace
}  // namespace situ::model
