#include "machine/random_tree.h"

#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/machine/toml.h>
#include <situ/machine/view.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "support/build_paths.h"

namespace {

namespace machine = situ::machine;
using machine::node_id;
using machine::node_kind;
using machine::tree;

tree parse(std::string_view text) { return machine::parse_toml(text, "m.toml"); }

constexpr std::string_view knl = R"(
name = "small KNL"
description = "two tiles"
[[node]]
id = "package"
kind = "package"
[[node]]
id = "ddr"
in = "package"
kind = "memory"
os = "0"
size = "96 GiB"
[[node]]
id = "mcdram"
in = "package"
kind = "memory"
memory = "hbm"
os = "1"
size = "16 GiB"
bandwidth = "314 GB/s"
[[node]]
id = "tile"
in = "package"
kind = "cache"
level = 2
count = 2
size = "1 MiB"
[[node]]
id = "core"
in = "tile"
kind = "core"
count = [2, 1]
clock = "1.3 GHz"
[[node]]
id = "thread"
in = "core"
kind = "processing_unit"
count = 2
os = "0-4:2,1-5:2"
[[path]]
from = "tile"
to = "mcdram"
latency = "150 ns"
[[path]]
from = "tile[1]"
to = "mcdram[0]"
latency = "155 ns"
)";

TEST(toml, families_expand_in_tree_order) {
  const tree t = parse(knl);
  EXPECT_EQ(t.name(), "small KNL");
  EXPECT_EQ(t.description(), "two tiles");
  std::string text;
  for (node_id id = 0; id < t.nodes().size(); ++id) text += t.label(id) + "; ";
  EXPECT_EQ(
      text,
      "machine; package 0; dram 0; hbm 1; L2 0; core 0; pu 0; pu 1; core 1; pu 2; pu 3; L2 1; core 2; pu 4; pu 5; ");
  EXPECT_EQ(t.at(3).bandwidth, 314'000'000'000u);
  EXPECT_EQ(t.at(5).hertz, 1'300'000'000u);
  std::vector<std::uint32_t> os;
  for (const node_id id : t.all(node_kind::processing_unit)) os.push_back(t.at(id).os_index);
  EXPECT_EQ(os, (std::vector<std::uint32_t>{0, 2, 4, 1, 3, 5}));
  ASSERT_EQ(t.paths().size(), 2u);
  EXPECT_EQ(t.figures(t.processor(0), 3).latency(), 150);
  EXPECT_EQ(t.figures(t.processor(5), 3).latency(), 155) << "the later record replaces the first";
}

TEST(toml, is_written_as_families) {
  EXPECT_EQ(machine::to_toml(machine::from_synthetic("pack:2 [numa(memory=4294967296)] core:2 pu:1")), R"(name = ""

[[node]]
id = "package"
kind = "package"
count = 2
os = "0-1"

[[node]]
id = "dram"
in = "package"
kind = "memory"
memory = "dram"
os = "0-1"
size = "4 GiB"

[[node]]
id = "core"
in = "package"
kind = "core"
count = 2
os = "0-3"

[[node]]
id = "pu"
in = "core"
kind = "processing_unit"
os = "0-3"
)");
}

TEST(toml, pairs_choose_local_or_remote) {
  const std::string base = R"(
name = "x"
[[node]]
id = "package"
kind = "package"
count = 2
[[node]]
id = "ddr"
in = "package"
kind = "memory"
[[node]]
id = "core"
in = "package"
kind = "core"
[[path]]
from = "core"
to = "ddr"
latency = "1 ns"
)";
  EXPECT_EQ(parse(base).paths().size(), 4u);
  const tree local = parse(base + "pairs = \"local\"\n");
  ASSERT_EQ(local.paths().size(), 2u);
  for (const machine::path& a : local.paths())
    EXPECT_EQ(local.common_ancestor(a.from, a.memory), local.at(a.memory).parent);
  const tree remote = parse(base + "pairs = \"remote\"\n");
  ASSERT_EQ(remote.paths().size(), 2u);
  for (const machine::path& a : remote.paths()) EXPECT_EQ(remote.common_ancestor(a.from, a.memory), machine::root_node);
}

TEST(toml, memories_have_figures_each_way_and_links_join_nodes) {
  const tree t = parse(R"(
name = "x"
[[node]]
id = "package"
kind = "package"
count = 2
[[node]]
id = "ddr"
in = "package"
kind = "memory"
read_latency = "80 ns"
write_latency = "90 ns"
read_bandwidth = "20 GB/s"
write_bandwidth = "10 GB/s"
leakage = "medium"
read_power = "low"
write_power = "high"
density = "10 GiB"
addressability = "block"
[[node]]
id = "core"
in = "package"
kind = "core"
[[node]]
id = "card"
in = "package"
kind = "device"
count = [1, 0]
device = "gpu"
[[node]]
id = "agent"
in = "card"
kind = "agent"
[[node]]
id = "vram"
in = "card"
kind = "memory"
memory = "gpu"
addressability = "none"
[[link]]
kind = "coherent"
name = "HT"
bandwidth = "19 GB/s"
ends = ["package"]
[[link]]
kind = "explicit"
latency = "2 us"
from = "ddr"
to = "vram"
)");
  const machine::node_id ddr = t.memory(0);
  EXPECT_EQ(t.at(ddr).leakage, machine::grade::medium);
  EXPECT_EQ(t.at(ddr).write_power, machine::grade::high);
  EXPECT_EQ(t.at(ddr).unit, machine::addressability::block);
  EXPECT_EQ(t.at(ddr).density_bytes, 10ull << 30);
  const machine::path seen = t.figures(t.processor(0), ddr);
  EXPECT_EQ(seen.latency(), 80);
  EXPECT_EQ(seen.write_latency_ns, 90);
  EXPECT_EQ(seen.best_bandwidth(), 20'000'000'000u);
  EXPECT_EQ(seen.write_bandwidth, 10'000'000'000u);
  EXPECT_EQ(t.figures(t.processor(1), ddr).write_latency_ns, 0) << "its figures are those of its own processors";
  ASSERT_EQ(t.links().size(), 3u) << "one that joins all, and one for each pair";
  EXPECT_EQ(t.links()[0].ends, t.all(node_kind::package));
  EXPECT_EQ(t.links()[0].name, "HT");
  EXPECT_EQ(t.links()[2].kind, machine::link_kind::copying);
  EXPECT_EQ(t.label(t.links()[2].ends[0]), "dram 2");
  EXPECT_EQ(t.label(t.links()[2].ends[1]), "gpu 1");
  EXPECT_FALSE(t.is_addressable(t.links()[2].ends[1]));
  EXPECT_EQ(t.at(t.all(node_kind::agent)[0]).processors.to_string(), "0");
  EXPECT_EQ(parse(machine::to_toml(t)), t);
}

TEST(toml, every_machine_file_round_trips) {
  const std::filesystem::path machines = std::filesystem::path{SITU_TEST_SOURCE_DIR}.parent_path() / "machines";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator{machines}) {
    if (entry.path().extension() != ".toml") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const tree t = machine::read_toml(entry.path().string());
    const std::string text = machine::to_toml(t);
    EXPECT_EQ(parse(text), t);
    EXPECT_EQ(machine::to_toml(parse(text)), text);
    for (const auto view : {machine::view_kind::numa, machine::view_kind::flat}) {
      const tree seen = machine::view(t, view);
      EXPECT_EQ(parse(machine::to_toml(seen)), seen);
    }
    ++files;
  }
  EXPECT_GE(files, 11);
}

TEST(toml, recorded_machines_and_this_one_round_trip) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator{std::filesystem::path{SITU_TEST_SOURCE_DIR} / "fixtures/machine"}) {
    if (entry.path().extension() != ".xml") continue;
    const tree t = machine::read_hwloc_xml(entry.path().string());
    EXPECT_EQ(parse(machine::to_toml(t)), t) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 5);
  const tree here = machine::discover();
  EXPECT_EQ(parse(machine::to_toml(here)), here);
}

TEST(toml, random_trees_round_trip) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (std::uint64_t i = 0; i < 500; ++i) {
    const tree t = machine::test::random_tree{seed + i}.make();
    const std::string text = machine::to_toml(t);
    ASSERT_EQ(parse(text), t) << text;
  }
}

constexpr std::string_view computing = R"(name = "x"
[[node]]
id = "c"
kind = "core"
[[node]]
id = "p"
kind = "memory"
memory = "pim"
bandwidth = "21.3 GB/s"
computes.design = "bitsimd"
computes.banks = 8
computes.subarrays = 16
computes.rows = 1024
computes.columns = 65536
computes.concurrent_subarrays = 64
computes.row_read = "46.5 ns"
computes.row_write = "40 ns"
computes.latch = "3 ns"
computes.shift = "4 ns"
computes.row_count = "50 ns"
computes.row_read_nJ = 0.8
computes.row_write_nJ = 0.9
computes.latch_nJ = 0.01
computes.shift_nJ = 0.02
)";

TEST(toml, a_memory_that_computes_has_its_figures_and_the_size_of_its_cells) {
  const tree t = parse(computing);
  const machine::node& memory = t.at(2);
  EXPECT_EQ(t.label(2), "pim 0");
  EXPECT_EQ(memory.bytes, std::uint64_t{1} << 30);
  const machine::pim_figures expected{.design = machine::pim_design::bitsimd,
                                      .banks = 8,
                                      .subarrays = 16,
                                      .rows = 1024,
                                      .columns = 65536,
                                      .concurrent = 64,
                                      .row_read_ns = 46.5,
                                      .row_write_ns = 40,
                                      .logic_ns = 3,
                                      .shift_ns = 4,
                                      .row_count_ns = 50,
                                      .row_read_nj = 0.8,
                                      .row_write_nj = 0.9,
                                      .logic_nj = 0.01,
                                      .shift_nj = 0.02};
  EXPECT_EQ(memory.computes, expected);
  EXPECT_EQ(parse(machine::to_toml(t)), t) << machine::to_toml(t);

  const tree rows = parse(
      "name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[node]]\nid = \"p\"\nkind = \"memory\"\nmemory = \"pim\"\n"
      "size = \"16 KiB\"\ncomputes = { design = \"simdram\", banks = 1, subarrays = 2, rows = 64, columns = 1024, AP = "
      "\"45 ns\", "
      "AAP = \"49 ns\", AP_nJ = 0.4, AAP_nJ = 0.8, extra_row_nJ = 0.2 }\n");
  EXPECT_EQ(rows.at(2).computes.ap_ns, 45);
  EXPECT_EQ(rows.at(2).computes.aap_ns, 49);
  EXPECT_EQ(rows.at(2).computes.ap_nj, 0.4);
  EXPECT_EQ(rows.at(2).computes.aap_nj, 0.8);
  EXPECT_EQ(rows.at(2).computes.extra_row_nj, 0.2);
  EXPECT_EQ(parse(machine::to_toml(rows)), rows);
}

TEST(toml, figures_of_computing_that_cannot_be_are_errors) {
  // Replaces a line of `computing`, or adds one at its end.
  const auto message_of = [](std::string_view from, std::string_view to) {
    std::string text{computing};
    text.replace(std::min(text.find(from), text.size()), from.size(), to);
    try {
      (void)parse(text);
    } catch (const situ::error& failure) {
      EXPECT_EQ(failure.code(), situ::errc::bad_file);
      return std::string{failure.message()};
    }
    return std::string{"no error"};
  };
  const auto expect = [&](std::string_view from, std::string_view to, const std::string& message) {
    EXPECT_EQ(message_of(from, to).substr(0, message.size()), message) << to;
  };
  expect(
      "memory = \"pim\"", "memory = \"dram\"",
      "m.toml:10: node[1].computes: belongs to a memory that computes; write kind = \"memory\" and memory = \"pim\"");
  expect("bandwidth = \"21.3 GB/s\"", "size = \"2 GiB\"",
         "m.toml:9: node[1].size: the cells (banks x subarrays x rows x columns / 8) are 1 GiB; write that, or remove");
  expect("\"bitsimd\"", "\"mimdram\"",
         "m.toml:10: node[1].computes.design: \"mimdram\" is not known; write one of \"imi\", \"bitsimd\", \"ambit\", "
         "\"simdram\"");
  expect("computes.design = \"bitsimd\"\n", "", "m.toml:10: node[1].computes.design: missing");
  expect("computes.rows = 1024\n", "",
         "m.toml:10: node[1].computes: rows is 0 or missing; a memory that computes has 1 or more");
  expect("columns = 65536", "columns = 65537", "m.toml:10: node[1].computes: columns is 65537; write a multiple of 64");
  expect("rows = 1024", "rows = 65536", "m.toml:10: node[1].computes: rows is 65536; write at most 65535");
  expect("banks = 8", "banks = 2048",
         "m.toml:10: node[1].computes: banks x subarrays is 32768; write at most 32767 subarrays in all");
  expect("concurrent_subarrays = 64", "concurrent_subarrays = 129",
         "m.toml:10: node[1].computes: concurrent_subarrays is 129, and there are 128");
  expect("row_read_nJ = 0.8", "row_read_nJ = -0.8",
         "m.toml:10: node[1].computes: row_read_nJ is -0.8; write a finite number, not below zero");
  expect(
      "shift = \"4 ns\"", "AAP = \"4 ns\"",
      "m.toml:10: node[1].computes: AAP is a figure of ambit and simdram; remove it from a memory with design bitsimd");
  expect(
      "design = \"bitsimd\"", "design = \"ambit\"",
      "m.toml:10: node[1].computes: latch is a figure of imi and bitsimd; remove it from a memory with design ambit");
  expect("latch = \"3 ns\"", "latches = \"3 ns\"",
         "m.toml:18: node[1].computes.latches: unknown key; did you mean \"latch\"?");
}

TEST(toml, a_figure_of_computing_can_be_assumed) {
  std::vector<machine::assumption> assumed;
  const std::string text = std::string{computing} +
                           "assumed.computes.row_read = { low = \"30 ns\", high = \"60 ns\", source = \"why\" }\n"
                           "assumed.computes.latch_nJ = { low = 0, high = 0.1, source = \"why 2\" }\n";
  static_cast<void>(machine::parse_toml(text, "m.toml", nullptr, &assumed));
  // Marks are in the order of their keys.
  const std::vector<machine::assumption> expected{{"p.computes.latch_nJ", "0.01", "0", "0.1", {}, "why 2"},
                                                  {"p.computes.row_read", "46.5 ns", "30 ns", "60 ns", {}, "why"}};
  EXPECT_EQ(assumed, expected);
}

struct mistake {
  const char* text;     // of the file
  const char* message;  // how the error begins
};

TEST(toml, errors_name_file_line_and_key_and_say_what_to_write) {
  const mistake mistakes[] = {
      {"", "m.toml:1: name: missing; write name = \"...\""},
      {"name = 3\n", "m.toml:1: name: expected a string, found an integer"},
      {"name = \"x\"\n", "m.toml:1: a machine needs a core or a processing unit"},
      {"name = \"x\"\nnodes = 1\n", "m.toml:2: nodes: unknown key; did you mean \"node\"?"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\n", "m.toml:2: node[0].kind: missing; write kind = \"...\""},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"socket\"\n",
       "m.toml:4: node[0].kind: \"socket\" is not known; write one of \"package\", \"group\", \"cache\", \"core\", "
       "\"processing_unit\", \"memory\", \"device\""},
      {"name = \"x\"\n[[node]]\nkind = \"core\"\n", "m.toml:2: node[0].id: missing; write id = \"...\""},
      {"name = \"x\"\n[[node]]\nkind = \"core\"\nid = \"a[0]\"\n",
       "m.toml:4: node[0].id: an id is a word without brackets"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\n[[node]]\nid = \"a\"\nkind = \"core\"\n",
       "m.toml:6: node[1].id: \"a\" is taken"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nin = \"b\"\nkind = \"core\"\n",
       "m.toml:4: node[0].in: no [[node]] above has id = \"b\"; known: \"machine\""},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\ncount = -1\n",
       "m.toml:5: node[0].count: -1 nodes cannot be; write 0 or more"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\ncount = 0\n", "m.toml:5: node[0].count: no nodes at all"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\ncount = 99999999999\n",
       "m.toml:5: node[0].count: more than 1048576 nodes"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\ncount = [1, 1]\n",
       "m.toml:5: node[0].count: 2 numbers for 1 parents"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\ncount = 2\nos = \"0\"\n",
       "m.toml:6: node[0].os: 1 indices for 2 nodes"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\nos = \"a\"\n",
       "m.toml:5: node[0].os: \"a\" is no list of indices"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\nos = \"0-4294967295\"\n",
       "m.toml:5: node[0].os: \"0-4294967295\" is no list of indices"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"cache\"\n", "m.toml:2: node[0].level: a cache has a level"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\nlevel = 1\n",
       "m.toml:5: node[0].level: belongs to kind = \"cache\""},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"memory\"\nsize = \"16 gigs\"\n",
       "m.toml:5: node[0].size: \"16 gigs\" is no size in bytes; write it like \"96 GiB\""},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"memory\"\nlatencey = \"1 ns\"\n",
       "m.toml:5: node[0].latencey: unknown key; did you mean \"latency\"?"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"memory\"\n[[node]]\nid = \"b\"\nin = \"a\"\nkind = \"core\"\n",
       "m.toml:8: node[1].kind: a core under a dram: nothing hangs under a memory"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[path]]\nfrom = \"c\"\nto = \"m\"\n",
       "m.toml:7: path[0].to: no [[node]] has id = \"m\"; known: \"c\", \"machine\""},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[path]]\nfrom = \"c\"\nto = \"c[3]\"\n",
       "m.toml:7: path[0].to: there is no c[3]; the last is c[0]"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[path]]\nfrom = \"c\"\nto = \"c[0\"\n",
       "m.toml:7: path[0].to: \"c[0\" does not select nodes"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[path]]\nfrom = \"c\"\nto = \"c\"\n",
       "m.toml:7: path[0].to: leads to a node that is no memory"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[path]]\nfrom = \"c\"\nto = \"c\"\npairs = \"near\"\n",
       "m.toml:8: path[0].pairs: \"near\" is not known"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[path]]\nto = \"c\"\n",
       "m.toml:5: path[0].from: missing"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"processing_unit\"\nos = \"3,3\"\ncount = 2\n",
       "m.toml:1: pu 1 has the OS index 3 of another processor"},
      {"name = \"x\n", "m.toml:1: not valid TOML: "},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"core\"\nleakage = \"high\"\n",
       "m.toml:5: node[0].leakage: belongs to a memory or a cache, and this is kind = \"core\"; remove it"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"memory\"\nleakage = \"much\"\n",
       "m.toml:5: node[0].leakage: \"much\" is not known; write one of \"unknown\", \"low\", \"medium\", \"high\""},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"memory\"\naddressability = \"none\"\nos = \"0\"\n",
       "m.toml:6: node[0].os: a memory with addressability = \"none\" cannot be allocated from"},
      {"name = \"x\"\n[[node]]\nid = \"a\"\nkind = \"agent\"\n",
       "m.toml:4: node[0].kind: a agent under a machine: an agent hangs under the device that it gives work to"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\ncount = 2\n[[link]]\nends = [\"c\"]\n",
       "m.toml:6: link[0].kind: missing; write kind = \"...\""},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\ncount = 2\n[[link]]\nkind = \"optical\"\nends = [\"c\"]\n",
       "m.toml:7: link[0].kind: \"optical\" is not known; write one of \"coherent\", \"explicit\""},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[link]]\nkind = \"coherent\"\n",
       "m.toml:5: link[0]: a link has either ends = [\"...\"]"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[link]]\nkind = \"coherent\"\nends = [\"c\"]\n",
       "m.toml:7: link[0].ends: a link joins two nodes or more"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[link]]\nkind = \"explicit\"\nfrom = \"machine\"\nto = "
       "\"c\"\n",
       "m.toml:8: link[0].to: an explicit link joins memories and devices"},
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[link]]\nkind = \"coherent\"\nends = [\"c[0]\", "
       "\"c[0]\"]\n",
       "m.toml:7: link[0].ends: a link joins different nodes, and names each once"},
  };
  for (const mistake& m : mistakes) {
    try {
      (void)parse(m.text);
      ADD_FAILURE() << "accepted: " << m.text;
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::bad_file);
      EXPECT_EQ(error.message().substr(0, std::string_view{m.message}.size()), m.message) << m.text;
    }
  }
}

// A figure and its mark, in the head, a node, a table of a node, and a link.
constexpr std::string_view marked = R"(name = "m"
size = "4 GiB"
assumed.size = { low = "2 GiB", high = "8 GiB", source = "why 0" }
[[node]]
id = "core"
kind = "core"
count = 2
cycles = { integer = 1, floating = 8 }
assumed.cycles.floating = { low = 3, high = 8.5, source = "why 1" }
[[node]]
id = "l2"
kind = "cache"
level = 2
allocates_on = "reads"
assumed.allocates_on = { others = ["reads_and_writes"], source = "why 2" }
[[link]]
kind = "coherent"
ends = ["core"]
latency = "60 ns"
assumed.latency = { low = "0.02 us", high = "100 ns", source = "why 3" }
)";

TEST(toml, assumed_figures_come_with_their_ranges) {
  std::vector<machine::assumption> assumed;
  const tree made = machine::parse_toml(marked, "m.toml", nullptr, &assumed);
  const std::vector<machine::assumption> expected{{"size", "4 GiB", "2 GiB", "8 GiB", {}, "why 0"},
                                                  {"core.cycles.floating", "8", "3", "8.5", {}, "why 1"},
                                                  {"l2.allocates_on", "reads", "", "", {"reads_and_writes"}, "why 2"},
                                                  {"link.latency", "60 ns", "0.02 us", "100 ns", {}, "why 3"}};
  EXPECT_EQ(assumed, expected);
  EXPECT_EQ(machine::range_of(assumed[1]), "3 to 8.5");
  EXPECT_EQ(machine::range_of(assumed[2]), "or reads_and_writes");
  // They are marks of the file: the tree is the one of a file without them.
  std::string plain;
  for (std::string_view rest = marked; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    if (!line.starts_with("assumed")) plain += line;
    rest.remove_prefix(line.size());
  }
  EXPECT_EQ(made, parse(plain));
}

TEST(toml, of_several_links_each_has_its_number) {
  std::vector<machine::assumption> assumed;
  const std::string two = std::string{marked} +
                          "[[link]]\nkind = \"coherent\"\nends = [\"core\"]\nbandwidth = \"1 GB/s\"\n"
                          "assumed.bandwidth = { low = \"1 GB/s\", high = \"1 GB/s\", source = \"w\" }\n";
  static_cast<void>(machine::parse_toml(two, "m.toml", nullptr, &assumed));
  ASSERT_EQ(assumed.size(), 5U);
  EXPECT_EQ(assumed[3].figure, "link0.latency");
  EXPECT_EQ(assumed[4].figure, "link1.bandwidth");
}

TEST(toml, a_mark_has_a_figure_a_range_and_a_reason) {
  const std::string core = "name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\nwindow = 4\n";
  const auto message_of = [&](const std::string& line) {
    try {
      (void)parse(core + line + "\n");
    } catch (const situ::error& failure) {
      EXPECT_EQ(failure.code(), situ::errc::bad_file);
      return std::string{failure.message()};
    }
    return std::string{};
  };
  const auto expect = [&](const std::string& line, const std::string& message) {
    EXPECT_EQ(message_of(line).substr(0, message.size()), message) << line;
  };
  EXPECT_EQ(message_of("assumed.window = { low = 4, high = 4, source = \"s\" }"), "");
  expect("assumed.window = { low = 5, high = 8, source = \"s\" }",
         "m.toml:6: node[0].assumed.window: window = 4 is outside of the range from 5 to 8");
  expect("assumed.window = { low = 1, high = 3, source = \"s\" }",
         "m.toml:6: node[0].assumed.window: window = 4 is outside of the range from 1 to 3");
  expect("assumed.window = { low = 8, high = 2, source = \"s\" }",
         "m.toml:6: node[0].assumed.window.low: 8 is above high = 2");
  expect("assumed.window = { low = 1, source = \"s\" }",
         "m.toml:6: node[0].assumed.window: an assumed figure has a range");
  expect("assumed.window = { low = 1, high = 8 }", "m.toml:6: node[0].assumed.window: an assumed figure has a reason");
  expect("assumed.window = { low = 1, high = 8, sauce = \"s\" }",
         "m.toml:6: node[0].assumed.window.sauce: unknown key; did you mean \"source\"?");
  expect("assumed.window = { others = [\"2\"], source = \"s\" }",
         "m.toml:6: node[0].assumed.window.others: window is a number");
  expect("assumed.width = { low = 1, high = 8, source = \"s\" }",
         "m.toml:6: node[0].assumed.width: marks a figure that is not here; write width = as well");
  expect("assumed.kind = { others = [\"cache\"], source = \"s\" }",
         "m.toml:6: node[0].assumed.kind: is no figure that can be assumed");
  expect("assumed.cycles.floating = { low = 1, high = 8, source = \"s\" }",
         "m.toml:6: node[0].assumed.cycles: marks figures that are not here; write cycles = as well");
  expect("assumed.window = 4", "m.toml:6: node[0].assumed.window: expected a table");
}

TEST(toml, a_family_may_not_multiply_beyond_bounds) {
  std::string text = "name = \"bomb\"\n";
  for (int i = 0; i < 8; ++i)
    text += "[[node]]\nid = \"g" + std::to_string(i) + "\"\nkind = \"group\"\ncount = 1000\n" +
            (i > 0 ? "in = \"g" + std::to_string(i - 1) + "\"\n" : "");
  EXPECT_THROW((void)parse(text), situ::error);
}

TEST(toml, broken_bytes_are_an_error_and_no_crash) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  const std::string whole{knl};
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    try {
      (void)parse(whole.substr(0, length));
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::bad_file);
    }
  }
  for (int i = 0; i < 500; ++i) {
    std::string text = whole;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips)
      text[random() % text.size()] = static_cast<char>(random());
    try {
      (void)parse(text);
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::bad_file);
    }
  }
}

}  // namespace
