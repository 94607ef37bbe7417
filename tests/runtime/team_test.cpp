// Teams: who is in them, in which order, and that teams of teams work like any other.
#include "support/places.h"

#include <algorithm>

namespace situ {
namespace {

using test::mixed;

class teams : public test::on_places {};

std::vector<std::uint32_t> members_of(const team& t) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < t.size(); ++i) members.push_back(t.member(i).index());
  return members;
}

// Who ought to be in `colour`'s team of `parent`, in order.
template <class Colour, class Key>
std::vector<std::uint32_t> expected_members(const std::vector<std::uint32_t>& parent, std::uint32_t own, Colour colour,
                                            Key key) {
  std::vector<std::uint32_t> members;
  for (const std::uint32_t p : parent)
    if (colour(p) == colour(own)) members.push_back(p);
  std::stable_sort(members.begin(), members.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return members;
}

TEST_P(teams, the_world_is_everybody) {
  run([] {
    const team& w = world();
    EXPECT_EQ(w.size(), place_count());
    EXPECT_EQ(w.index(), here().index());
    for (std::uint32_t i = 0; i < w.size(); ++i) EXPECT_EQ(w.member(i), place{i});
    EXPECT_EQ(w.index_of(place{place_count()}), std::nullopt);
  });
}

TEST_P(teams, split_by_colour_and_key) {
  run([] {
    const std::uint32_t n = place_count();
    const team odd_and_even = world().split(here().index() % 2, n - here().index());
    std::vector<std::uint32_t> expected;
    for (std::uint32_t p = n; p-- > 0;)
      if (p % 2 == here().index() % 2) expected.push_back(p);
    EXPECT_EQ(members_of(odd_and_even), expected);
    EXPECT_EQ(odd_and_even.member(odd_and_even.index()), here());
    EXPECT_EQ(odd_and_even.index_of(here()), odd_and_even.index());
    if (n > 1) {
      EXPECT_EQ(odd_and_even.index_of(place{1 - here().index() % 2}), std::nullopt);
    }
    const team alone = world().split(here().index());
    EXPECT_EQ(alone.size(), 1U);
    barrier(alone);
    EXPECT_EQ(all_reduce(5, std::plus<>{}, alone), 5);
    const team same_keys = world().split(7, 1);
    EXPECT_EQ(members_of(same_keys), members_of(world())) << "equal keys keep the order";
  });
}

TEST_P(teams, random_splits_of_splits) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (std::uint64_t round = 0; round < 10; ++round) {
      team current = world();
      for (std::uint64_t level = 0; level < 3; ++level) {
        const std::uint64_t salt = mixed(seed, 10 * round + level);
        const auto colour = [&](std::uint32_t p) { return static_cast<std::uint32_t>(mixed(salt, p) % 2); };
        const auto key = [&](std::uint32_t p) { return static_cast<std::uint32_t>(mixed(salt, 1000 + p) % 3); };
        const auto expected = expected_members(members_of(current), here().index(), colour, key);
        current = current.split(colour(here().index()), key(here().index()));
        ASSERT_EQ(members_of(current), expected);
        ASSERT_EQ(current.member(current.index()), here());
        barrier(current);
        const auto gathered = all_gather(here().index(), current);
        ASSERT_EQ(gathered, expected);
      }
    }
  });
}

TEST_P(teams, subsets_involve_their_members_only) {
  run([] {
    const std::uint32_t n = place_count();
    std::vector<std::uint32_t> reversed_evens;
    for (std::uint32_t p = n; p-- > 0;)
      if (p % 2 == 0) reversed_evens.push_back(p);
    if (here().index() % 2 == 0) {
      const team evens = world().subset(reversed_evens);
      EXPECT_EQ(members_of(evens), reversed_evens);
      for (int i = 0; i < 3; ++i) {  // the same subset again is another team: their messages must not mix
        const team again = world().subset(reversed_evens);
        EXPECT_EQ(all_reduce(1, std::plus<>{}, again) + all_reduce(2, std::plus<>{}, evens),
                  static_cast<int>(3 * reversed_evens.size()));
      }
    }
    // Places that were no members have made other teams meanwhile, or none: the world's collectives still agree.
    EXPECT_EQ(all_reduce(1U, std::plus<>{}), n);
    barrier();
  });
}

TEST_P(teams, give_their_memory_back) {
  run([] {
    const std::uint64_t live = test::settled_memory().live_bytes;
    for (int i = 0; i < 50; ++i) {
      const team t = world().split(here().index() % 2);
      barrier(t);
    }
    EXPECT_EQ(test::settled_memory().live_bytes, live);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, teams, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
