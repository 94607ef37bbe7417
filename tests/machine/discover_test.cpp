#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/machine/draw.h>

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "support/build_paths.h"

// hwloc itself leaks an object when the XML that it reads ends too early. LeakSanitizer asks for this by name.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhwloc"; }

namespace {

namespace machine = situ::machine;
using machine::node_kind;
using machine::tree;

const std::string fixtures = SITU_TEST_SOURCE_DIR "/fixtures/machine/";

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

class recorded : public testing::TestWithParam<const char*> {};

// A recorded machine beside its golden tree. After a wanted change: situ topo --xml FILE.xml --all > FILE.txt, and read
// the difference.
TEST_P(recorded, looks_as_its_golden_tree) {
  const std::string stem = fixtures + GetParam();
  const std::string golden = contents(stem + ".txt");
  ASSERT_FALSE(golden.empty()) << stem;
  EXPECT_EQ(machine::draw(machine::read_hwloc_xml(stem + ".xml"), {.collapse_from = 0}), golden);
}

INSTANTIATE_TEST_SUITE_P(machines, recorded,
                         testing::Values("vm-2-cores", "gpu-node", "knl-cache-like", "optane-like", "xeon-max-like"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(discover, synthetic_topologies) {
  const tree t = machine::from_synthetic("pack:2 [numa(memory=1073741824)] l2:2(size=1048576) core:2 pu:2");
  EXPECT_EQ(t.all(node_kind::package).size(), 2u);
  EXPECT_EQ(t.all(node_kind::memory).size(), 2u);
  EXPECT_EQ(t.all(node_kind::cache).size(), 4u);
  EXPECT_EQ(t.all(node_kind::core).size(), 8u);
  EXPECT_EQ(t.all(node_kind::processing_unit).size(), 16u);
  EXPECT_EQ(t.memory_bytes(), 2ull << 30);
  EXPECT_EQ(t.at(t.memory(1)).processors.to_string(), "8-15");
  EXPECT_EQ(t.at(t.all(node_kind::cache)[3]).bytes, 1u << 20);
  EXPECT_EQ(t.at(t.all(node_kind::cache)[3]).level, 2u);
}

TEST(discover, operating_system_indices_are_kept) {
  const tree t = machine::from_synthetic("pack:1 [numa] core:4 pu:2(indexes=core:pu)");
  std::vector<std::uint32_t> os;
  for (const auto id : t.all(node_kind::processing_unit)) os.push_back(t.at(id).os_index);
  std::vector<std::uint32_t> sorted = os;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  for (const std::uint32_t index : os) EXPECT_EQ(t.at(t.processor(index)).os_index, index);
}

TEST(discover, firmware_attributes_become_paths_and_tell_hbm_from_dram) {
  const tree t = machine::read_hwloc_xml(fixtures + "xeon-max-like.xml");
  EXPECT_EQ(t.paths().size(), 8u);
  const auto p0 = t.processor(0);
  EXPECT_EQ(t.at(t.memory(0)).memory, machine::memory_technology::dram);
  EXPECT_EQ(t.at(t.memory(1)).memory, machine::memory_technology::hbm);
  EXPECT_EQ(t.figures(p0, t.memory(0)).latency(), 110);
  EXPECT_EQ(t.figures(p0, t.memory(1)).latency(), 130);
  EXPECT_EQ(t.figures(p0, t.memory(1)).best_bandwidth(), 1562500ull << 20);
  EXPECT_EQ(t.figures(p0, t.memory(3)).latency(), 220);
}

TEST(discover, firmware_distances_are_those_of_the_node_paired_with_the_processors) {
  const tree t = machine::read_hwloc_xml(fixtures + "optane-like.xml");
  const auto p0 = t.processor(0);
  EXPECT_EQ(t.figures(p0, t.memory(0)).distance, 10u);
  EXPECT_EQ(t.figures(p0, t.memory(1)).distance, 17u);
  EXPECT_EQ(t.figures(p0, t.memory(2)).distance, 21u);
  EXPECT_EQ(t.figures(p0, t.memory(3)).distance, 28u);
  EXPECT_EQ(t.at(t.memory(1)).memory, machine::memory_technology::persistent);
}

TEST(discover, a_gpus_memory_hangs_under_its_device) {
  const tree t = machine::read_hwloc_xml(fixtures + "gpu-node.xml");
  EXPECT_EQ(t.memory_bytes(), 8ull << 30);
  EXPECT_EQ(t.memory_bytes(machine::root_node, true), (8ull << 30) + (146169856ull << 10));
  const tree without = machine::read_hwloc_xml(fixtures + "gpu-node.xml", {.devices = false});
  EXPECT_TRUE(without.all(node_kind::device).empty());
}

TEST(discover, bad_input_is_an_error) {
  EXPECT_THROW((void)machine::from_synthetic("pack:two"), situ::error);
  EXPECT_THROW((void)machine::from_synthetic(""), situ::error);
  EXPECT_THROW((void)machine::read_hwloc_xml(fixtures + "no-such.xml"), situ::error);
  const std::string path = testing::TempDir() + "situ_not_xml.xml";
  for (const std::string& text :
       {std::string{"hello"}, std::string{}, contents(fixtures + "vm-2-cores.xml").substr(0, 900)}) {
    std::ofstream{path} << text;
    try {
      (void)machine::read_hwloc_xml(path);
      ADD_FAILURE() << "accepted " << text.size() << " bytes";
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::bad_file);
      EXPECT_NE(error.message().find(path), std::string_view::npos) << error.what();
    }
  }
  std::remove(path.c_str());
}

TEST(discover, this_machine_has_processors_and_memory) {
  const tree t = machine::discover();
  EXPECT_GE(t.root().processors.size(), 1u);
  EXPECT_FALSE(t.all(node_kind::memory).empty());
  EXPECT_GT(t.memory_bytes(), 1ull << 20);
  EXPECT_TRUE(t.root().processors.intersects(machine::processor_set::of_this_thread()));
}

TEST(discover, leaves_the_callers_affinity_as_it_was) {
  const machine::processor_set before = machine::processor_set::of_this_thread();
  (void)machine::discover();
  EXPECT_EQ(machine::processor_set::of_this_thread(), before);
}

TEST(discover, a_bound_process_sees_what_it_is_bound_to) {
  // As under taskset: hwloc asks for the process's binding, so a child stands for it.
  const std::uint32_t only = machine::processor_set::of_this_thread().first();
  EXPECT_EXIT(
      {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(only, &set);
        for (const auto& thread :
             std::filesystem::directory_iterator{"/proc/self/task"})  // ThreadSanitizer has one of its own
          if (sched_setaffinity(std::stoi(thread.path().filename().string()), sizeof set, &set) != 0) std::_Exit(2);
        const tree t = machine::discover({.devices = false, .within_affinity = true});
        std::_Exit(t.root().processors.size() == 1 && t.root().processors.contains(only) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
