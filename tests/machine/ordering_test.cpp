#include <situ/machine/discover.h>
#include <situ/machine/ordering.h>
#include <situ/machine/toml.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/build_paths.h"
#include "support/pim_file.h"

namespace {

namespace machine = situ::machine;
using machine::processor_set;
using machine::tree;
using situ::intent;

// "2 0 1=3": OS indices, best first; = joins memories of one rank.
std::string order(const tree& t, const intent& what, const char* from) {
  std::string text;
  std::uint32_t rank = 0;
  for (const machine::ranked_memory& m : machine::ordering(t, what, processor_set::parse(from))) {
    if (!text.empty()) text += m.rank == rank ? "=" : " ";
    text += std::to_string(t.at(m.memory).os_index);
    rank = m.rank;
  }
  return text;
}

tree machine_file(const char* name) {
  return machine::read_toml((std::filesystem::path{SITU_TEST_SOURCE_DIR}.parent_path() / "machines" / name).string());
}

TEST(ordering, nearness_decides_among_equal_memories) {
  const tree t = machine::from_synthetic("pack:2 [numa] core:2 pu:1");
  for (const intent& what : situ::intents_everywhere) {
    EXPECT_EQ(order(t, what, "0"), "0 1") << what.name();
    EXPECT_EQ(order(t, what, "2-3"), "1 0") << what.name();
    EXPECT_EQ(order(t, what, "1-2"), "0=1") << what.name() << ": seen from both packages neither is nearer";
  }
}

TEST(ordering, remote_memories_at_one_distance_share_a_rank) {
  const tree t = machine::from_synthetic("group:2 pack:2 [numa] core:1 pu:1");
  EXPECT_EQ(order(t, intent::latency, "1"), "1 0 2=3");
}

TEST(ordering, hbm_is_for_those_who_ask_for_bandwidth) {
  // Section 1 of the paper describes these orderings for Knights Landing: all DRAM before any MCDRAM unless asked for.
  const tree t = machine_file("knl-7210-flat.toml");
  EXPECT_EQ(order(t, intent::normal, "0"), "0 1");
  EXPECT_EQ(order(t, intent::bandwidth, "0"), "1 0");
  EXPECT_EQ(order(t, intent::latency, "0"), "0 1");
  EXPECT_EQ(order(t, intent::capacity, "0"), "0 1");
}

TEST(ordering, without_figures_kind_and_nearness_decide) {
  // DDR nodes 0 and 1, HBM nodes 2 and 3; remote figures are missing, so none are used.
  const tree t = machine_file("xeon-max-9480-flat.toml");
  EXPECT_EQ(order(t, intent::normal, "0"), "0 1 2 3");
  EXPECT_EQ(order(t, intent::latency, "0"), "0 2 1 3");
  EXPECT_EQ(order(t, intent::bandwidth, "0"), "2 0 3 1");
  EXPECT_EQ(order(t, intent::capacity, "0"), "0 1 2 3");
  EXPECT_EQ(order(t, intent::bandwidth, "222"), "3 1 2 0");
}

TEST(ordering, with_figures_figures_decide) {
  // DDR nodes 0 and 2, HBM 1 and 3, with figures for every pair: both remote memories are held to the link's bandwidth.
  const tree t = machine::read_hwloc_xml(SITU_TEST_SOURCE_DIR "/fixtures/machine/xeon-max-like.xml");
  EXPECT_EQ(order(t, intent::bandwidth, "0"), "1 0 2=3");
  EXPECT_EQ(order(t, intent::bandwidth, "8"), "3 2 0=1");
  EXPECT_EQ(order(t, intent::latency, "0"), "0 1 2 3");
  EXPECT_EQ(order(t, intent::latency, "8"), "2 3 0 1");
}

TEST(ordering, slow_kinds_come_last_however_near) {
  const tree t = machine_file("optane-cascade-lake.toml");
  EXPECT_EQ(order(t, intent::latency, "0"), "0 1 2 3");
  EXPECT_EQ(order(t, intent::bandwidth, "0"), "0 1 2 3");
  EXPECT_EQ(order(t, intent::capacity, "0"), "2 3 0 1");
  EXPECT_EQ(order(t, intent::normal, "0"), "0 1 2 3");
}

TEST(ordering, slit_distances_stand_for_nearness_where_all_are_known) {
  // A ring: node 0 is 10, 21, 16, 11 from the others; the tree alone would call 1, 2 and 3 equally far.
  const tree t = machine::parse_toml(R"(
name = "ring"
[[node]]
id = "package"
kind = "package"
count = 4
[[node]]
id = "ddr"
in = "package"
kind = "memory"
[[node]]
id = "core"
in = "package"
kind = "core"
[[path]]
from = "package[0]"
to = "ddr[0]"
distance = 10
[[path]]
from = "package[0]"
to = "ddr[1]"
distance = 21
[[path]]
from = "package[0]"
to = "ddr[2]"
distance = 16
[[path]]
from = "package[0]"
to = "ddr[3]"
distance = 11
)",
                                     "ring.toml");
  EXPECT_EQ(order(t, intent::latency, "0"), "0 3 2 1");
  EXPECT_EQ(order(t, intent::latency, "1"), "1 0=2=3") << "package 1 has no row";
}

TEST(ordering, a_device_sees_its_own_memory) {
  const tree t = machine_file("grace-hopper-gh200.toml");
  const machine::node_id gpu = t.all(machine::node_kind::device).at(0);
  const auto from_gpu = machine::ordering(t, intent::bandwidth, gpu);
  ASSERT_EQ(from_gpu.size(), 2u);
  EXPECT_EQ(t.at(from_gpu[0].memory).memory, machine::memory_technology::gpu);
  EXPECT_EQ(order(t, intent::bandwidth, "0"), "0 1");
}

TEST(ordering, a_gpu_that_is_no_numa_node_is_listed_for_itself_only) {
  const tree t = machine::read_hwloc_xml(SITU_TEST_SOURCE_DIR "/fixtures/machine/gpu-node.xml");
  EXPECT_EQ(machine::ordering(t, intent::capacity, machine::root_node).size(), 1u);
  for (const machine::node_id device : t.all(machine::node_kind::device))
    EXPECT_EQ(machine::ordering(t, intent::capacity, device).size(),
              t.at(device).device == machine::device_kind::gpu ? 2u : 1u);
}

TEST(ordering, memories_that_compute_are_for_those_who_ask_for_them) {
  const tree t = machine::parse_toml(situ::test::two_that_compute, "two.toml");
  for (const intent& what : situ::intents_everywhere) EXPECT_EQ(order(t, what, "0"), "0") << what.name();
  const auto seen_from = [&](machine::node_id from) {
    std::vector<std::uint32_t> listed;
    for (const auto& each : machine::ordering(t, intent::pim, from)) listed.push_back(t.at(each.memory).os_index);
    return listed;
  };
  EXPECT_EQ(seen_from(machine::root_node), (std::vector<std::uint32_t>{2, 1})) << "the machine's own is nearer";
  EXPECT_EQ(seen_from(t.all(machine::node_kind::package)[0]), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(machine::decided_by(t, intent::pim, machine::root_node), "nearness");
  EXPECT_EQ(machine::intents_of(t).back(), intent::pim);
  EXPECT_EQ(intent::of("pim").decided_by(), intent::criterion::pim);

  const tree none = machine_file("tile64.toml");
  EXPECT_TRUE(machine::ordering(none, intent::pim, machine::root_node).empty());
  EXPECT_EQ(machine::intents_of(none).size(), std::size(situ::intents_everywhere));
}

TEST(ordering, lists_every_memory_once) {
  for (const char* file : {"mppa-256-bostan.toml", "nemesys-4x4.toml", "tile64.toml"}) {
    const tree t = machine_file(file);
    for (const intent& what : situ::intents_everywhere) {
      std::vector<machine::node_id> listed;
      for (const auto& m : machine::ordering(t, what, t.processor(0))) listed.push_back(m.memory);
      std::sort(listed.begin(), listed.end());
      EXPECT_EQ(listed, t.all(machine::node_kind::memory)) << file;
    }
  }
}

}  // namespace
