// Object graphs as declared regions: what a root reaches, who conflicts, shapes that change, graphs at places.
#include <situ/task/graph_region.h>
#include <situ/task/place_graph.h>
#include <situ/task/task_graph.h>

#include <situ/base/error.h>
#include <situ/graph/containers.h>
#include <situ/graph/object.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/collective.h>

#include "support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace situ {

struct region_node {
  std::uint64_t value = 0;
  region_node* next = nullptr;
  region_node* other = nullptr;
};

// No larger than its first part: an address is both.
struct region_leaf;
struct region_inner {
  region_inner* next = nullptr;
  region_leaf* best = nullptr;
};
struct region_leaf {
  region_inner inner;
};

struct region_shape : derived<region_shape> {
  std::int64_t id = 0;
  SITU_DESCRIBE_DERIVED(region_shape, (object), id)
};
struct region_circle : derived<region_circle, region_shape> {
  double radius = 0;
  SITU_DESCRIBE_DERIVED(region_circle, (region_shape), radius)
};
struct region_drawing {
  array<region_shape*> shapes;
  vector<region_node> nodes;
  std::optional<region_node*> picked;
  std::string name;
};

namespace {

using testing::HasSubstr;

// Nodes that lie apart: each has a gap behind it.
struct chain {
  struct apart {
    region_node node;
    std::uint64_t gap = 0;
  };
  std::deque<apart> nodes;
  explicit chain(std::size_t count) : nodes(count) {
    for (std::size_t i = 0; i + 1 < count; ++i) nodes[i].node.next = &nodes[i + 1].node;
  }
  region_node* head() { return &nodes.front().node; }
  region_node& operator[](std::size_t i) { return nodes[i].node; }
};

bool holds(const graph_region& region, const void* at) {
  for (const memory_region& each : region.pieces())
    if (each.begin <= at && at < static_cast<const std::byte*>(each.begin) + each.bytes) return true;
  return false;
}

TEST(graph_region, has_what_a_root_reaches_once) {
  chain c{5};
  c[4].next = c.head();  // a cycle
  c[1].other = &c[3];    // shared
  const graph_region all{c.head()};
  EXPECT_EQ(all.objects(), 5);
  EXPECT_EQ(all.size_bytes(), 5 * sizeof(region_node));
  EXPECT_EQ(all.pieces().size(), 5);
  c[1].next = nullptr;
  c[1].other = nullptr;
  EXPECT_EQ(graph_region{c.head()}.objects(), 2);
  EXPECT_EQ(graph_region{static_cast<region_node*>(nullptr)}.objects(), 0);
}

TEST(graph_region, ends_where_an_address_is_two_types_in_a_cycle) {
  region_leaf x;
  x.inner = {&x.inner, &x};
  const graph_region all{&x};
  EXPECT_EQ(all.objects(), 1);
  EXPECT_EQ(all.size_bytes(), sizeof x);
}

TEST(graph_region, neighbours_are_one_piece) {
  std::vector<region_node> side_by_side(100);
  for (std::size_t i = 99; i-- > 0;) side_by_side[i].next = &side_by_side[i + 1];
  EXPECT_EQ(graph_region{side_by_side.data()}.pieces().size(), 1);
  const owned<region_node> copy = clone(side_by_side.data());
  EXPECT_EQ(graph_region{copy}.size_bytes(), 100 * sizeof(region_node));
}

TEST(graph_region, follows_containers_choices_and_what_objects_are) {
  region_circle circle;
  region_shape plain;
  region_node picked, hung;
  region_drawing d;
  d.shapes = {&circle, &plain};
  d.nodes.push_back(region_node{1, &hung, nullptr});
  d.picked = &picked;
  const graph_region all{&d};
  EXPECT_TRUE(holds(all, &circle.radius));
  EXPECT_TRUE(holds(all, &plain.id));
  EXPECT_TRUE(holds(all, &d.nodes[0].value));
  EXPECT_TRUE(holds(all, &hung));
  EXPECT_TRUE(holds(all, &picked));
  d.picked.reset();
  EXPECT_FALSE(holds(graph_region{&d}, &picked));
  EXPECT_EQ(graph_region{&d}.objects(), all.objects() - 1);
}

class graph_region_on : public testing::TestWithParam<std::uint32_t> {
 protected:
  task_graph graph_{{.threads = GetParam(), .window = 32}};
};
INSTANTIATE_TEST_SUITE_P(threads, graph_region_on, testing::Values(1, 3), testing::PrintToStringParamName());

TEST_P(graph_region_on, a_graph_conflicts_with_its_objects_and_with_graphs_that_share_some) {
  chain a{6}, b{4};
  b[3].next = &a[4];
  const graph_region of_a{a.head()}, of_b{b.head()};
  std::uint64_t seen_early = 0, seen_late = 0;
  graph_.add({updates(of_a)}, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{3});
    for (region_node* n = a.head(); n != nullptr; n = n->next) n->value += 1;
  });
  graph_.add({reads(a[5]), writes(seen_early)}, [&] { seen_early = a[5].value; });
  graph_.add({updates(of_b)}, [&] {
    for (region_node* n = b.head(); n != nullptr; n = n->next) n->value *= 10;
  });
  graph_.add({reads(of_a), writes(seen_late)}, [&] {
    for (region_node* n = a.head(); n != nullptr; n = n->next) seen_late += n->value;
  });
  graph_.wait();
  EXPECT_EQ(seen_early, 1);
  EXPECT_EQ(seen_late, 4 + 20);
  chain c{3}, d{3};  // share nothing
  const std::uint64_t before = graph_.statistics().edges;
  graph_.add({updates(graph_region{c.head()})}, [] {});
  graph_.add({updates(graph_region{d.head()})}, [] {});
  graph_.wait();
  EXPECT_EQ(graph_.statistics().edges, before);
}

// What a unit adds hangs from what is declared, so that whoever reaches it comes after, though it is in no region.
TEST_P(graph_region_on, a_graph_that_changes_its_shape) {
  chain c{2};
  std::deque<region_node> made;
  graph_region all{c.head()};
  std::vector<std::uint64_t> sums(40);
  for (std::size_t step = 0; step < sums.size(); ++step) {
    graph_.add({updates(all)}, [&, step] {
      made.push_back({step + 1, c[1].next, nullptr});
      c[1].next = &made.back();
    });
    graph_.add({updates(all)}, [&] {
      for (region_node* n = c[1].next; n != nullptr; n = n->next) ++n->value;
    });
    graph_.add({reads(all), writes(sums[step])}, [&, step] {
      for (region_node* n = c.head(); n != nullptr; n = n->next) sums[step] += n->value;
    });
  }
  graph_.wait_for({reads(all), reads(sums)});
  std::uint64_t count = 0, added = 0;
  for (const std::uint64_t sum : sums) {
    ++count;
    added += count + count;  // the new one's value, and one more for each that is there
    EXPECT_EQ(sum, added) << count;
  }
  EXPECT_EQ(all.objects(), 2);
  all.look();
  EXPECT_EQ(all.objects(), 42);
  std::uint64_t one = 0;  // by itself, now that it is known
  graph_.add({updates(all)}, [&] { made.front().value = 77; });
  graph_.add({reads(made.front()), writes(one)}, [&] { one = made.front().value; });
  graph_.wait();
  EXPECT_EQ(one, 77);
}

TEST_P(graph_region_on, a_unit_that_throws_ends_those_of_the_same_graph) {
  chain c{3};
  const graph_region all{c.head()};
  bool of_graph = false, of_object = false, of_another = false;
  graph_.add({updates(all)}, [] { throw std::runtime_error{"torn"}; });
  graph_.add({reads(all)}, [&] { of_graph = true; });
  graph_.add({reads(c[2].value)}, [&] { of_object = true; });
  graph_.add({reads(of_another)}, [&] { of_another = true; });
  EXPECT_THAT([&] { graph_.wait(); }, testing::ThrowsMessage<std::runtime_error>("torn"));
  EXPECT_FALSE(of_graph);
  EXPECT_FALSE(of_object);
  EXPECT_TRUE(of_another);
  EXPECT_THAT([&] { graph_.reduce(c[1].value, {reads(all)}, [](std::uint64_t&) {}); },
              testing::ThrowsMessage<error>(HasSubstr("it has a part of its own")));
}

// --- at places ------------------------------------------------------------------------------------------------------

class graph_region_at : public test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, graph_region_at, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

TEST_P(graph_region_at, a_unit_runs_where_most_of_the_graph_lies) {
  run([] {
    constexpr std::size_t count = 30;
    const ptr<region_node> mine = allocate<region_node>(count);
    for (std::size_t i = 0; i < count; ++i)
      mine.local()[i] = {here().index(), i + 1 < count ? mine.local() + i + 1 : nullptr, nullptr};
    const std::vector<ptr<region_node>> all = all_gather(mine);
    if (here().index() == 0) {
      if (place_count() > 1) all[0].local()[2].next = all.back().local();  // three nodes here, then the last place's
      const graph_region whole{all[0]};
      place_graph graph;
      for (int round = 0; round < 20; ++round) {
        graph.add(
            {updates(whole)},
            [](ptr<region_node> root) {
              for (region_node* n = root.local(); n != nullptr; n = n->next) n->value += 1;
            },
            all[0]);
        graph.add(
            {updates(region(all.back() + 7, 1))}, [](ptr<region_node> n) { n.local()->value += 1; }, all.back() + 7);
      }
      graph.wait();
      EXPECT_EQ(all[0].local()[1].value, 20);
      EXPECT_EQ(all.back().local()[7].value, place_count() - 1 + 40);
      EXPECT_GE(graph.units_at()[place_count() - 1], 20);
    }
    barrier();
    deallocate(mine);
  });
}

}  // namespace
}  // namespace situ
