// Every collective against a sequential reference: each place can compute every other's value from the seed, so it
// knows what must come out. Random teams, roots, types and sizes.
#include "runtime/collective_values.h"

#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "runtime/team_state.h"

namespace situ {
namespace {

using test::mixed;

class collectives : public test::on_places {};

template <class T>
void check_all(const team& t, std::uint64_t seed) {
  for (std::uint32_t kind = 0; kind < static_cast<std::uint32_t>(test::collective_kind::count); ++kind)
    test::check_collective<T>(static_cast<test::collective_kind>(kind), t, seed);
}

void check_all_types(const team& t, std::uint64_t seed) {
  check_all<std::int64_t>(t, mixed(seed, 1));
  check_all<double>(t, mixed(seed, 2));
  check_all<std::string>(t, mixed(seed, 3));
  check_all<std::vector<std::uint32_t>>(t, mixed(seed, 4));
  check_all<test::matrix>(t, mixed(seed, 5));
}

TEST_P(collectives, agree_with_a_sequential_reference) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const int rounds = place_count() > 16 ? test::or_modelled(2, 1) : test::rounds(20);
    for (int round = 0; round < rounds; ++round)
      check_all_types(world(), mixed(seed, static_cast<std::uint64_t>(round)));
  });
}

TEST_P(collectives, of_random_teams_agree_too) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const int rounds = place_count() > 16 ? 1 : test::rounds(10);
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t salt = mixed(seed, static_cast<std::uint64_t>(round));
      const team part = world().split(static_cast<std::uint32_t>(mixed(salt, here().index()) % 3),
                                      static_cast<std::uint32_t>(mixed(salt, 100 + here().index()) % 1000));
      check_all_types(part, mixed(salt, 17));
    }
  });
}

// A team as if its members were of several hosts: runs of random lengths, 1 often.
detail::member_runs random_runs(std::uint32_t members, std::uint64_t seed) {
  std::vector<std::uint32_t> firsts{0};
  for (std::uint32_t i = 1; i < members; ++i)
    if (mixed(seed, i) % 2 == 0) firsts.push_back(i);
  return {std::move(firsts), members};
}

TEST_P(collectives, of_members_in_runs_agree_too) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const team all = world().split(0);
    const int rounds = place_count() > 16 ? 1 : test::rounds(20);
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t salt = mixed(seed, static_cast<std::uint64_t>(round));
      barrier();  // nobody is in a collective by the runs before
      all.state().runs = random_runs(all.size(), salt);
      check_all_types(all, salt);
    }
  });
}

TEST_P(collectives, barriers_by_messages_keep_everybody) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const team all = world().split(0);
    all.state().is_by_messages = true;
    const auto counter = broadcast(here().index() == 0 ? allocate<std::uint64_t>(1) : ptr<std::uint64_t>{}, 0);
    if (here().index() == 0) put(counter, std::uint64_t{0});
    const int rounds = place_count() > 16 ? 2 : test::rounds(100);
    for (int round = 0; round < rounds; ++round) {
      barrier();
      all.state().runs = random_runs(all.size(), mixed(seed, static_cast<std::uint64_t>(round)));
      (void)atomic_fetch_add(counter, std::uint64_t{1});
      if (round % 2 == 0)
        barrier(all);
      else
        barrier_async(all).get();
      EXPECT_EQ(get(counter), (static_cast<std::uint64_t>(round) + 1) * place_count());
    }
    barrier();
    if (here().index() == 0) deallocate(counter);
  });
}

// Parts of the next collectives may arrive while a slow member is still in an earlier one.
TEST_P(collectives, follow_each_other_without_barriers) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    std::mt19937_64 random{mixed(seed, here().index())};
    const std::uint32_t n = place_count();
    const auto rounds = static_cast<std::uint32_t>(n > 16 ? test::rounds(40) : test::rounds(500));
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::uint64_t late = random() % 3; late > 0; --late) progress();
      const std::uint32_t root = round % n;
      ASSERT_EQ(broadcast(here().index() == root ? round : 0U, root), round);
      ASSERT_EQ(all_reduce(round + here().index(), std::plus<>{}), n * round + n * (n - 1) / 2);
    }
  });
}

TEST_P(collectives, of_several_teams_run_in_tasks_side_by_side) {
  run([] {
    const team a = world().split(0), b = world().split(1), c = world().split(here().index() % 2);
    finish([&] {
      async([&] {
        for (int i = 0; i < 20; ++i) EXPECT_EQ(all_reduce(1, std::plus<>{}, a), static_cast<int>(a.size()));
      });
      async([&] {
        for (int i = 0; i < 20; ++i) EXPECT_EQ(all_gather(here().index(), b).size(), b.size());
      });
      async([&] {
        for (int i = 0; i < 20; ++i) barrier(c);
      });
    });
  });
}

TEST_P(collectives, leave_no_memory_behind) {
  run([] {
    const std::uint64_t live = test::settled_memory().live_bytes;
    const std::vector<std::uint32_t> large(test::or_modelled(100000, 5000), here().index());  // through a buffer
    EXPECT_EQ(broadcast(large, place_count() - 1).front(), place_count() - 1);
    EXPECT_EQ(all_gather(large).back().back(), place_count() - 1);
    EXPECT_EQ(test::settled_memory().live_bytes, live);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, collectives, testing::ValuesIn(test::layouts({1, 2, 3, 4, 7, 20})),
                         test::layout_name);

}  // namespace
}  // namespace situ
