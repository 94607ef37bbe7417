// dist_object: this place's part, the others' by fetch and at, names, parts that come late or have ended, a loss.
#include <situ/spread/dist_object.h>

#include "support/places.h"

#include <situ/base/log.h>

#include <deque>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

namespace situ {
namespace {

class dist_object_on : public test::on_places {};

TEST_P(dist_object_on, each_place_has_its_own_and_a_copy_of_anothers) {
  run([] {
    dist_object<std::vector<std::uint32_t>> mine{std::vector<std::uint32_t>{here().index(), 7}};
    mine->push_back(here().index() * 10);
    barrier();
    for (const place p : places())
      EXPECT_EQ(mine.fetch(p).get(), (std::vector<std::uint32_t>{p.index(), 7, p.index() * 10}));
    barrier();
  });
}

TEST_P(dist_object_on, a_function_runs_on_the_part_of_its_place) {
  run([] {
    dist_object<std::map<int, std::string>> words{{}};
    barrier();
    for (const place p : places())
      words.at(
          p, [](std::map<int, std::string>& m, int key, const std::string& text) { m[key] = text; },
          static_cast<int>(here().index()), "from " + std::to_string(here().index()));
    barrier();
    EXPECT_EQ(words->size(), place_count());
    EXPECT_EQ((*words)[static_cast<int>(place_count()) - 1], "from " + std::to_string(place_count() - 1));
    const place next{(here().index() + 1) % place_count()};
    EXPECT_EQ(words.async_at(next, [](std::map<int, std::string>& m) { return m.size(); }).get(), place_count());
    barrier();
  });
}

// Random changes of random parts, by all at once, of as many objects as live: sums do not depend on their order.
TEST_P(dist_object_on, random_changes_add_up_as_in_the_model) {
  using sums = std::map<std::uint32_t, std::uint64_t>;
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    constexpr std::uint32_t objects = 3;
    std::deque<dist_object<sums>> all;
    for (std::uint32_t i = 0; i < objects; ++i) all.emplace_back(sums{});
    std::vector<sums> model(objects);  // of this place's parts
    const auto change = [](sums& m, std::uint32_t key, std::uint64_t n) { m[key] += n; };
    for (std::uint32_t from = 0; from < place_count(); ++from) {
      std::mt19937_64 random{test::mixed(seed, from)};
      std::vector<future<>> under_way;
      for (int step = 0; step < test::rounds(200); ++step) {
        const auto object = static_cast<std::uint32_t>(random() % objects);
        const place to{static_cast<std::uint32_t>(random() % place_count())};
        const auto key = static_cast<std::uint32_t>(random() % 10);
        const std::uint64_t n = random() % 1000;
        if (to == here()) model[object][key] += n;
        if (from == here().index()) under_way.push_back(all[object].async_at(to, change, key, n));
      }
      for (future<>& each : under_way) each.get();
    }
    barrier();
    for (std::uint32_t i = 0; i < objects; ++i) {
      EXPECT_EQ(*all[i], model[i]);
      const place next{(here().index() + 1) % place_count()};
      EXPECT_EQ(all_reduce(all[i].fetch(next).get().size(), std::plus<>{}), all_reduce(model[i].size(), std::plus<>{}));
    }
    barrier();
  });
}

TEST_P(dist_object_on, an_identity_finds_the_part_where_it_arrives) {
  run([] {
    dist_object<std::uint32_t> number{here().index() + 100};
    for (const place p : places()) {
      EXPECT_EQ(at(p, [](dist_id<std::uint32_t> id) { return *id.here(); }, number.id()), p.index() + 100);
    }
    barrier();
  });
}

TEST_P(dist_object_on, who_asks_early_waits_until_the_part_is_made) {
  run([] {
    const place next{(here().index() + 1) % place_count()};
    if (here().index() % 2 == 0)
      for (int i = 0; i < 50; ++i) progress();
    dist_object<std::uint32_t> first{here().index()};
    const future<std::uint32_t> theirs = first.fetch(next);
    dist_object<std::uint32_t> second{here().index() * 2};
    EXPECT_EQ(second.fetch(next).get(), next.index() * 2);
    EXPECT_EQ(theirs.get(), next.index());
    barrier();
  });
}

TEST_P(dist_object_on, names_need_no_order) {
  run([] {
    std::optional<dist_object<int>> a, b;
    if (here().index() % 2 == 0) {
      a.emplace("a", 1);
      b.emplace("b", 2);
    } else {
      b.emplace("b", 2);
      a.emplace("a", 1);
    }
    const place next{(here().index() + 1) % place_count()};
    EXPECT_EQ(a->fetch(next).get(), 1);
    EXPECT_EQ(b->fetch(next).get(), 2);
    const auto taken = test::error_of([] { const dist_object<int> again{"a", 3}; });
    EXPECT_EQ(taken.code, errc::bad_argument);
    EXPECT_TRUE(taken.says("of this name already")) << taken.text;
    barrier();
    a.reset();
    a.emplace("a", 5);
    barrier();
    EXPECT_EQ(a->fetch(next).get(), 5);
    barrier();
  });
}

TEST_P(dist_object_on, a_part_that_has_ended_is_told) {
  run([] {
    const place next{(here().index() + 1) % place_count()};
    dist_id<int> id, named;
    {
      const dist_object<int> gone{1};
      const dist_object<int> gone_name{"gone", 1};
      id = gone.id();
      named = gone_name.id();
      barrier();
    }
    barrier();
    for (const dist_id<int> each : {id, named}) {
      const auto told = test::error_of([&] { (void)at(next, [](dist_id<int> i) { return *i.here(); }, each); });
      EXPECT_EQ(told.code, errc::remote_exception);
      EXPECT_TRUE(told.says("no more")) << told.text;
    }
    barrier();
  });
}

TEST_P(dist_object_on, another_type_under_the_same_identity_is_told) {
  run([] {
    if (place_count() == 1) return;
    std::optional<dist_object<int>> whole;
    std::optional<dist_object<double>> broken;
    if (here().index() == 0) {
      broken.emplace(1.5);
    } else {
      whole.emplace(1);
    }
    if (here().index() == 1) {
      const auto told = test::error_of([&] { (void)whole->fetch(place{0}).get(); });
      EXPECT_TRUE(told.says("another type")) << told.text;
    }
    barrier();
  });
}

TEST_P(dist_object_on, a_team_has_objects_of_its_own) {
  run([] {
    const team half = world().split(here().index() % 2);
    const dist_object<std::uint32_t> mine{half.index(), half};
    for (std::uint32_t i = 0; i < half.size(); ++i) EXPECT_EQ(mine.fetch(half.member(i)).get(), i);
    barrier();
  });
}

TEST_P(dist_object_on, a_lost_place_is_told_to_who_asks_for_its_part) {
  if (GetParam().places == 1) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    dist_object<int> mine{1};
    barrier();
    if (here().index() == 1) throw std::runtime_error{"died as it should"};
    EXPECT_THROW(while (true)(void) mine.fetch(place{1}).get(), place_lost_error);
    EXPECT_THROW((void)mine.fetch(place{1}).get(), place_lost_error);
    if (here().index() == 0) {
      EXPECT_EQ(mine.fetch(place{0}).get(), 1);
    }
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

INSTANTIATE_TEST_SUITE_P(layouts, dist_object_on, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
