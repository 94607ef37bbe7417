// task_graph: what runs when, failures, misuse, bodies of all sizes, sleep and wake-up.
#include <situ/task/task_graph.h>

#include <situ/base/error.h>

#include "support/forked.h"
#include "support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace situ {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class task_graph_on : public testing::TestWithParam<std::uint32_t> {
 protected:
  task_graph graph_{{.threads = GetParam(), .window = 16}};
};
INSTANTIATE_TEST_SUITE_P(threads, task_graph_on, testing::Values(1, 2, 4), testing::PrintToStringParamName());

TEST_P(task_graph_on, a_unit_sees_what_those_before_it_wrote) {
  std::array<std::uint64_t, 3> v{};
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    graph_.add({writes(v[0])}, [&v, i] { v[0] = i; });
    graph_.add({reads(v[0]), updates(v[1])}, [&v] { v[1] += v[0]; });
    graph_.add({reads(v[0]), updates(v[2])}, [&v] { v[2] = 3 * v[2] + v[0]; });
  }
  graph_.wait();
  std::uint64_t last = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) last = 3 * last + i;
  EXPECT_EQ(v[1], 500'500);
  EXPECT_EQ(v[2], last);
  EXPECT_EQ(graph_.statistics().units, 3000);
}

TEST_P(task_graph_on, more_units_than_the_window_that_all_wait_for_the_first) {
  long first = 0;
  std::vector<long> all(5000);
  graph_.add({writes(first)}, [&] {
    std::this_thread::sleep_for(20ms);
    first = 7;
  });
  for (long& each : all) graph_.add({reads(first), writes(each)}, [&each, &first] { each = first; });
  graph_.wait();
  EXPECT_THAT(all, testing::Each(7));
}

TEST_P(task_graph_on, a_tile_and_a_row_that_crosses_it) {
  std::vector<int> matrix(100 * 100);
  const int* const corner = &matrix[20 * 100 + 30];
  graph_.add({writes(tile(corner, 10, 10, 100))}, [&] {
    std::this_thread::sleep_for(5ms);
    for (int i = 0; i < 10; ++i)
      for (int j = 0; j < 10; ++j) matrix[(20 + i) * 100 + 30 + j] = 1;
  });
  graph_.add({updates(region(&matrix[2500], 100))}, [&] {
    for (int j = 0; j < 100; ++j) matrix[2500 + j] += 1;
  });
  graph_.wait();
  EXPECT_EQ(matrix[2529], 1);
  EXPECT_EQ(matrix[2530], 2);
  EXPECT_EQ(matrix[2539], 2);
  EXPECT_EQ(matrix[2540], 1);
  EXPECT_EQ(graph_.statistics().edges, 1);
}

TEST_P(task_graph_on, rows_beside_each_other_are_no_conflict) {
  std::vector<int> matrix(64 * 64);
  std::atomic<int> begun{0};
  graph_.add({writes(tile(matrix.data(), 64, 32, 64))}, [&] { ++begun; });
  graph_.add({writes(tile(matrix.data() + 32, 64, 32, 64))}, [&] { ++begun; });
  graph_.wait();
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(graph_.statistics().edges, 0);
}

TEST_P(task_graph_on, wait_for_waits_for_what_it_names_alone) {
  if (GetParam() == 1) GTEST_SKIP() << "one thread runs all that is ready while it waits";
  std::atomic<bool> go_on{false};
  int slow = 0, fast = 0;
  graph_.add({writes(slow)}, [&] {
    while (!go_on) std::this_thread::yield();
    slow = 1;
  });
  while (graph_.statistics().taken == 0) std::this_thread::yield();  // another thread has it
  graph_.add({writes(fast)}, [&] { fast = 2; });
  graph_.wait_for({reads(fast)});
  EXPECT_EQ(fast, 2);
  go_on = true;
  graph_.wait_for({reads(slow)});
  EXPECT_EQ(slow, 1);
}

TEST_P(task_graph_on, who_comes_after_a_unit_that_throws_never_runs) {
  std::array<int, 4> v{};
  graph_.add({writes(v[0])}, [] { throw std::runtime_error{"the first"}; });
  graph_.add({reads(v[0]), writes(v[1])}, [&] { v[1] = 1; });
  graph_.add({reads(v[1]), writes(v[2])}, [&] { v[2] = 1; });
  graph_.add({writes(v[3])}, [&] { v[3] = 1; });
  EXPECT_THAT([&] { graph_.wait(); }, testing::ThrowsMessage<std::runtime_error>("the first"));
  EXPECT_THAT(v, testing::ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(graph_.statistics().never_run, 2);
  // As new.
  graph_.add({updates(v[0])}, [&] { v[0] = 5; });
  graph_.wait();
  EXPECT_EQ(v[0], 5);
}

TEST_P(task_graph_on, long_after_a_failure_it_is_known_still) {
  std::array<long, 3> v{};
  graph_.add({writes(v[0])}, [] { throw std::runtime_error{"long ago"}; });
  for (int i = 0; i < 10'000; ++i) graph_.add({updates(v[1])}, [&] { ++v[1]; });
  for (int i = 0; i < 1000; ++i) graph_.add({reads(v[0]), updates(v[2])}, [&] { ++v[2]; });
  EXPECT_THAT([&] { graph_.wait_for({reads(v[2])}); }, testing::ThrowsMessage<std::runtime_error>("long ago"));
  graph_.wait_for({reads(v[1])});
  EXPECT_THAT([&] { graph_.wait(); }, testing::ThrowsMessage<std::runtime_error>("long ago"));
  EXPECT_THAT(v, testing::ElementsAre(0, 10'000, 0));
}

TEST_P(task_graph_on, of_several_failures_the_first_added_is_thrown) {
  for (int round = 0; round < 50; ++round) {
    std::array<int, 8> v{};
    for (int i = 0; i < 8; ++i) graph_.add({writes(v[i])}, [i] { throw std::runtime_error{std::to_string(i)}; });
    EXPECT_THAT([&] { graph_.wait(); }, testing::ThrowsMessage<std::runtime_error>("0"));
  }
}

TEST_P(task_graph_on, bodies_are_destroyed_once_whether_they_ran_or_not) {
  const auto counted = std::make_shared<int>(0);
  int x = 0;
  std::array<char, 200> large{};
  graph_.add({updates(x)}, [counted] { throw 1; });
  for (int i = 0; i < 100; ++i) {
    graph_.add({updates(x)}, [counted] { FAIL(); });
    graph_.add({}, [counted, large] { EXPECT_EQ(large[0], 0); });
  }
  EXPECT_THROW(graph_.wait(), int);
  EXPECT_EQ(counted.use_count(), 1);
}

TEST_P(task_graph_on, a_body_that_cannot_be_copied_leaves_nothing) {
  struct bad {
    bad() = default;
    bad(const bad&) { throw std::runtime_error{"no copy"}; }
    void operator()() const {}
  };
  int x = 0;
  const bad body;
  for (int i = 0; i < 40; ++i) EXPECT_THROW(graph_.add({writes(x)}, body), std::runtime_error);
  graph_.wait();
  EXPECT_EQ(graph_.statistics().units, 0);
}

TEST_P(task_graph_on, only_its_own_thread_adds_and_no_unit) {
  int x = 0;
  const auto refused = testing::ThrowsMessage<error>(HasSubstr("make a graph of the unit's own"));
  for (int i = 0; i < 20; ++i)
    graph_.add({}, [&] {
      EXPECT_THAT([&] { graph_.add({writes(x)}, [] {}); }, refused);
      EXPECT_THAT([&] { graph_.wait(); }, refused);
    });
  std::thread{[&] { EXPECT_THAT([&] { graph_.wait_for({reads(x)}); }, refused); }}.join();
  graph_.wait();
  EXPECT_EQ(graph_.statistics().units, 20);
}

TEST_P(task_graph_on, a_unit_may_have_a_graph_of_its_own) {
  std::array<long, 10> sums{};
  for (long& sum : sums)
    graph_.add({writes(sum)}, [&sum] {
      task_graph inner{{.threads = 1}};
      std::vector<long> parts(100);
      for (std::size_t i = 0; i < parts.size(); ++i)
        inner.add({writes(parts[i])}, [&parts, i] { parts[i] = static_cast<long>(i); });
      inner.wait();
      sum = std::accumulate(parts.begin(), parts.end(), 0L);
    });
  graph_.wait();
  EXPECT_THAT(sums, testing::Each(4950));
}

TEST_P(task_graph_on, whoever_sleeps_is_woken) {
  std::mt19937_64 random{test::test_seed()};
  long x = 0;
  for (int i = 0; i < 300; ++i) {
    graph_.add({updates(x)}, [&, pause = random() % 300] {
      std::this_thread::sleep_for(std::chrono::microseconds{pause});
      ++x;
    });
    if (random() % 8 == 0) graph_.wait();
    if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds{random() % 300});
  }
  graph_.wait();
  EXPECT_EQ(x, 300);
}

TEST_P(task_graph_on, a_reduction_has_the_same_bits_whoever_ran_when) {
  std::mt19937_64 random{7};
  std::vector<double> x(1000);
  for (double& each : x) each = std::ldexp(1.0, static_cast<int>(random() % 60)) / 3;
  double expected = 5;
  for (std::size_t block = 0; block < 100; ++block) {
    double part = 0;
    for (std::size_t i = 0; i < 10; ++i) part += x[10 * block + i];
    expected += part;
  }
  double sum = 0;
  graph_.add({writes(sum)}, [&] { sum = 5; });
  for (std::size_t block = 0; block < 100; ++block) {
    const std::span<const double> mine{&x[10 * block], 10};
    graph_.reduce(sum, {reads(mine)}, [mine](double& part) {
      for (const double each : mine) part += each;
    });
  }
  double copy = 0;
  graph_.add({reads(sum), writes(copy)}, [&] { copy = sum; });
  graph_.wait();
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(copy, expected);
}

struct larger_of {
  long operator()(long a, long b) const { return std::max(a, b); }
};

TEST_P(task_graph_on, reductions_by_two_operations_come_one_after_the_other) {
  long x = 0;
  for (long i = 1; i <= 200; ++i) graph_.reduce(x, {}, [i](long& part) { part = i; });
  for (long i = 1; i <= 200; ++i) graph_.reduce(x, {}, [i](long& part) { part = 100 * i; }, 0L, larger_of{});
  graph_.reduce(x, {}, [](long& part) { part = 1; });
  graph_.wait();
  EXPECT_EQ(x, 20'101);  // 20,100 of the sum; 20,000 is not larger
  EXPECT_THAT([&] { graph_.reduce(x, {reads(x)}, [](long&) {}); },
              testing::ThrowsMessage<error>(HasSubstr("it has a part of its own")));
}

TEST_P(task_graph_on, a_unit_of_a_reduction_that_throws_ends_what_combines) {
  long x = 1, after = 1;
  for (int i = 0; i < 100; ++i)
    graph_.reduce(x, {}, [i](long& part) {
      if (i == 70) throw std::runtime_error{"no part"};
      part = 1;
    });
  graph_.add({reads(x), writes(after)}, [&] { after = 2; });
  EXPECT_THAT([&] { graph_.wait(); }, testing::ThrowsMessage<std::runtime_error>("no part"));
  EXPECT_EQ(x, 65);  // the first 64
  EXPECT_EQ(after, 1);
}

// Two bodies that wait for each other: both run at once, on two threads; false where they cannot.
bool meet(std::atomic<int>& come) {
  const auto end = std::chrono::steady_clock::now() + 5s;
  for (++come; come < 2;) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(granularity, parts_of_a_reduction_do_not_wait_for_each_other) {
  task_graph graph{{.threads = 2, .granularity_bytes = 4096}};
  std::atomic<int> come{0}, met{0};
  long sum = 0;
  for (int i = 0; i < 2; ++i)
    graph.reduce(sum, {}, [&](long& part) {
      met += meet(come) ? 1 : 0;
      part += 1;
    });
  graph.wait();
  EXPECT_EQ(met, 2);
  EXPECT_EQ(sum, 2);
}

TEST(task_graph, threads_have_the_processors_and_the_policy_of_their_maker) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor";
  { const task_graph before{{.threads = 2}}; }  // its thread waits for the next graph
  std::thread maker{[&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &all)) --last;
    CPU_SET(last, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    const unsigned long nodes = 1;
    const bool has_policies = ::syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 2UL) == 0;
    task_graph graph{{.threads = 2}};
    std::atomic<int> come{0}, right{0};
    for (int i = 0; i < 2; ++i)
      graph.add({}, [&] {
        if (!meet(come)) return;
        cpu_set_t mine;
        int policy = -1;
        ::sched_getaffinity(0, sizeof mine, &mine);
        if (has_policies) ::syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, nullptr, 0UL);
        if (CPU_EQUAL(&mine, &one) && (!has_policies || policy == MPOL_BIND)) ++right;
      });
    graph.wait();
    EXPECT_EQ(right, 2);
  }};
  maker.join();
}

// What is one location is what the granularity says: neighbours within it wait for each other, others do not.
TEST(granularity, litmus_neighbours) {
  alignas(4096) std::array<std::uint64_t, 1024> x{};
  const auto edges_of = [&](std::uint64_t bytes, std::size_t apart, access_mode second) {
    task_graph graph{{.threads = 2, .granularity_bytes = bytes}};
    std::atomic<bool> go_on{false};
    graph.add({writes(x[0])}, [&] {
      while (!go_on) std::this_thread::yield();
      x[0] = 1;
    });
    graph.add({declared_access{region(&x[apart], 1), second}}, [&] { x[apart] += 1; });
    go_on = true;
    graph.wait();
    return graph.statistics().edges;
  };
  EXPECT_EQ(edges_of(1, 1, access_mode::update), 0);
  EXPECT_EQ(edges_of(8, 1, access_mode::update), 0);
  EXPECT_EQ(edges_of(16, 1, access_mode::update), 1);
  EXPECT_EQ(edges_of(64, 7, access_mode::read), 1);
  EXPECT_EQ(edges_of(64, 8, access_mode::read), 0);
  EXPECT_EQ(edges_of(4096, 511, access_mode::write), 1);
  EXPECT_EQ(edges_of(4096, 512, access_mode::write), 0);
}

TEST(granularity, rows_within_it_are_one_location) {
  alignas(4096) std::array<std::uint64_t, 4096> x{};
  task_graph graph{{.threads = 2, .granularity_bytes = 4096}};
  long sum = 0;
  std::atomic<bool> go_on{false};  // edges are to units under way
  graph.add({updates(x)}, [&] {
    while (!go_on) std::this_thread::yield();
  });
  for (int step = 0; step < 100; ++step)
    for (std::size_t t = 0; t < 8; ++t) {
      std::uint64_t* const corner = &x[8 * t];
      graph.add({updates(tile(corner, 64, 8, 64))}, [corner] {
        for (std::size_t r = 0; r < 64; ++r) ++corner[64 * r];
      });
    }
  graph.add({reads(x), writes(sum)}, [&] { sum = static_cast<long>(std::accumulate(x.begin(), x.end(), 0UL)); });
  go_on = true;
  graph.wait();
  EXPECT_EQ(sum, 100 * 8 * 64);
  EXPECT_GE(graph.statistics().edges, 700);  // one after the other
}

// Threads are those of graphs before; a graph that is made while others run has threads of its own.
TEST(shared_workers, graphs_one_after_the_other_have_the_same_threads) {
  const auto threads_of_a_graph = [] {
    task_graph graph{{.threads = 2}};
    std::atomic<int> here{0};
    std::array<std::thread::id, 2> ids;
    for (int i = 0; i < 2; ++i)
      graph.add({}, [&, i] {
        ids[static_cast<std::size_t>(i)] = std::this_thread::get_id();
        ++here;
        while (here < 2) std::this_thread::yield();
      });
    graph.wait();
    return std::ranges::find(ids, std::this_thread::get_id()) == ids.begin() ? ids[1] : ids[0];
  };
  const std::thread::id first = threads_of_a_graph();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(threads_of_a_graph(), first);
}

TEST(shared_workers, a_forked_child_has_threads_of_its_own) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  const auto sum_of_graph = [] {
    task_graph graph{{.threads = 3}};
    std::array<long, 40> x{};
    for (long& each : x) graph.add({writes(each)}, [&each] { each = 1; });
    graph.wait();
    return std::accumulate(x.begin(), x.end(), 0L);
  };
  EXPECT_EQ(sum_of_graph(), 40);
  EXPECT_EQ(test::code_of(
                test::in_forked_child([&] { return sum_of_graph() == 40 && sum_of_graph() == 40; }, {.seconds = 20})),
            0);
  EXPECT_EQ(sum_of_graph(), 40);
}

class checked_graph : public testing::Test {
 protected:
  std::string refusal_of(std::initializer_list<declared_access> accesses, std::function<void()> body) {
    graph_.add(accesses, std::move(body), "smooth");
    try {
      graph_.wait();
      return "";
    } catch (const error& refused) {
      const std::string text{refused.message()};
      const std::size_t first_line = text.find(".\n");
      EXPECT_EQ(text.substr(std::min(first_line, text.size())), sight_of_spans);
      return text.substr(0, first_line);
    }
  }
  // The last line of each message: what the check does not see.
  static constexpr std::string_view sight_of_spans =
      ".\n  declared_span sees each element, on any thread, but accesses through itself alone; SITU_CHECK_UNITS=pages "
      "sees those by any code to a situ::watched_array";
  task_graph graph_{{.threads = 2, .checked = true}};
  std::vector<double> storage_ = std::vector<double>(100);
  declared_span<double> a_{"a", storage_};
  declared_span<const double> read_{"a", storage_};
};

TEST_F(checked_graph, finds_what_was_not_declared) {
  EXPECT_EQ(refusal_of({reads(a_)}, [&] { a_[35] = 1; }),
            "unit 1 (smooth) writes a[35], which it has not declared: add writes() or updates() of it");
  EXPECT_EQ(refusal_of({updates(region(&storage_[0], 10))}, [&] { a_[9] = read_[10]; }),
            "unit 2 (smooth) reads a[10], which it has not declared: add reads() of it");
  EXPECT_EQ(refusal_of({updates(tile(&storage_[5], 3, 4, 10))}, [&] { a_[19] = 1; }),
            "unit 3 (smooth) writes a[19], which it has not declared: add writes() or updates() of it");
  EXPECT_EQ(storage_[19], 0);
}

// A read by [] is no write, so units that declare what they do run: ../shared/repro 7.
TEST_F(checked_graph, tells_reads_from_writes) {
  std::vector<int> from(10, 1), to(10);
  int plain = 0;
  const declared_span<int> b{"b", from}, c{"c", to};
  EXPECT_EQ(refusal_of({reads(from), writes(to), writes(plain)},
                       [&] {
                         c[0] = b[3];
                         c[1] = b[2] + 2 * b[1];
                         c[2] += b[0];
                         c[3]++;
                         if (b[4] == 1 && b[4] < 2) plain = b[5];
                       }),
            "");
  EXPECT_EQ(to, (std::vector<int>{1, 3, 1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(plain, 1);
  EXPECT_EQ(refusal_of({reads(from)}, [&] { b[3] = 2; }),
            "unit 2 (smooth) writes b[3], which it has not declared: add writes() or updates() of it");
  EXPECT_EQ(refusal_of({reads(from)}, [&] { b[3] += 2; }),
            "unit 3 (smooth) writes b[3], which it has not declared: add writes() or updates() of it");
  EXPECT_EQ(refusal_of({reads(from)}, [&] { --b[4]; }),
            "unit 4 (smooth) writes b[4], which it has not declared: add writes() or updates() of it");
  EXPECT_EQ(refusal_of({writes(to)}, [&] { c[3] = b[6]; }),
            "unit 5 (smooth) reads b[6], which it has not declared: add reads() of it");
  EXPECT_EQ(from, std::vector<int>(10, 1));
}

// Members are reached through a reference, which counts as a write; at() reads.
TEST_F(checked_graph, elements_of_classes_are_written_by_index_and_read_by_at) {
  struct body {
    double mass;
  };
  std::vector<body> bodies(4, body{2});
  const declared_span<body> b{"b", bodies};
  EXPECT_EQ(refusal_of({updates(b)}, [&] { b[1].mass = b.at(2).mass + 1; }), "");
  EXPECT_EQ(bodies[1].mass, 3);
  EXPECT_EQ(refusal_of({reads(b)}, [&] { b[1].mass = 1; }),
            "unit 2 (smooth) writes b[1], which it has not declared: add writes() or updates() of it");
}

TEST_F(checked_graph, allows_what_was_declared) {
  EXPECT_EQ(refusal_of({reads(region(&storage_[0], 10)), writes(region(&storage_[10], 10)),
                        updates(tile(&storage_[25], 3, 4, 10))},
                       [&] {
                         a_[10] = read_[0] + a_.at(9);
                         a_[19] = a_.at(10);
                         a_[48] = a_[28] + a_[35];
                       }),
            "");
  a_[99] = 1;                      // no unit
  graph_.add({updates(a_)}, [&] {  // a graph within, of what the unit may access
    task_graph inner{{.threads = 1, .checked = true}};
    inner.add({updates(region(&storage_[0], 1))}, [&] { a_[0] = 2; });
    inner.wait();
    a_[50] = 3;
  });
  graph_.wait();
  EXPECT_EQ(a_[50], 3);
}

TEST(task_graph, says_what_it_cannot_do) {
  EXPECT_THAT([] { task_graph graph{{.window = 100}}; },
              testing::ThrowsMessage<error>(HasSubstr("give a power of two")));
  EXPECT_THAT([] { task_graph graph{{.granularity_bytes = 48}}; },
              testing::ThrowsMessage<error>(HasSubstr("a granularity of 48 bytes: give a power of two")));
  task_graph graph{{.threads = 1}};
  int x[10]{};
  EXPECT_THAT([&] { graph.add({writes(tile(x, 3, 4, 2))}, [] {}); },
              testing::ThrowsMessage<error>(HasSubstr("rows of 16 bytes that begin 8 bytes after each other")));
  graph.wait();
}

TEST(task_graph, threads_of_a_graph_run_at_the_same_time) {
  task_graph graph{{.threads = 3}};
  std::atomic<int> here{0};
  for (int i = 0; i < 3; ++i)
    graph.add({}, [&] {
      ++here;
      while (here < 3) std::this_thread::yield();
    });
  graph.wait();
  EXPECT_EQ(here, 3);
}

}  // namespace
}  // namespace situ
