// distribution: against a table that deals the elements one by one; points to owners and back, local extents, pieces of
// ranges, the choice of places along dimensions, and the division that it rests on.
#include <situ/spread/distribution.h>

#include "support/places.h"

#include <situ/spread/detail/part_points.h>

#include <map>
#include <random>

namespace situ {
namespace {

constexpr distribution<2> rows{{10, 3}, 4, {cut::block(), cut::none()}};
static_assert(rows.owner({8, 2}) == 2 && rows.local({8, 2}) == point<2>{2, 2});
static_assert(rows.global(3, {0, 1}) == point<2>{9, 1});
static_assert(rows.local_extents(3) == std::array<std::size_t, 2>{1, 3});
static_assert(rows.has_single_blocks());

TEST(distribution, deals_blocks_rows_and_single_elements) {
  const distribution<1> cyclic{{7}, 3, {cut::cyclic()}};
  std::vector<std::uint32_t> owners;
  for (std::ptrdiff_t i = 0; i < 7; ++i) owners.push_back(cyclic.owner({i}));
  EXPECT_EQ(owners, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_FALSE(cyclic.has_single_blocks());

  const distribution<1> pairs{{11}, 3, {cut::blocks_of(2)}};
  owners.clear();
  for (std::ptrdiff_t i = 0; i < 11; ++i) owners.push_back(pairs.owner({i}));
  EXPECT_EQ(owners, (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2}));
  EXPECT_EQ(pairs.local({7}), (point<1>{3}));
  EXPECT_EQ(pairs.global(2, {2}), (point<1>{10}));
}

TEST(distribution, shares_the_members_such_that_edges_are_short) {
  const auto along = [](std::array<std::size_t, 2> extents, std::uint32_t members, std::array<cut, 2> how = {}) {
    const distribution<2> d{extents, members, how};
    return std::pair{d.places(0), d.places(1)};
  };
  EXPECT_EQ(along({100, 100}, 4), std::pair(2U, 2U));
  EXPECT_EQ(along({100, 100}, 2), std::pair(2U, 1U));
  EXPECT_EQ(along({10, 1000}, 6), std::pair(1U, 6U));
  EXPECT_EQ(along({100, 100}, 7), std::pair(7U, 1U));
  EXPECT_EQ(along({100, 100}, 12), std::pair(3U, 4U));
  EXPECT_EQ(along({100, 100}, 6, {cut::none(), cut::cyclic()}), std::pair(1U, 6U));
  EXPECT_EQ(along({100, 100}, 7, {cut::block(2), cut::block()}), std::pair(2U, 3U));  // one has no part
  EXPECT_EQ(along({0, 0}, 3), std::pair(3U, 1U));
}

TEST(distribution, says_what_cannot_be) {
  const auto places = test::error_of([] { (void)distribution<2>{{9, 9}, 3, {cut::block(2), cut::block(2)}}; });
  EXPECT_EQ(places.code, errc::bad_argument);
  EXPECT_TRUE(places.says("4 places")) << places.text;
  const auto large = test::error_of([] { (void)distribution<2>{{std::size_t{1} << 40, std::size_t{1} << 20}, 1}; });
  EXPECT_EQ(large.code, errc::bad_argument);
}

// The elements, dealt one by one.
struct table {
  std::vector<std::uint32_t> place;
  std::vector<std::ptrdiff_t> local;
};
table deal(std::ptrdiff_t extent, std::ptrdiff_t block, std::uint32_t places) {
  table made;
  std::vector<std::ptrdiff_t> next(places);
  std::uint32_t turn = 0;
  for (std::ptrdiff_t i = 0; i < extent; ++i) {
    if (i != 0 && i % block == 0) turn = (turn + 1) % places;
    made.place.push_back(turn);
    made.local.push_back(next[turn]++);
  }
  return made;
}

TEST(distribution, agrees_with_elements_dealt_one_by_one) {
  std::mt19937_64 random{test::test_seed()};
  for (int round = 0; round < 400; ++round) {
    const auto extent = static_cast<std::ptrdiff_t>(random() % 60);
    const auto places = static_cast<std::uint32_t>(1 + random() % 7);
    const std::size_t block = random() % 9;  // 0: one block for each
    const detail::cut_axis axis{static_cast<std::size_t>(extent), block, places};
    const table all = deal(extent, axis.block, places);
    SCOPED_TRACE(testing::Message() << extent << " in blocks of " << block << " to " << places);
    std::vector<std::ptrdiff_t> counts(places);
    for (std::ptrdiff_t i = 0; i < extent; ++i) {
      const auto home = axis.locate(i);
      ASSERT_EQ(home.place, all.place[i]);
      ASSERT_EQ(home.local, all.local[i]);
      ASSERT_EQ(axis.global(home.place, home.local), i);
      ++counts[home.place];
    }
    for (std::uint32_t p = 0; p < places; ++p) ASSERT_EQ(axis.count(p), counts[p]);
    if (block == 0) {
      for (const std::ptrdiff_t each : counts) ASSERT_LE(each, (extent + places - 1) / places);
    }

    if (extent == 0) continue;
    const auto low = static_cast<std::ptrdiff_t>(random() % extent);
    const std::ptrdiff_t high = low + static_cast<std::ptrdiff_t>(random() % (extent - low + 1));
    std::vector<int> met(static_cast<std::size_t>(extent));
    std::map<std::uint32_t, int> pieces;
    axis.for_each_piece(low, high, [&](const detail::axis_piece& piece) {
      ++pieces[piece.place];
      for (std::ptrdiff_t k = 0; k < piece.blocks; ++k) {
        for (std::ptrdiff_t j = 0; j < piece.length; ++j) {
          const std::ptrdiff_t at = low + piece.offset + k * axis.block * axis.places + j * piece.stride;
          ASSERT_LT(at, high);
          ASSERT_EQ(all.place[at], piece.place);
          ASSERT_EQ(all.local[at], piece.local + k * axis.block + j);
          ++met[static_cast<std::size_t>(at)];
        }
      }
    });
    for (std::ptrdiff_t i = 0; i < extent; ++i) ASSERT_EQ(met[static_cast<std::size_t>(i)], i >= low && i < high);
    for (const auto& [place, count] : pieces) ASSERT_LE(count, axis.has_single_blocks() || axis.block == 1 ? 1 : 3);
  }
}

TEST(distribution, counts_through_the_points_of_each_part) {
  std::mt19937_64 random{test::test_seed()};
  for (int round = 0; round < 100; ++round) {
    const auto any_cut = [&] {
      return std::array{cut::block(), cut::cyclic(), cut::blocks_of(1 + random() % 5), cut::none()}[random() % 4];
    };
    const auto members = static_cast<std::uint32_t>(1 + random() % 8);
    const distribution<3> dealt{{random() % 9, random() % 9, random() % 9}, members, {any_cut(), any_cut(), any_cut()}};
    std::size_t met = 0;
    for (std::uint32_t member = 0; member < members; ++member) {
      const detail::part_walk<3> walk{dealt, member};
      const auto extents = dealt.local_extents(member);
      point<3> local{};
      for (const point<3> p : detail::part_points<3>{walk}) {
        ASSERT_TRUE(dealt.points().contains(p));
        ASSERT_EQ(dealt.owner(p), member);
        ASSERT_EQ(dealt.local(p), local);
        ASSERT_EQ(dealt.global(member, local), p);
        ++met;
        for (std::size_t d = 3; d-- > 0;) {
          if (++local[d] < static_cast<std::ptrdiff_t>(extents[d]) || d == 0) break;
          local[d] = 0;
        }
      }
      static_assert(std::forward_iterator<detail::part_points<3>::iterator>);
    }
    EXPECT_EQ(met, dealt.points().points());
  }
}

TEST(distribution, divides_exactly) {
  std::mt19937_64 random{test::test_seed()};
  for (int round = 0; round < 100'000; ++round) {
    const std::uint64_t d = std::max<std::uint64_t>(1, random() >> (1 + random() % 63));
    const auto n = static_cast<std::ptrdiff_t>(random() >> (1 + random() % 63));
    const detail::divisor by{d};
    const auto exact = [&](std::ptrdiff_t m) {
      return by.quotient(m) == static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(m) / d);
    };
    ASSERT_TRUE(exact(n)) << n << " / " << d;
    const std::uint64_t multiple = static_cast<std::uint64_t>(n) / d * d;
    ASSERT_TRUE(exact(static_cast<std::ptrdiff_t>(multiple))) << multiple << " / " << d;
    ASSERT_TRUE(multiple == 0 || exact(static_cast<std::ptrdiff_t>(multiple - 1))) << multiple - 1 << " / " << d;
  }
}

}  // namespace
}  // namespace situ
