// Units at home: which node a unit belongs to, how threads are dealt to nodes, and who takes what. On a machine that is
// made up: its nodes share the processors of this one, and a table says where pages are.
#include "task/homes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "os/pages.h"
#include "pages/page_source.h"
#include "pages/placer.h"
#include "task/graph_core.h"

namespace situ::detail {
namespace {

using testing::ElementsAre;
constexpr std::size_t chunk = huge_page_bytes;

machine::processor_set processors(std::string_view text) { return machine::processor_set::parse(text); }

// Nodes 0 and 3. Whole chunks of one range lie on one of them, or nobody knows.
class two_nodes : public testing::Test {
 protected:
  [[nodiscard]] task_nodes machine(std::uint32_t first = 0) {
    const auto all = machine::processor_set::of_this_thread();
    return {.nodes = {{0, all}, {3, all}}, .first = first, .node_of = [this](const void* at) {
              ++asked_;
              const auto found = nodes_.find((static_cast<const std::byte*>(at) - memory_.data()) / chunk);
              return found == nodes_.end() ? std::nullopt : std::optional<std::uint32_t>{found->second};
            }};
  }
  // The first bytes of a chunk.
  [[nodiscard]] std::byte* at(std::size_t i) const noexcept { return memory_.data() + i * chunk; }

  pages memory_{8 * chunk};
  std::map<std::size_t, std::uint32_t> nodes_{{0, 0}, {1, 0}, {2, 3}, {3, 3}, {4, 7}};  // 5: not touched
  int asked_ = 0;
};

TEST_F(two_nodes, a_unit_is_at_home_where_its_largest_region_is) {
  unit_homes homes{machine()};
  const auto home = [&](std::initializer_list<declared_access> accesses) {
    return homes.find({accesses.begin(), accesses.size()});
  };
  EXPECT_EQ(home({reads(region(at(0), 64))}), 0);
  EXPECT_EQ(home({reads(region(at(2), 64))}), 1) << "node 3 is the second";
  EXPECT_EQ(home({writes(region(at(0), 64)), reads(region(at(2), 65))}), 1);
  EXPECT_EQ(home({writes(region(at(2), 64)), reads(region(at(0), 65))}), 0);
  EXPECT_EQ(home({reads(region(at(1), 2 * chunk))}), 1) << "its middle";
  EXPECT_EQ(home({reads(region(at(4), 64))}), no_home) << "a node without processors";
  EXPECT_EQ(home({reads(region(at(5), 64))}), no_home) << "not touched yet";
  EXPECT_EQ(home({}), no_home);
}

TEST_F(two_nodes, the_kernel_is_asked_once_for_a_chunk_that_is_there) {
  unit_homes homes{machine()};
  const auto find = [&](std::byte* from) {
    const declared_access access = reads(region(from, 64));
    return homes.find({&access, 1});
  };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(find(at(2) + 64 * i), 1);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(find(at(5)), no_home);
  nodes_[5] = 3;  // it has been touched
  for (int i = 0; i < 16; ++i) EXPECT_EQ(find(at(5)), no_home) << "what was known";
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(find(at(5)), 1);
  EXPECT_EQ(find(at(5)), 1);
  EXPECT_EQ(asked_, 3);
  nodes_[2] = 0;  // it has moved
  EXPECT_EQ(find(at(2)), 1);
  homes.forget();
  EXPECT_EQ(find(at(2)), 0);
}

TEST(threads, are_dealt_to_nodes_as_those_have_processors) {
  const auto deal = [](std::uint32_t first, std::vector<std::string> sets, std::uint32_t threads) {
    task_nodes on{.nodes = {}, .first = first, .node_of = nullptr};
    for (const std::string& each : sets) on.nodes.push_back({0, processors(each)});
    return deal_threads(on, threads);
  };
  EXPECT_THAT(deal(0, {"0-1", "2-3"}, 4), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(deal(1, {"0-1", "2-3"}, 4), ElementsAre(1, 0, 1, 0)) << "the adding thread stays where it is";
  EXPECT_THAT(deal(0, {"0", "1-3"}, 4), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(deal(0, {"0-5", "6-7"}, 4), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(deal(1, {"0-7", "8"}, 2), ElementsAre(1, 0));
  EXPECT_THAT(deal(0, {"0", "1"}, 1), ElementsAre(0));
  EXPECT_THAT(deal(0, {"0-3"}, 3), ElementsAre(0, 0, 0));
}

TEST(threads, leave_out_nodes_that_have_none) {
  task_nodes on{
      .nodes = {{4, processors("0")}, {5, processors("1-7")}, {6, processors("8-14")}}, .first = 1, .node_of = nullptr};
  EXPECT_THAT(threads_of_nodes(on, 2), ElementsAre(0, 1));
  ASSERT_EQ(on.nodes.size(), 2U);
  EXPECT_EQ(on.nodes[0].number, 5U);
  EXPECT_EQ(on.nodes[1].number, 6U);
  EXPECT_EQ(on.nodes[1].processors, processors("8-14"));
  EXPECT_EQ(on.first, 0U);
}

void add(graph_core& graph, std::vector<declared_access> accesses, std::function<void()> body) {
  add_unit(graph, accesses, std::move(body), nullptr);
}

// The worker of a graph of two threads, from the beginning until it is let go.
class busy_worker {
 public:
  busy_worker(graph_core& graph, std::byte* at_its_node) {
    add(graph, {writes(region(at_its_node, 8))}, [this] {
      is_busy_.store(true);
      while (!may_end_.load()) std::this_thread::yield();
    });
    while (!is_busy_.load()) std::this_thread::yield();  // by the worker: this thread does not run units yet
  }
  void let_go() noexcept { may_end_.store(true); }

 private:
  std::atomic<bool> is_busy_{false}, may_end_{false};
};

// The adding thread, at node 0 or 3, and alone: it runs what is at its own first, and then the rest.
TEST_F(two_nodes, a_thread_takes_what_is_at_its_node_first) {
  for (const std::uint32_t node : {0, 1}) {
    graph_core graph{{.threads = 2}, nullptr, machine(node)};
    busy_worker worker{graph, at(node == 0 ? 3 : 1)};
    std::vector<int> order;
    for (int i = 0; i < 6; ++i)
      add(graph, {writes(region(at(i % 2 == 0 ? 0 : 2) + 64 * i, 64))}, [&, i] {
        order.push_back(i);
        if (order.size() == 6) worker.let_go();
      });
    graph.wait();
    if (node == 0)
      EXPECT_THAT(order, ElementsAre(0, 2, 4, 1, 3, 5));
    else
      EXPECT_THAT(order, ElementsAre(1, 3, 5, 0, 2, 4));
    EXPECT_EQ(graph.statistics().far, 3U);
    EXPECT_EQ(graph.statistics().units, 7U);
  }
}

// Those that a unit makes ready wait at their own homes, not with the thread that has run it.
TEST_F(two_nodes, what_a_unit_makes_ready_waits_at_its_home) {
  graph_core graph{{.threads = 2}, nullptr, machine()};
  busy_worker worker{graph, at(3)};
  std::vector<int> order;
  const auto note = [&](int i) {
    order.push_back(i);
    if (order.size() == 4) worker.let_go();
  };
  add(graph, {writes(region(at(0), 64))}, [&] { note(0); });
  add(graph, {reads(region(at(0), 1)), writes(region(at(2), 64))}, [&] { note(1); });
  add(graph, {reads(region(at(0), 1)), writes(region(at(2) + 64, 64))}, [&] { note(2); });
  add(graph, {reads(region(at(0), 1)), writes(region(at(0) + 64, 64))}, [&] { note(3); });
  graph.wait();
  EXPECT_EQ(order.size(), 4U);
  EXPECT_THAT(std::vector<int>(order.begin(), order.begin() + 2), ElementsAre(0, 3));
  EXPECT_EQ(graph.statistics().far, 2U);
}

// Where nobody knows, nothing is far, and order is as on one node.
TEST_F(two_nodes, units_without_a_home_are_anybodys) {
  graph_core graph{{.threads = 1}, nullptr, machine()};
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) add(graph, {writes(region(at(5) + 64 * i, 64))}, [&order, i] { order.push_back(i); });
  graph.wait();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(graph.statistics().far, 0U);
}

TEST_F(two_nodes, units_of_a_node_without_threads_are_anybodys) {
  graph_core graph{{.threads = 1}, nullptr, machine()};
  std::vector<int> order;
  for (int i = 0; i < 4; ++i)
    add(graph, {writes(region(at(i % 2 == 0 ? 2 : 5) + 64 * i, 64))}, [&order, i] { order.push_back(i); });
  graph.wait();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(graph.statistics().far, 0U);
}

// They are a worker's own as much as the adding thread's.
TEST_F(two_nodes, units_without_a_home_come_before_far_ones) {
  graph_core graph{{.threads = 2}, nullptr, machine()};
  busy_worker worker{graph, at(3)};
  std::vector<int> order;  // of the worker
  std::atomic<int> done{0};
  const auto note = [&](int i) {
    return [&, i] {
      order.push_back(i);
      done.fetch_add(1);
    };
  };
  add(graph, {writes(region(at(0), 64))}, note(0));
  add(graph, {writes(region(at(0) + 64, 64))}, note(1));
  add(graph, {writes(region(at(5), 64))}, note(2));
  add(graph, {writes(region(at(4), 64))}, note(3));
  worker.let_go();
  while (done.load() != 4) std::this_thread::yield();  // this thread does not run units
  EXPECT_THAT(order, ElementsAre(2, 3, 0, 1));
  graph.wait();
  EXPECT_EQ(graph.statistics().far, 2U);
}

// A burst finds all asleep, and rings at its own node: whoever wakes there, wakes others for the rest. Each unit needs
// the other to run, and this thread runs none.
TEST_F(two_nodes, a_burst_wakes_threads_of_other_nodes) {
  graph_core graph{{.threads = 3}, nullptr, machine()};  // one worker at each node
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});  // long enough for workers to sleep
    std::atomic<int> running{0}, met{0};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    for (int i = 0; i < 2; ++i)
      add(graph, {writes(region(at(0) + 64 * i, 64))}, [&] {
        running.fetch_add(1);
        while (running.load() < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        if (running.load() == 2) met.fetch_add(1);
      });
    while (running.load() < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    graph.wait();
    ASSERT_EQ(met.load(), 2) << "round " << round;
  }
}

// All threads at one node have to take what is at the other; windows that fill up, chains that cross.
TEST_F(two_nodes, everything_runs_in_order_whoever_is_where) {
  for (const std::uint32_t threads : {1U, 2U, 3U, 5U}) {
    task_nodes on = machine(1);
    graph_core graph{{.threads = threads, .window = 64}, nullptr, on};
    std::vector<std::uint64_t> sums(4, 0), expected(4, 0);
    for (std::uint64_t i = 0; i < 4000; ++i) {
      const std::size_t from = i % 4, to = (i * 7 + i / 5) % 4;
      expected[to] = 3 * expected[to] + expected[from] + i;
      add(graph, {reads(region(at(from), 8)), updates(region(at(to), 8 + i % 3))},
          [&sums, from, to, i] { sums[to] = 3 * sums[to] + sums[from] + i; });
      if (i % 1000 == 999) graph.wait();
    }
    graph.wait();
    EXPECT_EQ(sums, expected) << threads << " threads";
  }
}

TEST_F(two_nodes, workers_are_bound_to_the_processors_of_their_node) {
  const auto mine = machine::processor_set::of_this_thread();
  if (mine.size() < 2) GTEST_SKIP() << "one processor";
  const std::vector<std::uint32_t> all = mine.members();
  task_nodes on = machine();
  on.nodes[0].processors = processors(std::to_string(all[0]));
  on.nodes[1].processors = processors(std::to_string(all[1]));
  graph_core graph{{.threads = 2}, nullptr, on};
  std::atomic<bool> has_run{false};
  std::string other;
  add(graph, {writes(region(at(2), 64))}, [&] {
    other = machine::processor_set::of_this_thread().to_string();
    has_run.store(true);
  });
  while (!has_run.load()) {}  // by the worker: this thread does not run units yet
  graph.wait();
  EXPECT_EQ(other, std::to_string(all[1]));
  EXPECT_EQ(machine::processor_set::of_this_thread(), mine) << "the program's own thread stays as it is";
}

TEST(nodes, of_this_machine_have_processors_of_this_thread) {
  const task_nodes found = nodes_of_thread();
  const auto mine = machine::processor_set::of_this_thread();
  for (const task_nodes::node& each : found.nodes) {
    EXPECT_FALSE(each.processors.empty());
    EXPECT_TRUE(mine.includes(each.processors));
  }
  EXPECT_TRUE(found.nodes.empty() || found.first < found.nodes.size());
}

// Pages on each node of this machine that has memory.
std::vector<sourced_pages> chunks_of(const task_nodes& all) {
  std::vector<sourced_pages> memory;
  for (const task_nodes::node& each : all.nodes) {
    const auto use = use_of_node(each.number);
    if (use && use->total_bytes != 0)
      memory.push_back(page_source{memory_kind::of_node(each.number)}.map(chunk, "units"));
  }
  return memory;
}

// As much work at each node, in turns: it is done once and in order, by whom is told (it is a matter of time).
TEST(nodes, of_this_machine_have_their_units) {
  const std::vector<sourced_pages> memory = chunks_of(nodes_of_thread());
  if (memory.size() < 2) GTEST_SKIP() << "one NUMA node with processors and memory";
  graph_core graph{{}};
  std::vector<std::atomic<std::uint64_t>> done(memory.size());
  constexpr std::uint64_t units = 1000;
  for (std::uint64_t i = 0; i < units; ++i)
    for (std::size_t n = 0; n < memory.size(); ++n) {
      std::byte* const at = memory[n].data() + i % 64 * 4096;
      add(graph, {updates(region(at, 4096))}, [at, &done, n] {
        for (std::size_t k = 0; k < 4096; ++k) at[k] = std::byte(std::to_integer<unsigned>(at[k]) + 1);
        done[n].fetch_add(1);
      });
    }
  graph.wait();
  for (const auto& each : done) EXPECT_EQ(each.load(), units);
  for (const sourced_pages& each : memory) {  // 1000 updates of 64 pages in turn
    EXPECT_EQ(each.data()[39 * 4096], std::byte{16});
    EXPECT_EQ(each.data()[40 * 4096], std::byte{15});
  }
  EXPECT_EQ(graph.statistics().units, units * memory.size());
  std::printf("%llu units of %llu were far\n", static_cast<unsigned long long>(graph.statistics().far),
              static_cast<unsigned long long>(graph.statistics().units));
}

}  // namespace
}  // namespace situ::detail
