// Barriers: nobody leaves before all have come, and what was written before is seen after. Blocking and split, of one
// team or several.
#include "support/places.h"

#include <random>

namespace situ {
namespace {

using test::mixed;

class barriers : public test::on_places {};

TEST_P(barriers, hold_everybody_until_all_have_come) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const ptr<std::uint64_t> arrived = broadcast(here().index() == 0 ? allocate<std::uint64_t>() : nullptr, 0);
    if (here().index() == 0) atomic_store(arrived, 0);
    barrier();
    std::mt19937_64 random{mixed(seed, here().index())};
    const auto rounds = static_cast<std::uint64_t>(place_count() > 16 ? test::rounds(60) : test::rounds(1000));
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      for (std::uint64_t late = random() % 4; late > 0; --late) progress();
      atomic_fetch_add(arrived, 1);
      if (random() % 3 == 0) {
        const future<> all = barrier_async();
        progress();
        all.get();
      } else {
        barrier();
      }
      ASSERT_GE(atomic_load(arrived), round * place_count());
      ASSERT_LT(atomic_load(arrived), (round + 1) * place_count());
    }
    barrier();
    if (here().index() == 0) deallocate(arrived);
  });
}

TEST_P(barriers, publish_plain_writes) {
  run([] {
    const auto words = all_gather(allocate<std::uint64_t>());
    const std::uint32_t n = place_count();
    const int rounds = n > 16 ? test::rounds(30) : test::rounds(500);
    for (int round = 0; round < rounds; ++round) {
      *words[here().index()].local() = mixed(static_cast<std::uint64_t>(round), here().index());
      barrier();
      for (std::uint32_t p = 0; p < n; ++p) ASSERT_EQ(*words[p].local(), mixed(static_cast<std::uint64_t>(round), p));
      barrier();
    }
    deallocate(words[here().index()]);
  });
}

TEST_P(barriers, go_on_with_messages_and_tasks_meanwhile) {
  run([] {
    // Place 0 comes last, and needs every other place to answer before it does.
    if (here().index() == 0) {
      for (int i = 0; i < 10; ++i)
        for (const place p : places()) EXPECT_EQ(at(p, [](int v) { return v + 1; }, i), i + 1);
    }
    barrier();
  });
}

TEST_P(barriers, of_several_teams_run_side_by_side) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const std::uint32_t n = place_count();
    std::vector<team> teams{world()};
    for (std::uint32_t i = 0; i < 4; ++i)
      teams.push_back(world().split(static_cast<std::uint32_t>(mixed(seed, 100 * i + here().index()) % (i + 2)),
                                    n - here().index()));
    for (int round = 0; round < test::rounds(50); ++round) {
      // All at once, each place starting them in an order of its own.
      std::vector<future<>> open;
      for (std::size_t i = 0; i < teams.size(); ++i)
        open.push_back(barrier_async(teams[(i + here().index() + static_cast<std::uint32_t>(round)) % teams.size()]));
      when_all(open).get();
    }
    for (const team& each : teams) barrier(each);
  });
}

TEST_P(barriers, split_phases_overlap_with_work) {
  run([] {
    const ptr<std::uint32_t> count = broadcast(here().index() == 0 ? allocate<std::uint32_t>() : nullptr, 0);
    if (here().index() == 0) atomic_store(count, 0);
    barrier();
    const future<> all = barrier_async();
    const int answer = at(place{(here().index() + 1) % place_count()}, [] { return 5; });
    EXPECT_EQ(answer, 5);
    atomic_fetch_add(count, 1);
    all.get();
    barrier();
    EXPECT_EQ(atomic_load(count), place_count());
    barrier();
    if (here().index() == 0) deallocate(count);
  });
}

// Flags for few places, a tree beyond: 9 is the first with two levels, 64 and 65 fill them.
INSTANTIATE_TEST_SUITE_P(layouts, barriers, testing::ValuesIn(test::layouts({1, 2, 4, 7, 9, 64, 65})),
                         test::layout_name);

}  // namespace
}  // namespace situ
