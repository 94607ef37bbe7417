// finish(): it waits for exactly what was started in it, here and elsewhere, and throws what nobody else took.
#include "support/places.h"

#include <situ/base/log.h>

#include <stdexcept>

namespace situ {
namespace {

using test::mixed;

class finishes : public test::on_places {};

thread_local std::uint64_t runs = 0;  // tasks that ran at this place

TEST_P(finishes, with_nothing_in_it) {
  run([] {
    finish([] {});
    finish([] { finish([] {}); });
  });
}

TEST_P(finishes, waits_for_tasks_and_what_they_start) {
  run([] {
    runs = 0;
    barrier();
    finish([] {
      for (const place p : places())
        async_at(p, [] {
          for (const place q : places())
            async_at(q, [] {
              ++runs;
              async([] {
                progress();
                ++runs;
              });
            });
          ++runs;
        });
    });
    std::uint64_t all = 0;
    for (const place p : places()) all += at(p, [] { return runs; });
    const std::uint64_t n = place_count();
    EXPECT_GE(all, n + 2 * n * n) << "this place's own are done; those of other places' scopes may be";
    barrier();
    EXPECT_EQ(runs, n * (1 + 2 * n));
    barrier();
  });
}

// --- Random trees ----------------------------------------------------------------------------------------------------

// A tree of tasks that its seed describes: all places compute the same one. Each task runs at some place, counts itself
// in the innermost finish scope's counter (an atomic word), and does what its children's seeds say.
enum class child_kind : std::uint64_t { async_here, async_there, finish_around, at_there, continuation, kinds };

struct child {
  std::uint64_t seed;
  child_kind kind;
  std::uint32_t target;
};

std::vector<child> children_of(std::uint64_t seed, int depth, std::uint32_t places) {
  std::vector<child> made;
  if (depth == 0) return made;
  for (std::uint64_t i = 0, n = mixed(seed, 1) % 4; i < n; ++i) {
    const std::uint64_t own = mixed(seed, 10 + i);
    made.push_back({own, static_cast<child_kind>(mixed(own, 2) % static_cast<std::uint64_t>(child_kind::kinds)),
                    static_cast<std::uint32_t>(mixed(own, 3) % places)});
  }
  return made;
}

std::uint64_t size_of(std::uint64_t seed, int depth, std::uint32_t places) {
  std::uint64_t size = 1;
  for (const child& c : children_of(seed, depth, places)) size += size_of(c.seed, depth - 1, places);
  return size;
}

void run_node(std::uint64_t seed, int depth, ptr<std::uint64_t> counter);

void run_child(const child& c, int depth, ptr<std::uint64_t> counter) {
  switch (c.kind) {
    case child_kind::async_here: async(&run_node, c.seed, depth, counter); break;
    case child_kind::async_there: async_at(place{c.target}, &run_node, c.seed, depth, counter); break;
    case child_kind::at_there: at(place{c.target}, &run_node, c.seed, depth, counter); break;
    case child_kind::continuation:
      async([] { progress(); }).then([seed = c.seed, depth, counter] { run_node(seed, depth, counter); });
      break;
    default: {
      const ptr<std::uint64_t> inner = allocate<std::uint64_t>();
      atomic_store(inner, 0);
      finish([&] { async_at(place{c.target}, &run_node, c.seed, depth, inner); });
      const std::uint64_t counted = atomic_load(inner);
      EXPECT_EQ(counted, size_of(c.seed, depth, place_count())) << "a nested finish ended early";
      atomic_fetch_add(counter, counted);
      deallocate(inner);
    }
  }
}

void run_node(std::uint64_t seed, int depth, ptr<std::uint64_t> counter) {
  if (mixed(seed, 4) % 3 == 0) progress();
  for (const child& c : children_of(seed, depth, place_count())) run_child(c, depth - 1, counter);
  ++runs;
  atomic_fetch_add(counter, 1);
}

TEST_P(finishes, random_trees_are_counted_exactly) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    runs = 0;
    barrier();
    const ptr<std::uint64_t> counter = allocate<std::uint64_t>();
    const int trees = test::rounds(60);
    std::uint64_t expected_everywhere = 0;
    for (int i = 0; i < trees; ++i) {
      const std::uint64_t root = mixed(seed, 1000 * here().index() + static_cast<std::uint64_t>(i));
      atomic_store(counter, 0);
      finish([&] { run_node(root, 6, counter); });
      ASSERT_EQ(atomic_load(counter), size_of(root, 6, place_count())) << "tree " << i;
      for (std::uint64_t p = 0; p < place_count(); ++p)
        expected_everywhere += size_of(mixed(seed, 1000 * p + static_cast<std::uint64_t>(i)), 6, place_count());
    }
    barrier();
    EXPECT_EQ(all_reduce(runs, std::plus<>{}), expected_everywhere);
    deallocate(counter);
  });
}

TEST_P(finishes, one_place_spawns_thousands) {
  run([] {
    runs = 0;
    barrier();
    const auto each = static_cast<std::uint64_t>(test::rounds(5000));
    finish([&] {
      for (std::uint64_t i = 0; i < each; ++i)
        async_at(place{static_cast<std::uint32_t>(i % place_count())}, [] { ++runs; });
    });
    barrier();
    EXPECT_EQ(all_reduce(runs, std::plus<>{}), each * place_count());
  });
}

// A chain of tasks, each started by the last one at another place: never more than one alive, so nothing but the chain
// holds the scope.
void hop(int left) {
  ++runs;
  if (left > 0) async_at(place{(here().index() + 1) % place_count()}, &hop, left - 1);
}

TEST_P(finishes, chains_across_places) {
  run([] {
    runs = 0;
    barrier();
    const int hops = test::rounds(1000);
    finish([&] { async_at(here(), &hop, hops); });
    barrier();
    EXPECT_EQ(all_reduce(runs, std::plus<>{}), (static_cast<std::uint64_t>(hops) + 1) * place_count());
  });
}

TEST_P(finishes, the_runtime_waits_for_what_main_started) {
  run([] {
    for (const place p : places())
      async_at(p, [] {
        for (int i = 0; i < 20; ++i) progress();
        async_at(place{0}, [] { ++runs; });
      });
    // Nobody waits here: ~runtime does. A task that ran after it would crash.
  });
}

// --- Errors ----------------------------------------------------------------------------------------------------------

struct odd_number : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST_P(finishes, throws_what_a_near_task_threw) {
  run([] {
    bool other_ran = false;
    try {
      finish([&] {
        async([] { throw odd_number{"near"}; });
        async([&] {
          progress();
          other_ran = true;
        });
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const odd_number& e) {
      EXPECT_STREQ(e.what(), "near");
    }
    EXPECT_TRUE(other_ran) << "it waits for the others all the same";
  });
}

TEST_P(finishes, throws_what_a_far_task_threw) {
  run([] {
    const place next{(here().index() + 1) % place_count()};
    try {
      finish([&] { async_at(next, [] { throw odd_number{"far"}; }); });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const remote_error& e) {
      EXPECT_EQ(e.place_index(), next.index());
      EXPECT_EQ(e.remote_what(), "far");
      EXPECT_NE(e.type_name().find("odd_number"), std::string::npos) << e.type_name();
    }
    // Two steps away: started there by a task from here, with nobody left who holds its future.
    try {
      finish([&] {
        async_at(next,
                 [] { async_at(place{(here().index() + 1) % place_count()}, [] { throw odd_number{"farther"}; }); });
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const remote_error& e) {
      EXPECT_EQ(e.remote_what(), "farther");
      EXPECT_EQ(e.place_index(), (here().index() + 2) % place_count());
    }
    barrier();
  });
}

TEST_P(finishes, what_a_future_took_is_not_thrown_again) {
  run([] {
    const place next{(here().index() + 1) % place_count()};
    finish([&] {
      const auto near = async([] { throw odd_number{"near"}; });
      const auto far = async_at(next, [] { throw odd_number{"far"}; });
      EXPECT_THROW(near.get(), odd_number);
      EXPECT_THROW(far.get(), remote_error);
    });
    barrier();
  });
}

TEST_P(finishes, the_body_comes_first) {
  run([] {
    int ran = 0;
    try {
      finish([&] {
        async([&] {
          progress();
          ++ran;
        });
        throw odd_number{"body"};
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const odd_number& e) {
      EXPECT_STREQ(e.what(), "body");
      EXPECT_EQ(ran, 1);
    }
  });
}

TEST_P(finishes, one_of_many_failures_is_thrown_and_the_place_goes_on) {
  run([] {
    const log_sink before = set_log_sink([](log_level, std::string_view) {});  // the others are logged
    for (int i = 0; i < 5; ++i) {
      EXPECT_THROW(finish([&] {
                     for (const place p : places())
                       for (int j = 0; j < 3; ++j) async_at(p, [] { throw odd_number{"one of many"}; });
                   }),
                   error);
    }
    barrier();
    set_log_sink(before);
    finish([] {
      for (const place p : places()) async_at(p, [] {});
    });
    barrier();
  });
}

// An exception in a continuation whose future nobody holds must not vanish.
TEST_P(finishes, throws_what_a_continuation_threw) {
  run([] {
    EXPECT_THROW(finish([] { make_ready_future(1).then([](int) { throw odd_number{"in then"}; }); }), odd_number);
    EXPECT_THROW(finish([] { async([]() -> int { throw odd_number{"before then"}; }).then([](int) {}); }), odd_number);
    EXPECT_THROW(finish([] { (void)when_all(async([] { throw odd_number{"in one of all"}; }), async([] {})); }),
                 odd_number);
    EXPECT_THROW(finish([] {
                   [](int) -> future<> {
                     co_await async([] {});
                     throw odd_number{"in a coroutine"};
                   }(1);
                 }),
                 odd_number);
    // And is not thrown where somebody does hold it.
    finish([] {
      const auto held = make_ready_future(1).then([](int) { throw odd_number{"held"}; });
      EXPECT_THROW(held.get(), odd_number);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, finishes, testing::ValuesIn(test::all_layouts()), test::layout_name);

// A task that nobody waited for fails: main's own scope throws, which ends the place, and the reason says what
// happened.
TEST(unheard, exceptions_at_the_end_of_main_lose_the_place) {
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  for (const launch_mode mode : {launch_mode::processes, launch_mode::threads}) {
    if (mode == launch_mode::processes && !test::can_fork()) continue;
    const launch_result result = test::launch_on({mode, 2}, [] {
      if (here().index() == 1) (void)async([] { throw std::runtime_error{"nobody heard this"}; });
    });
    ASSERT_TRUE(result.first_lost) << static_cast<int>(mode);
    EXPECT_EQ(result.first_lost->index(), 1U);
    EXPECT_NE(result.message().find("nobody heard this"), std::string::npos) << result.message();
  }
  set_log_sink(before);
}

}  // namespace
}  // namespace situ
