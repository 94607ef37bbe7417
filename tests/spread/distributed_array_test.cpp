// distributed_array without its ghost zones: random extents and cuts against a plain vector; elements and regions from
// everywhere, views and walks of the own part, atomics, what cannot be, memory, and losses.
#include <situ/spread/distributed_array.h>

#include "support/places.h"

#include <situ/base/log.h>
#include <situ/fabric/atomic.h>
#include <situ/runtime/collective.h>

#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

namespace situ {
namespace {

class distributed_array_on : public test::on_places {};

cut any_cut(std::mt19937_64& random) {
  return std::array{cut::block(), cut::cyclic(), cut::blocks_of(1 + random() % 5), cut::none()}[random() % 4];
}

// Where an element is in the model: in the order of a C array.
template <std::size_t D>
std::size_t rank_of(const point<D>& p, const std::array<std::size_t, D>& extents) {
  std::size_t at = 0;
  for (std::size_t d = 0; d < D; ++d) at = at * extents[d] + static_cast<std::size_t>(p[d]);
  return at;
}
template <std::size_t D, class F>
void for_each_point(const box<D>& in, F f) {
  if (in.points() == 0) return;
  for (point<D> p = in.low;;) {
    f(p);
    std::size_t d = D;
    while (d-- > 0 && ++p[d] == in.high[d]) p[d] = in.low[d];
    if (d == static_cast<std::size_t>(-1)) return;
  }
}
template <std::size_t D>
box<D> any_region(std::mt19937_64& random, const std::array<std::size_t, D>& extents) {
  box<D> region;
  for (std::size_t d = 0; d < D; ++d) {
    region.low[d] = static_cast<std::ptrdiff_t>(random() % (extents[d] + 1));
    region.high[d] = region.low[d] +
                     static_cast<std::ptrdiff_t>(random() % (extents[d] - static_cast<std::size_t>(region.low[d]) + 1));
  }
  return region;
}

// All places draw the same operations; one of them, in turn, does each.
template <std::size_t D>
void compare_with_a_vector(std::mt19937_64& random) {
  std::array<std::size_t, D> extents;
  std::array<cut, D> how;
  ghost_zones<D> ghosts;
  for (std::size_t d = 0; d < D; ++d) {
    extents[d] = 1 + random() % (D == 2 ? 30 : 9);
    how[d] = any_cut(random);
    if (how[d] == cut::block()) ghosts.low[d] = random() % 3, ghosts.high[d] = random() % 3;
  }
  distributed_array<int, D> array{extents, how, ghosts};
  std::vector<int> model(array.size());
  const box<D> all = array.points();
  EXPECT_EQ(model.size(), all.points());

  int next = 1;
  for (int step = 0; step < 6; ++step) {
    const bool is_mine = random() % place_count() == here().index();
    const box<D> region = any_region(random, extents);
    std::vector<int> values;
    for_each_point(region, [&](const point<D>& p) {
      values.push_back(next);
      model[rank_of(p, extents)] = next++;
    });
    if (is_mine) array.put(region, values);
    barrier();
    for_each_point(any_region(random, extents), [&](const point<D>& p) {
      const int expected = model[rank_of(p, extents)];
      EXPECT_EQ(array.get(p), expected);
      EXPECT_EQ(array.pointer_to(p).place(), array.owner(p));
    });
    const box<D> other = any_region(random, extents);
    std::vector<int> read(other.points()), expected;
    array.get(other, read);
    for_each_point(other, [&](const point<D>& p) { expected.push_back(model[rank_of(p, extents)]); });
    EXPECT_EQ(read, expected);
    barrier();
  }

  // This place's part: by the walk, by the range, by the view.
  auto point_now = array.local_indices().begin();
  std::size_t met = 0;
  array.for_each_local([&](const point<D>& p, int& element) {
    EXPECT_EQ(element, model[rank_of(p, extents)]);
    EXPECT_EQ(array.owner(p), here());
    EXPECT_EQ(*point_now++, p);
    EXPECT_EQ(&array.local_view()[array.distribution().local(p)], &element);
    element = -element;
    ++met;
  });
  EXPECT_EQ(point_now, array.local_indices().end());
  EXPECT_EQ(met, array.local_view().points().points());
  EXPECT_EQ(all_reduce(met, std::plus<>{}), model.size());
  std::vector<int> read(model.size());
  array.get(all, read);
  for (int& each : model) each = -each;
  EXPECT_EQ(read, model);
  barrier();
}

TEST_P(distributed_array_on, agrees_with_a_vector) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    std::mt19937_64 random{seed};
    for (int round = 0; round < test::rounds(10); ++round) {
      compare_with_a_vector<2>(random);
      compare_with_a_vector<3>(random);
    }
  });
}

template <std::size_t D>
void resize_at_random(std::mt19937_64& random) {
  std::array<std::size_t, D> extents;
  std::array<cut, D> how;
  ghost_zones<D> ghosts;
  const auto draw = [&] {
    for (std::size_t& each : extents) each = random() % (D == 1 ? 60 : 12);
  };
  draw();
  for (std::size_t d = 0; d < D; ++d) {
    how[d] = any_cut(random);
    if (how[d] == cut::block()) ghosts.low[d] = random() % 3, ghosts.high[d] = random() % 3;
  }
  distributed_array<int, D> array{extents, how, ghosts};
  std::map<point<D>, int> model;  // what is not 0
  for (int step = 1; step < 6; ++step) {
    array.for_each_local([&](const point<D>& p, int& element) {
      if (test::mixed(rank_of(p, extents), step) % 2 == 0) element = step;
    });
    for_each_point(array.points(), [&](const point<D>& p) {
      if (test::mixed(rank_of(p, extents), step) % 2 == 0) model[p] = step;
    });
    draw();
    array.resize(extents);
    std::erase_if(model, [&](const auto& each) { return !array.points().contains(each.first); });
    EXPECT_EQ(array.distribution().points().points(), array.size());
    for_each_point(array.points(), [&](const point<D>& p) {
      const auto at = model.find(p);
      EXPECT_EQ(array.get(p), at == model.end() ? 0 : at->second);
    });
    barrier();
  }
}

TEST_P(distributed_array_on, keeps_what_remains_when_it_is_resized) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    std::mt19937_64 random{seed};
    for (int round = 0; round < test::rounds(10); ++round) {
      resize_at_random<1>(random);
      resize_at_random<2>(random);
      resize_at_random<3>(random);
    }
  });
}

TEST_P(distributed_array_on, moves_and_is_swapped) {
  run([] {
    const memory_usage before = test::settled_memory();
    {
      distributed_array<int, 2> one{{7, 9}, {}, ghost_zones<2>::all(1)};
      distributed_array<int, 2> other{{7, 9}, {}, ghost_zones<2>::all(1)};
      one.for_each_local([](int& element) { element = 1; });
      other.for_each_local([](int& element) { element = 2; });
      const int* const first = one.local_view().data();
      std::swap(one, other);
      EXPECT_EQ(other.local_view().data(), first);
      one.exchange_ghosts();
      EXPECT_EQ(one.get({6, 8}), 2);
      EXPECT_EQ(other.get({0, 0}), 1);
      const auto around = one.global_view();
      if (around.points().points() != 0 && around.points().low[0] > 0) {
        EXPECT_EQ(around(around.points().low[0] - 1, around.points().low[1]), 2);
      }
      barrier();
      std::vector<distributed_array<int, 2>> many;
      many.push_back(std::move(one));
      many.push_back(std::move(other));
      many.emplace_back(std::array<std::size_t, 2>{3, 3});
      EXPECT_EQ(many[0].get({6, 8}) + many[1].get({6, 8}), 3);
      many[2] = std::move(many[0]);  // what it had ends here, at all places
      EXPECT_EQ(many[2].get({3, 4}), 2);
      barrier();
    }
    EXPECT_EQ(test::settled_memory().live_bytes, before.live_bytes);
  });
}

TEST_P(distributed_array_on, elements_are_read_and_written_like_variables) {
  run([] {
    distributed_array<double, 2> array{{4, 5}};
    if (here().index() == place_count() - 1) {
      array[{3, 4}] = 1.5;
      array[{0, 0}] = array[{3, 4}];
      const double sum = array[{0, 0}] + array[{3, 4}];
      array[{1, 1}] = sum;
    }
    barrier();
    const auto& same = array;
    EXPECT_EQ((same[{0, 0}]), 1.5);
    EXPECT_EQ((same[{1, 1}]), 3.0);
    EXPECT_EQ(test::error_of([&] { array[{4, 0}] = 1; }).code, errc::bad_argument);
    barrier();
  });
}

TEST_P(distributed_array_on, places_of_a_team_share_it) {
  run([] {
    const team half = world().split(here().index() % 2);
    distributed_array<double, 2> array{{5, 6}, {cut::cyclic(), cut::block()}, {}, half};
    array.for_each_local([&](const point<2>& p, double& element) {
      element = static_cast<double>(10 * p[0] + p[1]) + (here().index() % 2 == 0 ? 0 : 0.5);
    });
    barrier(array.members());
    for_each_point(array.points(), [&](const point<2>& p) {
      EXPECT_EQ(array.get(p), static_cast<double>(10 * p[0] + p[1]) + (here().index() % 2 == 0 ? 0 : 0.5));
      EXPECT_EQ(array.owner(p).index() % 2, here().index() % 2);
    });
  });
}

TEST_P(distributed_array_on, elements_are_targets_of_atomics) {
  run([] {
    distributed_array<std::uint64_t, 1> counts{{13}, {cut::cyclic()}};
    for (std::ptrdiff_t i = 0; i < 13; ++i)
      for (std::ptrdiff_t n = 0; n <= i; ++n) (void)atomic_fetch_add(counts.pointer_to({i}), 1);
    barrier();
    for (std::ptrdiff_t i = 0; i < 13; ++i)
      EXPECT_EQ(counts.get({i}), static_cast<std::uint64_t>(i + 1) * place_count());
    barrier();
  });
}

struct with_defaults {
  int number = 7;
  float weight = 0.5F;
};
TEST_P(distributed_array_on, elements_begin_as_they_are_made) {
  run([] {
    const distributed_array<with_defaults, 2> array{{4, 9}};
    for_each_point(array.points(), [&](const point<2>& p) { EXPECT_EQ(array.get(p).number, 7); });
    int met = 0;
    array.for_each_local([&](const with_defaults& each) { met += each.weight == 0.5F; });
    EXPECT_EQ(all_reduce(met, std::plus<>{}), 36);
  });
}

TEST_P(distributed_array_on, says_what_cannot_be) {
  run([] {
    distributed_array<int, 2> array{{6, 5}, {cut::blocks_of(1), cut::block()}};
    const auto outside = test::error_of([&] { (void)array.get({6, 0}); });
    EXPECT_EQ(outside.code, errc::bad_argument);
    EXPECT_TRUE(outside.says("point (6, 0) does not lie in an array of 6 x 5")) << outside.text;
    EXPECT_EQ(test::error_of([&] { array.put({0, -1}, 1); }).code, errc::bad_argument);
    std::vector<int> few(3);
    EXPECT_TRUE(test::error_of([&] { array.get({{0, 0}, {2, 2}}, few); }).says("4 points"));
    EXPECT_TRUE(test::error_of([&] { array.put({{0, 0}, {2, 6}}, few); }).says("before (2, 6)"));
    if (array.distribution().places(0) > 1 && array.distribution().places(0) < 6) {
      EXPECT_EQ(test::error_of([&] { (void)array.own_box(); }).code, errc::bad_argument);
      EXPECT_TRUE(test::error_of([] {
                    distributed_array<int, 2>{{60, 5}, {cut::cyclic(), cut::none()}, ghost_zones<2>::all(1)};
                  }).says("dimension 0"));
    }
    EXPECT_EQ(test::error_of([] { distributed_array<char, 1>{{8}, {cut::block(place_count() + 1)}}; }).code,
              errc::bad_argument);
  });
}

TEST_P(distributed_array_on, gives_its_memory_back) {
  run([] {
    { const distributed_array<int, 1> first{{1000}}; }
    const std::uint64_t live = test::settled_memory().live_bytes;
    for (int round = 0; round < 5; ++round) {
      const distributed_array<int, 2> array{{100, 100}, {}, ghost_zones<2>::all(2)};
    }
    EXPECT_EQ(test::settled_memory().live_bytes, live);
  });
}

TEST_P(distributed_array_on, one_place_without_room_is_told_to_all) {
  run([] {
    const auto told = test::error_of([] { distributed_array<double, 1>{{std::size_t{1} << 46}}; });
    EXPECT_EQ(told.code, errc::out_of_memory) << told.text;
    barrier();
  });
}

TEST_P(distributed_array_on, a_lost_place_is_told_to_who_touches_its_part) {
  if (GetParam().places == 1) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    const auto parts = static_cast<std::size_t>(place_count());
    distributed_array<int, 1> array{{3 * parts}, {}, ghost_zones<1>::all(1, true)};
    array.for_each_local([](int& each) { each = 5; });
    array.exchange_ghosts();
    if (here().index() == 1) throw std::runtime_error{"died as it should"};
    EXPECT_THROW(array.exchange_ghosts(), place_lost_error);
    EXPECT_THROW((void)array.get({3}), place_lost_error);
    EXPECT_THROW(array.put({5}, 1), place_lost_error);
    EXPECT_THROW((void)array.pointer_to({4}), place_lost_error);
    std::vector<int> some(2);
    EXPECT_THROW(array.get({{2}, {4}}, some), place_lost_error);
    EXPECT_THROW((void)array.exchange_ghosts_async(), place_lost_error);
    const auto own = static_cast<std::ptrdiff_t>(3 * here().index());  // the others may have gone
    EXPECT_EQ(array.get({own}), 5);
    array.get({{own}, {own + 2}}, some);
    EXPECT_EQ(some, (std::vector<int>{5, 5}));
    EXPECT_EQ(array.local_view()(-1), 5);
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

INSTANTIATE_TEST_SUITE_P(layouts, distributed_array_on, testing::ValuesIn(test::layouts({1, 2, 3, 4, 5, 6})),
                         test::layout_name);

}  // namespace
}  // namespace situ
