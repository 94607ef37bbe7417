// task_pool: each task runs once, whoever adds it and whoever runs it; trees of all forms; runs one after the other;
// arguments and functions of any kind; tasks that wait; errors and losses.
#include <situ/spread/task_pool.h>

#include "support/places.h"

#include <situ/base/log.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

namespace situ {
namespace {

using namespace std::chrono_literals;

class task_pool_on : public test::on_places {};

// What the tasks of a place have done.
thread_local std::uint64_t nodes_here;
thread_local std::uint64_t sum_here;

// A random tree: the number of a node's children follows from its name.
struct node {
  std::uint64_t name;
  std::uint32_t depth;
};
std::uint32_t children_of(node n) {
  if (n.depth == 0) return 30;
  return n.depth < 12 && test::mixed(n.name, 1) % 100 < 45 ? static_cast<std::uint32_t>(test::mixed(n.name, 2) % 5) : 0;
}
node child_of(node n, std::uint32_t i) { return {test::mixed(n.name, 10 + i), n.depth + 1}; }
void count(node n, std::uint64_t& nodes, std::uint64_t& sum) {
  ++nodes;
  sum += test::mixed(n.name);
}
void walk(node n, std::uint64_t& nodes, std::uint64_t& sum) {
  count(n, nodes, sum);
  for (std::uint32_t i = 0; i < children_of(n); ++i) walk(child_of(n, i), nodes, sum);
}
void visit(task_pool& pool, node n) {
  count(n, nodes_here, sum_here);
  for (std::uint32_t i = 0; i < children_of(n); ++i) pool.add(visit, child_of(n, i));
}

std::uint64_t total(std::uint64_t mine) { return all_reduce(mine, std::plus<>{}); }

TEST_P(task_pool_on, each_node_of_random_trees_is_visited_once) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    task_pool pool;
    for (std::uint64_t round = 0; round < static_cast<std::uint64_t>(test::rounds(40)); ++round) {
      nodes_here = sum_here = 0;
      std::uint64_t nodes = 0, sum = 0;
      // Some members have roots, some none.
      for (std::uint32_t p = 0; p < place_count(); ++p) {
        const node root{test::mixed(seed, round << 8 | p), static_cast<std::uint32_t>(test::mixed(seed, p) % 2)};
        if (test::mixed(seed + p, round) % 2 == 0) continue;
        walk(root, nodes, sum);
        if (p == here().index()) pool.add(visit, root);
      }
      pool.run();
      EXPECT_EQ(total(nodes_here), nodes);
      EXPECT_EQ(total(sum_here), sum);
    }
    const std::uint64_t all = total(pool.ran());
    EXPECT_LE(pool.steals(), all);
  });
}

// The same trees, with what tasks return instead of what they leave at their place.
std::uint64_t name_of(task_pool& pool, node n) {
  for (std::uint32_t i = 0; i < children_of(n); ++i) pool.add(name_of, child_of(n, i));
  return test::mixed(n.name);
}

TEST_P(task_pool_on, results_are_combined_at_every_member) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    task_pool pool;
    for (std::uint64_t round = 0; round < 5; ++round) {
      const node root{test::mixed(seed, round), 0};
      std::uint64_t nodes = 0, sum = 0;
      walk(root, nodes, sum);
      if (here().index() == round % place_count()) pool.add(name_of, root);
      EXPECT_EQ(pool.run(std::uint64_t{0}, std::plus<>{}), sum);
    }
  });
}

TEST_P(task_pool_on, results_may_be_values_and_futures_and_lacking) {
  run([] {
    task_pool pool;
    pool.add([] { return std::set<std::uint32_t>{here().index() + 1000}; });
    pool.add([](std::uint32_t n) { return async([n] { return std::set<std::uint32_t>{n}; }); }, here().index());
    pool.add([] {});
    const auto join = [](std::set<std::uint32_t> a, const std::set<std::uint32_t>& b) {
      a.insert(b.begin(), b.end());
      return a;
    };
    const auto all = pool.run(std::set<std::uint32_t>{}, join);
    for (std::uint32_t p = 0; p < place_count(); ++p) EXPECT_TRUE(all.contains(p));
    EXPECT_GT(all.size(), place_count());
    pool.add([] { return 1; });
    pool.run();  // nobody wants what it returns
  });
}

TEST_P(task_pool_on, a_result_of_another_type_is_told_where_its_task_ran) {
  run([] {
    task_pool pool;
    pool.add([] { return 1; });
    bool is_told = false;
    try {
      (void)pool.run(0L, std::plus<>{});
    } catch (const error& e) {
      is_told = true;
      EXPECT_EQ(e.code(), errc::bad_argument);
      EXPECT_NE(std::string_view{e.what()}.find("a task returns int"), std::string_view::npos) << e.what();
    }
    EXPECT_TRUE(all_reduce(is_told, std::logical_or<>{}));
    if (here().index() == 0) pool.add([] { return 5L; });
    EXPECT_EQ(pool.run(0L, std::plus<>{}), 5);
  });
}

TEST_P(task_pool_on, tasks_of_one_place_are_run_by_all) {
  run([] {
    static thread_local std::uint64_t done;
    done = 0;
    task_pool pool;
    if (here().index() == 0)
      for (int i = 0; i < 2000; ++i)
        pool.add([] {
          ++done;
          const auto end = std::chrono::steady_clock::now() + 20us;
          while (std::chrono::steady_clock::now() < end) {}
        });
    pool.run();
    EXPECT_EQ(total(done), 2000U);
    EXPECT_EQ(total(pool.ran()), 2000U);
    EXPECT_TRUE(total(pool.steals()) > 0 || place_count() == 1);
  });
}

TEST_P(task_pool_on, long_tasks_do_not_wait_behind_each_other) {
  if (GetParam().places != 2) return;
  run([] {
    // Each of two tasks ends when the other has begun, so the second must be run by who has none.
    const ptr<std::uint64_t> begun = allocate<std::uint64_t>();
    *begun.local() = 0;
    const ptr<std::uint64_t> common = broadcast(begun);
    task_pool pool;
    if (here().index() == 0)
      for (int i = 0; i < 2; ++i)
        pool.add([common] {
          atomic_fetch_add(common, 1);
          while (atomic_load(common) != 2) progress();
        });
    pool.run();
    EXPECT_EQ(pool.ran(), 1U);
    barrier();
    deallocate(begun);
  });
}

struct described {
  std::string text;
  std::vector<int> numbers;
};
void take(const described& d, const std::map<int, std::string>& m, std::string_view view) {
  sum_here += d.text.size() + static_cast<std::size_t>(std::accumulate(d.numbers.begin(), d.numbers.end(), 0)) +
              m.at(1).size() + view.size();
}
struct adder {
  std::vector<std::uint64_t> each;
  void operator()(task_pool& pool, std::uint64_t more) const {
    for (const std::uint64_t n : each) sum_here += n;
    if (more != 0) pool.add(*this, more - 1);
  }
};

TEST_P(task_pool_on, functions_and_arguments_are_those_of_async_at) {
  run([] {
    sum_here = 0;
    task_pool pool;
    pool.add(take, described{"ab", {1, 2, 3}}, std::map<int, std::string>{{1, "xyz"}}, "text");  // 15
    pool.add(adder{{1, 2}}, std::uint64_t{4});                                                   // 15
    const int captured = 7;
    pool.add([captured](task_pool&) { sum_here += captured; });
    pool.add([](std::unique_ptr<int> p) { sum_here += static_cast<std::uint64_t>(*p); }, std::make_unique<int>(3));
    pool.add(bind_values([](const std::string& s, int n) { sum_here += s.size() * static_cast<std::size_t>(n); },
                         std::string{"four"}),
             5);  // 20
    pool.add([] { return async([] { sum_here += 40; }); });
    pool.add([](const std::vector<int>& v) { sum_here += v.size(); }, std::vector<int>(100000));  // more than a chunk
    pool.add([](const std::string& s) { sum_here += s.size(); }, std::string(6000, 'x'));         // most of one
    pool.add([](const std::string& s) { sum_here += s.size(); }, std::string(6000, 'x'));
    pool.run();
    EXPECT_EQ(total(sum_here), std::uint64_t{15 + 15 + 7 + 3 + 20 + 40 + 100000 + 12000} * place_count());
  });
}

TEST_P(task_pool_on, runs_follow_each_other_and_may_be_empty) {
  run([] {
    task_pool pool;
    for (int round = 0; round < test::rounds(300); ++round) {
      nodes_here = 0;
      const auto adds = static_cast<std::uint32_t>(round) % (place_count() + 1);
      if (here().index() == adds) pool.add(visit, node{static_cast<std::uint64_t>(round), 11});
      pool.run();
      // A member that is over has run its part; the others may still be on their way out, and count what they ran.
      const std::uint64_t all = total(nodes_here);
      if (adds == place_count()) {
        EXPECT_EQ(all, 0U);
      } else {
        EXPECT_GE(all, 1U);
      }
    }
  });
}

TEST_P(task_pool_on, many_tasks_lie_in_chunks_that_are_given_back) {
  run([] {
    const std::uint64_t before = test::settled_memory().live_bytes;
    {
      task_pool pool;
      sum_here = 0;
      for (std::uint64_t i = 0; i < 100000; ++i) pool.add([](std::uint64_t n) { sum_here += n; }, i);
      EXPECT_LE(memory_statistics().live_bytes, before + 100000 * 24 * 2 + 200000);
      pool.run();
      EXPECT_EQ(total(sum_here), std::uint64_t{99999} * 50000 * place_count());
      pool.add([] { FAIL() << "is dropped"; });
    }
    EXPECT_LE(test::settled_memory().live_bytes, before + 1024);
  });
}

TEST_P(task_pool_on, a_task_may_wait_and_add_tasks_elsewhere) {
  run([] {
    static thread_local task_pool* pool_here;
    task_pool pool;
    pool_here = &pool;
    sum_here = 0;
    barrier();
    for (int round = 1; round <= test::rounds(20); ++round) {
      if (here().index() == 0) {
        for (std::uint32_t i = 0; i < 20; ++i)
          pool.add(
              [](std::uint32_t to) {
                at(place{to}, [] { pool_here->add([] { ++sum_here; }); });  // where all may be idle
              },
              i % place_count());
      }
      pool.run();
      EXPECT_EQ(total(sum_here), static_cast<std::uint64_t>(round) * 20);
    }
  });
}

TEST_P(task_pool_on, an_exception_comes_out_where_the_task_ran_and_the_others_are_run) {
  run([] {
    const log_sink before = set_log_sink([](log_level, std::string_view) {});
    task_pool pool;
    sum_here = 0;
    for (int i = 0; i < 50; ++i) {
      pool.add([] { ++sum_here; });
      pool.add([] { throw std::runtime_error{"a bad task"}; });
    }
    std::uint64_t thrown = 0;
    try {
      pool.run();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "a bad task");
      thrown = 1;
    }
    EXPECT_EQ(total(sum_here), 50 * std::uint64_t{place_count()});
    EXPECT_GE(total(thrown), 1U);
    pool.run();
    set_log_sink(before);
  });
}

TEST_P(task_pool_on, a_team_has_one_of_its_own) {
  run([] {
    const team half = world().split(here().index() % 2);
    task_pool pool{half};
    nodes_here = sum_here = 0;
    std::uint64_t nodes = 0, sum = 0;
    const node root{half.member(0).index() + 17U, 0};
    walk(root, nodes, sum);
    if (half.index() == 0) pool.add(visit, root);
    pool.run();
    EXPECT_EQ(all_reduce(nodes_here, std::plus<>{}, half), nodes);
    EXPECT_EQ(all_reduce(sum_here, std::plus<>{}, half), sum);
  });
}

// Tasks that go on for ever; where `kills`, until one of place 1 ends it.
struct chain {
  bool kills;
  void operator()(task_pool& of, std::uint32_t n) const {
    if (kills && here().index() == 1 && n > 100) kill(getpid(), SIGKILL);
    of.add(*this, n + 1);
    if (n % 8 == 0) of.add(*this, n + 1);
    of.add([] {});
  }
};

TEST_P(task_pool_on, a_lost_member_is_told_to_all_who_run) {
  if (GetParam().places == 1) return;
  const bool dies_within = GetParam().mode == launch_mode::processes;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [dies_within] {
    bool is_told_by_scope = false;
    try {
      finish([dies_within] {
        task_pool pool;
        barrier();
        if (here().index() == 1 && !dies_within) throw std::runtime_error{"died as it should"};
        if (here().index() == 0) pool.add(chain{dies_within}, 0U);
        EXPECT_THROW(pool.run(), place_lost_error);
        EXPECT_THROW(pool.run(), place_lost_error);  // and told again
      });
    } catch (const place_lost_error&) {
      is_told_by_scope = true;
    }
    EXPECT_TRUE(is_told_by_scope);  // by the pool's end
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

void poll() {
  try {
    progress();
  } catch (const place_lost_error&) {  // told once
  }
}

// Where all have come. Between hosts a place that leaves after a loss ends the waits of others for calls that are under
// way, and one that is lost those in a barrier that it has left: there a place leaves only when all have come. Such
// places are threads of the test, which see one counter.
class meeting {
 public:
  template <class Progress>
  void wait_for(std::uint32_t all, Progress make_progress) {
    if (test::where_places_are() == test::whereabouts::one_host) return;
    for (++arrived_; arrived_ < all;) make_progress();
  }

 private:
  std::atomic<std::uint32_t> arrived_ = 0;
};

// Runs the body of a place that lives. A scope that is told of a loss before its last task has ended throws it at its
// end, if all that the body wanted is done, too.
template <class Body>
void survive(Body body) {
  bool is_done = false;
  try {
    finish([&] {
      body();
      is_done = true;
    });
  } catch (const place_lost_error&) {}
  EXPECT_TRUE(is_done);
}

// The others wait for its member's part of the result.
TEST_P(task_pool_on, a_task_may_lose_a_place_that_is_no_member) {
  if (GetParam().places < 3) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  meeting before_loss, at_end;
  const launch_result result = test::launch_on(GetParam(), [&] {
    survive([&] {
      const team rest = world().split(here().index() == 1);
      task_pool pool{rest};
      try {
        barrier();
        before_loss.wait_for(place_count(), progress);
        if (here().index() == 1) throw std::runtime_error{"died as it should"};
        for (;;) progress();
      } catch (const place_lost_error&) {  // told before the run
      }
      bool is_told = false;
      if (rest.index() == 0) pool.add([] { at(place{1}, [] {}); });
      pool.add([] { return 1; });
      try {
        EXPECT_EQ(pool.run(0, std::plus<>{}), static_cast<int>(rest.size()));
      } catch (const place_lost_error&) {
        is_told = true;
      }
      EXPECT_EQ(all_reduce(is_told ? 1 : 0, std::plus<>{}, rest), 1);
      at_end.wait_for(rest.size(), poll);
    });
  });
  set_log_sink(before);
  for (std::uint32_t p = 0; p < result.places.size(); ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

TEST_P(task_pool_on, survivors_go_on_with_one_of_their_own) {
  if (GetParam().places < 3) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  meeting before_loss, at_end;
  const launch_result result = test::launch_on(GetParam(), [&] {
    survive([&] {
      const ptr<std::uint64_t> mine = allocate<std::uint64_t>(2);
      mine.local()[0] = mine.local()[1] = 0;
      const std::vector<ptr<std::uint64_t>> counts = all_gather(mine);
      const team rest = world().split(here().index() == 1);
      task_pool pool{rest};
      barrier();
      before_loss.wait_for(place_count(), poll);
      if (here().index() == 1) throw std::runtime_error{"died as it should"};
      // The loss is told to each of them once, here or in a run; who comes back finds the pool as it was.
      nodes_here = sum_here = 0;
      if (here().index() == 0) pool.add(visit, node{5, 0});
      for (bool is_done = false; !is_done;) {
        try {
          pool.run();
          is_done = true;
        } catch (const place_lost_error&) {}
      }
      const ptr<std::uint64_t> sums = counts[rest.member(0).index()];
      atomic_fetch_add(sums, nodes_here);
      atomic_fetch_add(sums + 1, 1);
      std::uint64_t nodes = 0, sum = 0;
      walk({5, 0}, nodes, sum);
      while (atomic_load(sums + 1) != rest.size()) poll();
      EXPECT_EQ(atomic_load(sums), nodes);
      at_end.wait_for(rest.size(), poll);
    });
  });
  set_log_sink(before);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

INSTANTIATE_TEST_SUITE_P(layouts, task_pool_on, testing::ValuesIn(test::layouts({1, 2, 3, 5})), test::layout_name);

}  // namespace
}  // namespace situ
