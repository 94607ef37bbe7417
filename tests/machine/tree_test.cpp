#include "machine/random_tree.h"

#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/machine/tree.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

namespace machine = situ::machine;
using machine::node_facts;
using machine::node_id;
using machine::node_kind;
using machine::processor_set;
using machine::tree;
using machine::tree_builder;

node_facts facts(node_kind kind, std::uint32_t os_index = machine::no_index) {
  node_facts f;
  f.kind = kind;
  f.os_index = os_index;
  f.level = kind == node_kind::cache ? 1 : 0;
  return f;
}

node_facts memory(std::uint64_t bytes, std::uint32_t os_index = machine::no_index) {
  node_facts f = facts(node_kind::memory, os_index);
  f.bytes = bytes;
  return f;
}

// Two packages, each with a memory and two cores; added out of tree order.
tree two_packages() {
  tree_builder builder{"two"};
  const node_id p0 = builder.add(machine::root_node, facts(node_kind::package));
  const node_id p1 = builder.add(machine::root_node, facts(node_kind::package));
  builder.add(p1, memory(200));
  builder.add(p0, memory(100));
  for (const node_id p : {p0, p1, p0, p1}) builder.add(p, facts(node_kind::core));
  return std::move(builder).build();
}

TEST(tree, is_numbered_depth_first) {
  const tree t = two_packages();
  std::vector<std::string> labels;
  for (node_id id = 0; id < t.nodes().size(); ++id) labels.push_back(t.label(id));
  EXPECT_EQ(labels, (std::vector<std::string>{"machine", "package 0", "dram 0", "core 0", "core 1", "package 1",
                                              "dram 1", "core 2", "core 3"}));
  EXPECT_EQ(t.root().descendants, 8u);
  EXPECT_EQ(t.at(5).descendants, 3u);
  EXPECT_EQ(t.at(5).children, (std::vector<node_id>{6, 7, 8}));
  EXPECT_EQ(t.at(7).depth, 2u);
  EXPECT_EQ(t.at(2).bytes, 100u);
}

TEST(tree, processors_are_those_below_or_else_those_of_the_parent) {
  const tree t = two_packages();
  EXPECT_EQ(t.root().processors.to_string(), "0-3");
  EXPECT_EQ(t.at(5).processors.to_string(), "2-3");
  EXPECT_EQ(t.at(6).processors.to_string(), "2-3") << "a memory is local to its package";
  EXPECT_EQ(t.at(8).processors.to_string(), "3");
  EXPECT_EQ(t.processor(3), 8u);
  EXPECT_EQ(t.processor(4), machine::no_node);
  EXPECT_EQ(t.memory(1), 6u);
  EXPECT_EQ(t.memory(2), machine::no_node);
}

TEST(tree, covering_and_common_ancestors) {
  const tree t = two_packages();
  EXPECT_EQ(t.covering(processor_set::parse("2-3")), 5u);
  EXPECT_EQ(t.covering(processor_set::parse("3")), 8u);
  EXPECT_EQ(t.covering(processor_set::parse("1-2")), 0u);
  EXPECT_EQ(t.covering(processor_set::parse("9")), 0u);
  EXPECT_EQ(t.covering({}), 0u);
  EXPECT_EQ(t.common_ancestor(3, 4), 1u);
  EXPECT_EQ(t.common_ancestor(4, 7), 0u);
  EXPECT_EQ(t.common_ancestor(1, 4), 1u);
  EXPECT_EQ(t.common_ancestor(4, 1), 1u);
  EXPECT_TRUE(t.is_under(4, 1));
  EXPECT_FALSE(t.is_under(5, 1));
}

TEST(tree, of_nodes_alike_the_uppermost_covers) {
  const tree t = machine::from_synthetic("pack:2 l3:1 core:2 pu:1");
  EXPECT_EQ(t.label(t.covering(processor_set::parse("0-1"))), "package 0");
  EXPECT_EQ(t.label(t.covering(processor_set::parse("2"))), "core 2");
}

TEST(tree, sums_memories) {
  tree_builder builder{"gpu"};
  builder.add(machine::root_node, facts(node_kind::core));
  builder.add(machine::root_node, memory(100));
  const node_id gpu = builder.add(machine::root_node, facts(node_kind::device));
  builder.add(gpu, memory(7));
  const tree t = std::move(builder).build();
  EXPECT_EQ(t.memory_bytes(), 100u);
  EXPECT_EQ(t.memory_bytes(machine::root_node, true), 107u);
  EXPECT_EQ(t.memory_bytes(3), 0u);
  EXPECT_FALSE(t.is_addressable(4));
  EXPECT_EQ(t.at(4).os_index, machine::no_index) << "a device's own memory gets no OS index by default";
}

TEST(tree, figures_come_from_the_nearest_record_or_the_local_memory) {
  tree_builder builder{"two"};
  node_id packages[2];
  node_id memories[2];
  for (int i = 0; i < 2; ++i) {
    packages[i] = builder.add(machine::root_node, facts(node_kind::package));
    node_facts m = memory(1 << 30);
    m.latency_ns = 80;
    m.bandwidth = 1000;
    memories[i] = builder.add(packages[i], m);
    builder.add(packages[i], facts(node_kind::core));
  }
  machine::path a;
  a.from = packages[0];
  a.memory = memories[1];
  a.read_latency_ns = 140;
  builder.add_path(a);
  a.from = packages[0];
  a.memory = memories[0];
  a.read_latency_ns = 0;
  a.distance = 10;
  builder.add_path(a);
  const tree t = std::move(builder).build();
  const node_id core0 = t.processor(0);
  const node_id core1 = t.processor(1);
  EXPECT_EQ(t.figures(core0, t.memory(1)).latency(), 140) << "the package's record";
  EXPECT_EQ(t.figures(core0, t.memory(0)).latency(), 80) << "the memory's own";
  EXPECT_EQ(t.figures(core0, t.memory(0)).distance, 10u) << "and the record's";
  EXPECT_EQ(t.figures(core0, t.memory(0)).best_bandwidth(), 1000u);
  EXPECT_EQ(t.figures(core1, t.memory(0)).latency(), 0) << "no record, and not local";
  EXPECT_EQ(t.figures(machine::root_node, t.memory(0)).latency(), 0) << "local to a part only";
}

TEST(tree, the_later_record_of_a_pair_holds) {
  tree_builder builder{"x"};
  const node_id m = builder.add(machine::root_node, memory(1));
  const node_id c = builder.add(machine::root_node, facts(node_kind::core));
  for (const std::uint64_t bandwidth : {5u, 7u}) builder.add_path({.from = c, .memory = m, .bandwidth = bandwidth});
  const tree t = std::move(builder).build();
  ASSERT_EQ(t.paths().size(), 1u);
  EXPECT_EQ(t.paths()[0].bandwidth, 7u);
}

template <class Body>
void expect_refused(Body body, std::string_view part) {
  try {
    body();
    ADD_FAILURE() << "accepted; wanted: " << part;
  } catch (const situ::error& error) {
    EXPECT_EQ(error.code(), situ::errc::bad_argument);
    EXPECT_NE(error.message().find(part), std::string_view::npos) << error.what();
  }
}

TEST(tree, what_no_machine_has_is_refused) {
  tree_builder builder{"x"};
  const node_id m = builder.add(machine::root_node, memory(1));
  const node_id core = builder.add(machine::root_node, facts(node_kind::core));
  const node_id pu = builder.add(core, facts(node_kind::processing_unit));
  const node_id gpu = builder.add(machine::root_node, facts(node_kind::device));
  expect_refused([&] { builder.add(m, facts(node_kind::core)); }, "nothing hangs under a memory");
  expect_refused([&] { builder.add(pu, facts(node_kind::cache)); }, "nothing hangs under a processing unit");
  expect_refused([&] { builder.add(gpu, facts(node_kind::core)); }, "only memories, agents and devices");
  expect_refused([&] { builder.add(core, facts(node_kind::core)); }, "a core holds");
  expect_refused([&] { builder.add(machine::root_node, facts(node_kind::machine)); }, "one root");
  expect_refused([&] { builder.add(99, facts(node_kind::core)); }, "parents before");
  node_facts flat_cache = facts(node_kind::cache);
  flat_cache.level = 0;
  expect_refused([&] { builder.add(machine::root_node, flat_cache); }, "level from 1");
  node_facts slow = memory(1);
  slow.latency_ns = -1;
  expect_refused([&] { builder.add(machine::root_node, slow); }, "not below zero");
  expect_refused([&] { builder.add_path({.from = core, .memory = pu}); }, "leads to a memory");
  expect_refused([&] { builder.add_path({.from = m, .memory = m}); }, "not at a memory");
  EXPECT_EQ(std::move(builder).build().nodes().size(), 5u) << "refused nodes leave nothing";
}

TEST(tree, os_indices_are_distinct_and_a_processor_is_needed) {
  expect_refused([] { (void)tree_builder{"empty"}.build(); }, "needs a core");
  const auto with = [](const node_facts& a, const node_facts& b) {
    tree_builder builder{"x"};
    builder.add(machine::root_node, a);
    builder.add(machine::root_node, b);
    builder.add(machine::root_node, facts(node_kind::processing_unit, 9));
    return std::move(builder).build();
  };
  expect_refused([&] { (void)with(facts(node_kind::processing_unit, 3), facts(node_kind::processing_unit, 3)); },
                 "pu 1 has the OS index 3");
  expect_refused([&] { (void)with(memory(1, 3), memory(1, 3)); }, "dram 1 has the OS index 3 of dram 0");
  EXPECT_NO_THROW((void)with(memory(1, 3), facts(node_kind::processing_unit, 3)));
}

TEST(tree, invariants_hold_for_random_trees) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (std::uint64_t i = 0; i < 300; ++i) {
    const tree t = machine::test::random_tree{seed + i}.make();
    for (node_id id = 0; id < t.nodes().size(); ++id) {
      const machine::node& n = t.at(id);
      ASSERT_FALSE(n.processors.empty());
      std::uint32_t below = 0;
      node_id next = id + 1;
      for (const node_id child : n.children) {
        ASSERT_EQ(child, next);
        ASSERT_EQ(t.at(child).parent, id);
        ASSERT_TRUE(n.processors.includes(t.at(child).processors));
        below += 1 + t.at(child).descendants;
        next = child + 1 + t.at(child).descendants;
      }
      ASSERT_EQ(n.descendants, below);
      if (t.is_processor(id)) {
        ASSERT_EQ(t.processor(n.os_index), id);
      }
    }
    ASSERT_TRUE(std::is_sorted(t.paths().begin(), t.paths().end(), [](const auto& a, const auto& b) {
      return std::pair{a.from, a.memory} < std::pair{b.from, b.memory};
    }));
  }
}

}  // namespace
