// What a job over several hosts refuses, in a sentence that says what to do instead; what goes over hosts by other ways
// than on one: tasks of a pool, rows of a place tree, object graphs. For bodies.cpp alone.
#include <situ/fabric/detail/far.h>
#include <situ/graph.h>
#include <situ/situ.h>

#include <situ/spread/distributed_map.h>
#include <situ/spread/task_pool.h>
#include <situ/task/place_graph.h>
#include <situ/trees/cache_tile.h>
#include <situ/trees/child_copies.h>
#include <situ/trees/place_tree.h>
#include <situ/trees/placed_array.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "memory/job.h"
#include "support/places.h"

namespace situ {
namespace {

using test::error_of;

class over_hosts : public test::on_places {
 protected:
  [[nodiscard]] static bool is_near(std::uint32_t place) { return detail::current->job->is_here(place); }
  [[nodiscard]] static place one_of_another_host() {
    for (const place p : places())
      if (!is_near(p.index())) return p;
    throw std::logic_error{"the job has one host"};
  }
  [[nodiscard]] static team mates() {
    std::vector<std::uint32_t> near;
    for (const place p : places())
      if (is_near(p.index())) near.push_back(p.index());
    return world().subset(near);
  }
};

TEST_P(over_hosts, survivors_are_all_places_where_nobody_is_lost) {
  run([] {
    for (int i = 0; i < 3; ++i) {
      const team rest = survivors();
      EXPECT_EQ(rest.size(), place_count());
      EXPECT_EQ(rest.index(), here().index());
      EXPECT_EQ(all_reduce(1U, std::plus<>{}, rest), place_count());
      barrier(rest);
    }
  });
}

TEST_P(over_hosts, the_members_of_one_host_have_what_they_have_alone) {
  run([] {
    const team host = mates();
    distributed_map<std::uint32_t, std::uint32_t> map{{}, host};
    map.insert(here().index(), 10 * here().index());
    map.drain();
    for (std::uint32_t i = 0; i < host.size(); ++i) {
      const std::uint32_t mate = host.member(i).index();
      EXPECT_EQ(map.find(mate), std::optional{10 * mate});
    }
    task_pool pool{host};
    for (int i = 0; i < 100; ++i) pool.add([] { return 1; });
    EXPECT_EQ(pool.run(0, [](int a, int b) { return a + b; }), 100 * static_cast<int>(host.size()));
  });
}

// Place 0 adds tasks that take longer than a gift to another host does.
TEST_P(over_hosts, tasks_of_one_place_are_run_by_all_hosts) {
  run([] {
    task_pool pool;
    if (here().index() == 0)
      for (int i = 0; i < 400; ++i)
        pool.add([] {
          const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds{500};
          while (std::chrono::steady_clock::now() < end) {}
          return std::vector<std::uint32_t>{here().index()};
        });
    const std::vector<std::uint32_t> ran = pool.run(std::vector<std::uint32_t>{}, [](auto a, const auto& b) {
      a.insert(a.end(), b.begin(), b.end());
      return a;
    });
    EXPECT_EQ(ran.size(), 400U);
    std::set<std::uint16_t> hosts, all;
    const auto host_of = [](std::uint32_t place) { return detail::current->far->homes()[place].host; };
    for (const std::uint32_t place : ran) hosts.insert(host_of(place));
    for (const place p : places()) all.insert(host_of(p.index()));
    EXPECT_EQ(hosts, all);
  });
}

// Every kind of move between a parent and its children, and between children; what they count is read by the parent.
TEST_P(over_hosts, a_place_tree_moves_rows_between_hosts) {
  run([] {
    if (here().index() == 0) {
      place_tree tree = place_tree::of_places();
      ASSERT_EQ(tree.children().size(), place_count());
      const std::size_t n = 40 * place_count();
      const ptr<long> parent = allocate<long>(3 * 4);
      for (int i = 0; i < 12; ++i) parent.local()[i] = i + 1;
      child_copies<long> tile{tree, 2, 3};
      tile.move_down(parent + 5, 2, 3, 4);  // 6 7 8 / 10 11 12
      const placed_rows rows = tree.distribute(n);
      placed_array<long> sums{rows, 2, 1};
      const auto add = [](const tree_part& part, rows_view<long> to, tile_view<const long> from) {
        cache_tile<long> near{part, 6};
        near.load(from.row(0), 2, 3, from.columns);
        for (std::ptrdiff_t i = part.begin; i < part.end; ++i) {
          to(i, 0) += near.data()[0] + near.data()[5];
          to(i, 1) = part.child;
        }
        if (part.child == 0) std::this_thread::sleep_for(std::chrono::milliseconds{50});
      };
      tree.for_each(rows, add, updates(sums), reads(tile));
      tree.wait();
      EXPECT_EQ(tree.traffic().cached, place_count() * 6 * sizeof(long));
      for (const double speed : rows.speeds()) EXPECT_GT(speed, 0);
      sums.copy_ghosts();
      placed_rows{rows}.balance();
      EXPECT_LT(rows.counts()[0], 20U) << "child 0 is slow";
      tree.for_each(rows, add, updates(sums), reads(tile));
      const ptr<long> result = allocate<long>(n * 2);
      sums.move_up(result);
      tree.wait();
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(result.local()[2 * i], 2 * (6 + 12)) << i;
        EXPECT_EQ(result.local()[2 * i + 1], rows.child_of(i)) << i;
      }
      EXPECT_EQ(tree.traffic().up, n * 2 * sizeof(long));
      deallocate(result);
      deallocate(parent);
    }
    barrier();
  });
}

TEST_P(over_hosts, units_of_a_place_graph_run_where_all_that_they_declare_lies) {
  run([] {
    const place other = one_of_another_host();
    const ptr<long> there = at(other, [] { return allocate<long>(4); });
    const ptr<long> own = allocate<long>(4);
    put(there, 1L);
    {
      place_graph graph;
      graph.add({updates(region(there, 1))}, [](ptr<long> word) { *word.local() += here().index(); }, there);
      graph.wait();
      EXPECT_EQ(get(there), 1L + other.index());
      const auto e = error_of([&] { graph.add({updates(region(there, 4)), reads(region(own, 1))}, [] {}); });
      EXPECT_EQ(e.code, errc::not_supported);
      EXPECT_TRUE(e.says("which is on another host") && e.says("get() the rest in the unit")) << e.text;
    }
    deallocate(own);
    deallocate(there);
  });
}

struct list {
  list* next;
  long value;
};

TEST_P(over_hosts, graphs_go_by_message_whatever_is_asked_for) {
  run([] {
    const place other = one_of_another_host();
    std::vector<list> nodes(1000);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      nodes[i] = {i + 1 < nodes.size() ? &nodes[i + 1] : nullptr, static_cast<long>(i)};
    const auto sum = [](list* head) {
      long total = 0;
      for (; head != nullptr; head = head->next) total += head->value;
      return total;
    };
    for (const transfer how : {transfer::automatic, transfer::message, transfer::pull, transfer::offload}) {
      std::vector<transfer> seen;
      on_graph_copy([&seen](const graph_copy_event& copied) { seen.push_back(copied.how); });
      list* const first = nodes.data();
      EXPECT_EQ(at(via(other, how), sum, first), 999L * 1000 / 2);
      const auto back = at(via(other, how), [](list* head) { return head->next; }, first);
      EXPECT_EQ(sum(back.get()), 999L * 1000 / 2);  // without the first, whose value is 0
      on_graph_copy({});
      barrier();
      for (const transfer each : seen) EXPECT_EQ(each, transfer::message);
      EXPECT_FALSE(seen.empty());
      barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, over_hosts, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
