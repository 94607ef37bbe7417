// What a job over several hosts refuses, in a sentence that says what to do instead; and object graphs, which go by
// message there. For bodies.cpp alone.
#include <situ/fabric/detail/far.h>
#include <situ/graph.h>
#include <situ/situ.h>

#include <situ/spread/distributed_map.h>
#include <situ/spread/task_pool.h>
#include <situ/task/place_graph.h>
#include <situ/trees/place_tree.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
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

TEST_P(over_hosts, what_needs_one_memory_is_refused_with_what_to_do_instead) {
  run([] {
    const auto refuses = [](auto make, std::string_view what, std::string_view instead) {
      const auto e = error_of(make);
      EXPECT_EQ(e.code, errc::not_supported);
      EXPECT_TRUE(e.says(what) && e.says(instead)) << e.text;
    };
    refuses([] { (void)place_tree::of_places(); }, "a place tree over several hosts", "situ::distributed_array");
  });
}

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
