// Ghost zones of a distributed_array: random extents, cuts, widths and periods against the values that each place can
// compute; iterations in place and with the exchange under way against a plain vector.
#include <situ/spread/distributed_array.h>

#include "support/places.h"

#include <situ/runtime/collective.h>

#include <random>

namespace situ {
namespace {

class ghost_zones_on : public test::on_places {};

constexpr int untouched = -1;

template <std::size_t D>
int value_at(const point<D>& p, int round) {
  std::uint64_t mixed = static_cast<std::uint64_t>(round);
  for (const std::ptrdiff_t each : p) mixed = test::mixed(mixed, static_cast<std::uint64_t>(each));
  return static_cast<int>(mixed % 1'000'000);
}

// What an element around a part is to be: that of its owner, or what the program has written there.
template <std::size_t D>
int expected_at(point<D> p, const distributed_array<int, D>& array, int round) {
  for (std::size_t d = 0; d < D; ++d) {
    const auto n = static_cast<std::ptrdiff_t>(array.extent(d));
    if (array.ghosts().periodic[d]) p[d] = (p[d] % n + n) % n;
    if (p[d] < 0 || p[d] >= n) return untouched;
  }
  return value_at(p, round);
}

template <std::size_t D>
void check_around(const distributed_array<int, D>& array, int round) {
  const auto mine = array.global_view();
  if (mine.points().points() == 0) return;
  const box<D> around = mine.around();
  for (point<D> p = around.low;;) {
    EXPECT_EQ(mine[p], expected_at(p, array, round));
    std::size_t d = D;
    while (d-- > 0 && ++p[d] == around.high[d]) p[d] = around.low[d];
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

template <std::size_t D>
void exchange_random(std::mt19937_64& random) {
  std::array<std::size_t, D> extents;
  std::array<cut, D> how;
  ghost_zones<D> ghosts;
  for (std::size_t d = 0; d < D; ++d) {
    extents[d] = 1 + random() % (D == 1 ? 30 : 9);
    how[d] = random() % 4 == 0 ? cut::none() : cut::block();
    ghosts.low[d] = random() % 4;
    ghosts.high[d] = random() % 4;
    ghosts.periodic[d] = random() % 2 == 0;
  }
  distributed_array<int, D> array{extents, how, ghosts};
  const auto mine = array.local_view();
  if (mine.points().points() != 0) {  // all that may be touched
    const box<D> around = mine.around();
    for (point<D> p = around.low;;) {
      mine[p] = untouched;
      std::size_t d = D;
      while (d-- > 0 && ++p[d] == around.high[d]) p[d] = around.low[d];
      if (d == static_cast<std::size_t>(-1)) break;
    }
  }
  for (int round = 0; round < 3; ++round) {
    array.for_each_local([&](const point<D>& p, int& element) { element = value_at(p, round); });
    if (round == 1) {
      future<> done = array.exchange_ghosts_async();
      done.get();
    } else {
      array.exchange_ghosts();
    }
    check_around(array, round);
  }
}

TEST_P(ghost_zones_on, hold_what_the_neighbours_have) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    std::mt19937_64 random{seed};
    for (int round = 0; round < test::rounds(20); ++round) {
      exchange_random<1>(random);
      exchange_random<2>(random);
      exchange_random<3>(random);
    }
  });
}

TEST_P(ghost_zones_on, lie_around_blocks_in_some_dimensions_only) {
  run([] {
    ghost_zones<2> ghosts;
    ghosts.low = {2, 0};
    ghosts.high = {1, 0};
    ghosts.periodic = {true, false};
    distributed_array<int, 2> array{{8, 11}, {cut::none(), cut::cyclic()}, ghosts};
    array.for_each_local([](const point<2>& p, int& element) { element = value_at(p, 0); });
    array.exchange_ghosts();
    const auto mine = array.local_view();
    const auto at = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
      const point<2> p = array.distribution().global(here().index(), {(i + 8) % 8, j});
      EXPECT_EQ((mine(i, j)), value_at(p, 0));
    };
    for (std::ptrdiff_t i = -2; i < 9; ++i)
      for (std::size_t j = 0; j < mine.extent(1); ++j) at(i, static_cast<std::ptrdiff_t>(j));
    array.exchange_ghosts();
  });
}

// A ring on which each element becomes the sum of its neighbours, in place: it fails where somebody writes an element
// that another has yet to fetch.
TEST_P(ghost_zones_on, are_fetched_before_their_owners_go_on) {
  run([] {
    constexpr std::size_t n = 40;
    distributed_array<std::uint64_t, 1> ring{{n}, {}, ghost_zones<1>::all(1, true)};
    std::vector<std::uint64_t> model(n), before;
    for (std::size_t i = 0; i < n; ++i) model[i] = i + 1;
    ring.for_each_local([](const point<1>& p, std::uint64_t& each) { each = static_cast<std::uint64_t>(p[0]) + 1; });
    const auto mine = ring.local_view();
    const auto count = static_cast<std::ptrdiff_t>(mine.extent(0));
    for (int step = 0; step < test::rounds(300); ++step) {
      if (step % 3 == 0) {
        future<> under_way = ring.exchange_ghosts_async();
        (void)all_reduce(step, std::plus<>{});  // other collectives go on meanwhile
        under_way.get();
      } else {
        ring.exchange_ghosts();
      }
      std::uint64_t left = count != 0 ? mine(-1) : 0;
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        const std::uint64_t own = mine(i);
        mine(i) = left + mine(i + 1) + 1;
        left = own;
      }
      before = model;
      for (std::size_t i = 0; i < n; ++i) model[i] = before[(i + n - 1) % n] + before[(i + 1) % n] + 1;
    }
    ring.for_each_local([&](const point<1>& p, std::uint64_t each) {
      EXPECT_EQ(each, model[static_cast<std::size_t>(p[0])]) << "at " << p[0];
    });
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, ghost_zones_on, testing::ValuesIn(test::layouts({1, 2, 3, 4, 5, 6})),
                         test::layout_name);

}  // namespace
}  // namespace situ
