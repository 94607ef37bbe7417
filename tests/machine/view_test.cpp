#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/machine/draw.h>
#include <situ/machine/toml.h>
#include <situ/machine/view.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/build_paths.h"

namespace {

namespace machine = situ::machine;
using machine::tree;
using machine::view_kind;

std::string drawn(const tree& t) { return machine::draw(t, {.unicode = false, .collapse_from = 0}); }

// The four-socket node of the paper's figure 2, smaller.
const char* const figure2 = "pack:2 [numa(memory=8589934592)] l3:1(size=6291456) l2:2(size=524288) core:1 pu:2";

TEST(view, full_is_the_tree_itself) {
  const tree t = machine::from_synthetic(figure2);
  EXPECT_EQ(machine::view(t, view_kind::full), t);
}

TEST(view, numa_keeps_memories_and_the_cores_near_them) {
  EXPECT_EQ(drawn(machine::view(machine::from_synthetic(figure2), view_kind::numa)),
            "machine (16 GiB, 4 processors)\n"
            "|- package 0\n"
            "|  |- dram 0 8 GiB\n"
            "|  |- core 0\n"
            "|  `- core 1 (os 2)\n"
            "`- package 1\n"
            "   |- dram 1 8 GiB\n"
            "   |- core 2 (os 4)\n"
            "   `- core 3 (os 6)\n");
}

TEST(view, flat_puts_every_core_before_one_memory) {
  EXPECT_EQ(drawn(machine::view(machine::from_synthetic(figure2), view_kind::flat)),
            "machine (16 GiB, 4 processors)\n"
            "|- dram 0 16 GiB\n"
            "|- core 0\n"
            "|- core 1 (os 2)\n"
            "|- core 2 (os 4)\n"
            "`- core 3 (os 6)\n");
}

TEST(view, flat_keeps_kinds_of_memory_apart) {
  const tree t = machine::read_hwloc_xml(SITU_TEST_SOURCE_DIR "/fixtures/machine/optane-like.xml");
  const tree flat = machine::view(t, view_kind::flat);
  const auto memories = flat.all(machine::node_kind::memory);
  ASSERT_EQ(memories.size(), 2u);
  EXPECT_EQ(flat.at(memories[0]).memory, machine::memory_technology::dram);
  EXPECT_EQ(flat.at(memories[0]).bytes, 384ull << 30);
  EXPECT_EQ(flat.at(memories[1]).memory, machine::memory_technology::persistent);
  EXPECT_EQ(flat.at(memories[1]).bytes, 3072ull << 30);
  EXPECT_TRUE(flat.paths().empty());
}

TEST(view, a_memory_side_cache_is_hidden_and_its_memory_kept) {
  const tree t = machine::read_hwloc_xml(SITU_TEST_SOURCE_DIR "/fixtures/machine/knl-cache-like.xml");
  const tree numa = machine::view(t, view_kind::numa);
  EXPECT_EQ(numa.all(machine::node_kind::cache).size(), 0u);
  ASSERT_EQ(numa.all(machine::node_kind::memory).size(), 1u);
  EXPECT_EQ(numa.label(numa.at(numa.all(machine::node_kind::memory)[0]).parent), "package 0");
  EXPECT_EQ(numa.all(machine::node_kind::core).size(), 8u);
  const auto has_it = [&](const char* what) {
    const tree seen = machine::view(t, machine::parse_view(what));
    const auto caches = seen.all(machine::node_kind::cache);
    return std::ranges::any_of(
        caches, [&](machine::node_id id) { return seen.at(id).cache == machine::cache_kind::memory_side; });
  };
  EXPECT_TRUE(has_it("memories,caches"));
  EXPECT_TRUE(has_it("caches"));
  EXPECT_FALSE(has_it("memories,l1"));
}

TEST(view, devices_stay_only_for_memory_that_can_be_allocated_from) {
  const tree gpu =
      machine::view(machine::read_hwloc_xml(SITU_TEST_SOURCE_DIR "/fixtures/machine/gpu-node.xml"), view_kind::numa);
  EXPECT_TRUE(gpu.all(machine::node_kind::device).empty());
  const auto machines = std::filesystem::path{SITU_TEST_SOURCE_DIR}.parent_path() / "machines";
  const tree hopper =
      machine::view(machine::read_toml((machines / "grace-hopper-gh200.toml").string()), view_kind::numa);
  EXPECT_EQ(hopper.all(machine::node_kind::device).size(), 1u);
}

TEST(view, numa_keeps_what_is_known_of_paths) {
  const tree t = machine::parse_toml(R"(
name = "x"
[[node]]
id = "ddr"
kind = "memory"
[[node]]
id = "l2"
kind = "cache"
level = 2
count = 2
[[node]]
id = "core"
in = "l2"
kind = "core"
count = 2
[[node]]
id = "thread"
in = "core"
kind = "processing_unit"
count = 2
[[path]]
from = "l2[1]"
to = "ddr"
latency = "90 ns"
[[path]]
from = "thread[0]"
to = "ddr"
latency = "80 ns"
)",
                                     "x.toml");
  const tree numa = machine::view(t, view_kind::numa);
  // The record of the second L2 stands for its two cores, that of the first thread for its core.
  ASSERT_EQ(numa.paths().size(), 3u);
  EXPECT_EQ(numa.figures(numa.processor(0), 1).latency(), 80);
  EXPECT_EQ(numa.figures(numa.processor(2), 1).latency(), 0);
  EXPECT_EQ(numa.figures(numa.processor(4), 1).latency(), 90);
  EXPECT_EQ(numa.figures(numa.processor(6), 1).latency(), 90);
}

// Figure 2 of the paper: one machine, four place trees. Its "full" tree has an interconnect, d accelerators besides.
const char* const xe6 = R"(
name = "XE6"
[[node]]
id = "die"
kind = "package"
count = 2
[[node]]
id = "ddr"
in = "die"
kind = "memory"
size = "8 GiB"
[[node]]
id = "l3"
in = "die"
kind = "cache"
level = 3
size = "6 MiB"
[[node]]
id = "l2"
in = "l3"
kind = "cache"
level = 2
count = 2
size = "512 KiB"
[[node]]
id = "core"
in = "l2"
kind = "core"
[[link]]
kind = "coherent"
name = "HT"
ends = ["die"]
)";
const char* const accelerators = R"(
[[node]]
id = "card"
kind = "device"
device = "gpu"
count = 2
[[node]]
id = "agent"
in = "card"
kind = "agent"
[[node]]
id = "vram"
in = "card"
kind = "memory"
memory = "gpu"
size = "3 GiB"
addressability = "none"
[[node]]
id = "disk"
kind = "device"
device = "storage"
[[link]]
kind = "explicit"
from = "ddr[0]"
to = "vram"
)";

TEST(figure2, a_full_with_caches_and_the_interconnect) {
  EXPECT_EQ(drawn(machine::view(machine::parse_toml(xe6, "xe6"), machine::parse_view("full"))),
            "machine \"XE6\" (16 GiB, 4 processors)\n"
            "|- package 0\n"
            "|  |- dram 0 8 GiB\n"
            "|  `- L3 0 6 MiB\n"
            "|     |- L2 0 512 KiB + core 0\n"
            "|     `- L2 1 512 KiB + core 1\n"
            "`- package 1\n"
            "   |- dram 1 8 GiB\n"
            "   `- L3 1 6 MiB\n"
            "      |- L2 2 512 KiB + core 2\n"
            "      `- L2 3 512 KiB + core 3\n"
            "link coherent \"HT\": package 0-1\n");
}

TEST(figure2, b_numa_without_caches_and_interconnect) {
  EXPECT_EQ(drawn(machine::view(machine::parse_toml(xe6, "xe6"), machine::parse_view("numa"))),
            "machine \"XE6\" (16 GiB, 4 processors)\n"
            "|- package 0\n"
            "|  |- dram 0 8 GiB\n"
            "|  |- core 0\n"
            "|  `- core 1\n"
            "`- package 1\n"
            "   |- dram 1 8 GiB\n"
            "   |- core 2\n"
            "   `- core 3\n");
}

TEST(figure2, c_flat) {
  EXPECT_EQ(drawn(machine::view(machine::parse_toml(xe6, "xe6"), machine::parse_view("flat"))),
            "machine \"XE6\" (16 GiB, 4 processors)\n"
            "|- dram 0 16 GiB\n"
            "|- core 0\n"
            "|- core 1\n"
            "|- core 2\n"
            "`- core 3\n");
}

TEST(figure2, d_accelerators_with_agents_and_explicit_links) {
  const tree t = machine::parse_toml(std::string{xe6} + accelerators, "xe6");
  EXPECT_EQ(drawn(machine::view(t, machine::parse_view("accelerators"))),
            "machine \"XE6\" (16 GiB, 4 processors)\n"
            "|- dram 0 16 GiB\n"
            "|- core 0\n"
            "|- core 1\n"
            "|- core 2\n"
            "|- core 3\n"
            "|- gpu device 0\n"
            "|  |- agent 0\n"
            "|  `- gpu 1 3 GiB [not addressable]\n"
            "`- gpu device 1\n"
            "   |- agent 1\n"
            "   `- gpu 2 3 GiB [not addressable]\n"
            "link explicit: dram 0, gpu 1\n"
            "link explicit: dram 0, gpu 2\n");
}

TEST(view, shows_what_it_is_asked_for) {
  const tree t = machine::parse_toml(std::string{xe6} + accelerators, "xe6");
  EXPECT_EQ(drawn(machine::view(t, {.memories = true, .lowest_cache = 3, .links = true})),
            "machine \"XE6\" (16 GiB, 4 processors)\n"
            "|- package 0\n"
            "|  |- dram 0 8 GiB\n"
            "|  `- L3 0 6 MiB\n"
            "|     |- core 0\n"
            "|     `- core 1\n"
            "`- package 1\n"
            "   |- dram 1 8 GiB\n"
            "   `- L3 1 6 MiB\n"
            "      |- core 2\n"
            "      `- core 3\n"
            "link coherent \"HT\": package 0-1\n");
  EXPECT_EQ(drawn(machine::view(t, machine::parse_view("packages,devices"))),
            "machine \"XE6\" (16 GiB, 4 processors)\n"
            "|- dram 0 16 GiB\n"
            "|- package 0\n"
            "|  |- core 0\n"
            "|  `- core 1\n"
            "|- package 1\n"
            "|  |- core 2\n"
            "|  `- core 3\n"
            "`- storage device 0\n");
}

TEST(view, a_word_that_is_not_known_is_named) {
  EXPECT_EQ(machine::parse_view("numa"), machine::view_detail::of(view_kind::numa));
  EXPECT_EQ(machine::parse_view("workers"), machine::view_detail::of(view_kind::flat));
  EXPECT_EQ(machine::parse_view("memories,l3,l2").lowest_cache, 2u);
  for (const char* text : {"tall", "", "numa,l3", "memories,", "l0", "l10"}) {
    try {
      (void)machine::parse_view(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const situ::error& bad) {
      EXPECT_NE(bad.message().find("write full, numa, flat or accelerators"), std::string::npos) << bad.what();
    }
  }
}

TEST(view, every_view_of_every_machine_file_reads_back) {
  const std::filesystem::path machines = std::filesystem::path{SITU_TEST_SOURCE_DIR}.parent_path() / "machines";
  for (const auto& entry : std::filesystem::directory_iterator{machines}) {
    if (entry.path().extension() != ".toml") continue;
    const tree t = machine::read_toml(entry.path().string());
    EXPECT_NO_THROW((void)machine::view(t, machine::parse_view("caches"))) << entry.path();
    for (const char* detail :
         {"accelerators", "memories,l2,links", "packages,threads", "caches,accelerators,devices"}) {
      const tree seen = machine::view(t, machine::parse_view(detail));
      EXPECT_EQ(machine::parse_toml(machine::to_toml(seen), ""), seen) << entry.path() << detail;
      EXPECT_EQ(seen.all(machine::node_kind::core).size(), t.all(machine::node_kind::core).size());
    }
  }
}

TEST(view, processing_units_without_cores_are_the_workers) {
  const tree t = machine::from_synthetic("[numa] pu:3");
  EXPECT_EQ(machine::view(t, view_kind::flat).all(machine::node_kind::processing_unit).size() +
                machine::view(t, view_kind::flat).all(machine::node_kind::core).size(),
            3u);
}

}  // namespace
