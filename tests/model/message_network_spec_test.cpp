#include "model/parts/message_network_spec.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/parts/machine_spec.h"
#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string bee3 = SITU_TEST_SOURCE_DIR "/../machines/bee3.toml";

TEST(MessageNetworkSpec, TheBee3IsTheSystemOfFigure9) {
  const message_network_spec spec = read_message_network(bee3);
  ASSERT_EQ(spec.chips.size(), 4u);
  ASSERT_EQ(spec.nodes.size(), 20u);
  EXPECT_THAT(spec.chips[0].nodes, ElementsAre(0, 1, 2, 3, 17));
  EXPECT_THAT(spec.chips[1].nodes, ElementsAre(4, 5, 6, 7, 18));
  EXPECT_THAT(spec.chips[3].nodes, ElementsAre(12, 13, 14, 15, 16));
  for (const message_chip_spec& each : spec.chips) EXPECT_EQ(each.bridges, 2u);
  EXPECT_EQ(spec.chips[3].name, "XC5VLX155T 3");
  for (std::uint32_t number = 0; number < 20; ++number) {
    const message_node_spec& node = spec.nodes[number];
    EXPECT_EQ(node.has_pams, number < 16);
    EXPECT_EQ(node.memory_bytes, 65'536u);
    EXPECT_EQ(node.tokens, 16u);
    EXPECT_EQ(spec.chips[node.chip].nodes[node.local], number);
  }
  EXPECT_EQ(spec.nodes[5].name, "PE 5");
  EXPECT_EQ(spec.nodes[5].chip, 1u);
  EXPECT_EQ(spec.nodes[5].local, 1u);
  EXPECT_EQ(spec.nodes[16].name, "MicroBlaze 16");
  EXPECT_EQ(spec.nodes[16].chip, 3u);
  EXPECT_EQ(spec.nodes[16].local, 4u);
  EXPECT_THAT(spec.nodes[16].where, HasSubstr("bee3.toml:"));
  EXPECT_EQ(spec.period, 10'000u);
  EXPECT_EQ(spec.fifo_words, 16u);
  EXPECT_EQ(spec.link_cycles, 3u);
}

TEST(MessageNetworkSpec, TheBee3SaysWhatItAssumes) {
  std::vector<std::string> figures;
  for (const machine::assumption& each : read_message_network(bee3).assumed) figures.push_back(each.figure);
  EXPECT_THAT(figures, ElementsAre("pe_gascore.entries", "microblaze_gascore.entries", "link0.queue", "link1.latency",
                                   "link1.queue"));
}

TEST(MessageNetworkSpec, SettingsReplaceFigures) {
  const message_network_spec spec =
      read_message_network(bee3, {"link1.latency=high", "link0.queue=32", "link1.queue=32", "pe_gascore.entries=2"});
  EXPECT_EQ(spec.link_cycles, 7u);
  EXPECT_EQ(spec.fifo_words, 32u);
  EXPECT_EQ(spec.nodes[0].tokens, 2u);
  EXPECT_EQ(spec.nodes[16].tokens, 16u);
  try {
    (void)read_message_network(bee3, {"pe_memory.size=48KiB"});
    ADD_FAILURE();
  } catch (const error& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("(with pe_memory.size=48KiB)"));
  }
}

TEST(MessageNetworkSpec, AFileThatIsNotThereIsNamed) {
  try {
    (void)read_message_network("no-such.toml");
    ADD_FAILURE();
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), errc::bad_file);
    EXPECT_THAT(failure.what(), HasSubstr("no-such.toml: cannot be read"));
  }
}

// Two chips, each with two nodes that have a PAMS, and the first also with one that has a core.
const std::string good = R"(name = "two chips"
[[node]]
id = "board"
kind = "group"
[[node]]
id = "chip"
in = "board"
kind = "group"
count = 2
[[node]]
id = "core_node"
in = "chip"
kind = "group"
count = [1, 0]
[[node]]
id = "core"
in = "core_node"
kind = "core"
clock = "50 MHz"
[[node]]
id = "core_ram"
in = "core_node"
kind = "memory"
size = "4 KiB"
[[node]]
id = "core_gascore"
in = "core_node"
kind = "device"
device = "gascore"
clock = "50 MHz"
entries = 4
[[node]]
id = "node"
in = "chip"
kind = "group"
name = "element"
count = 2
[[node]]
id = "gascore"
in = "node"
kind = "device"
device = "gascore"
clock = "50 MHz"
entries = 16
[[node]]
id = "pams"
in = "node"
kind = "device"
device = "pams"
clock = "50 MHz"
[[node]]
id = "ram"
in = "node"
kind = "memory"
size = "1 MiB"
[[node]]
id = "bridge"
in = "chip"
kind = "device"
device = "bridge"
count = 2
clock = "50 MHz"
[[link]]
kind = "explicit"
topology = "full"
ends = ["core_node", "node", "bridge"]
width_bits = 32
clock = "50 MHz"
queue = 8
[[link]]
kind = "explicit"
topology = "ring"
ends = ["chip"]
width_bits = 32
clock = "50 MHz"
latency = "100 ns"
queue = 8
)";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Returns the text without the table of the node with this id.
std::string without(std::string text, const std::string& id) {
  const std::size_t begin = text.find("[[node]]\nid = \"" + id + "\"");
  return text.erase(begin, text.find("\n[[", begin) + 1 - begin);
}

TEST(MessageNetworkSpec, NumbersNodesWithPamsFirst) {
  const message_network_spec spec = parse_message_network(good, "n.toml");
  ASSERT_EQ(spec.nodes.size(), 5u);
  EXPECT_THAT(spec.chips[0].nodes, ElementsAre(4, 0, 1));
  EXPECT_THAT(spec.chips[1].nodes, ElementsAre(2, 3));
  EXPECT_FALSE(spec.nodes[4].has_pams);
  EXPECT_EQ(spec.nodes[4].local, 0u);
  EXPECT_EQ(spec.nodes[4].name, "node 4");
  EXPECT_EQ(spec.nodes[0].name, "element 0");
  EXPECT_EQ(spec.nodes[4].memory_bytes, 4096u);
  EXPECT_EQ(spec.nodes[0].memory_bytes, 1'048'576u);
  EXPECT_EQ(spec.link_cycles, 5u);
  EXPECT_EQ(spec.period, 20'000u);
  EXPECT_EQ(spec.fifo_words, 8u);
  EXPECT_EQ(spec.chips[1].name, "chip 1");
  EXPECT_TRUE(spec.assumed.empty());
}

TEST(MessageNetworkSpec, TakesTheNumbersOfTheFile) {
  const message_network_spec spec = parse_message_network(with(with(good, "name = \"element\"\n", "os = \"3,1,4,0\"\n"),
                                                               "count = [1, 0]\n", "count = [1, 0]\nos = \"2\"\n"),
                                                          "n.toml");
  EXPECT_THAT(spec.chips[0].nodes, ElementsAre(2, 3, 1));
  EXPECT_THAT(spec.chips[1].nodes, ElementsAre(4, 0));
  EXPECT_FALSE(spec.nodes[2].has_pams);
}

// A tree without a file gives the same network.
TEST(MessageNetworkSpec, IsMadeOfATree) {
  const message_network_spec spec = message_network_spec::from(machine::parse_toml(good, ""));
  ASSERT_EQ(spec.nodes.size(), 5u);
  EXPECT_EQ(spec.nodes[0].where, "");
  EXPECT_TRUE(has_message_units(machine::parse_toml(good, "")));
  EXPECT_FALSE(has_message_units(machine::read_toml(SITU_TEST_SOURCE_DIR "/../machines/nemesys-2x2.toml")));
}

TEST(MessageNetworkSpec, OneChipHasNeitherRingNorBridges) {
  std::string text = without(good.substr(0, good.rfind("[[link]]")), "bridge");
  text = with(with(text, "count = 2", "count = 1"), "count = [1, 0]\n", "");
  text = with(text, ", \"bridge\"", "");
  const message_network_spec spec = parse_message_network(text, "n.toml");
  EXPECT_EQ(spec.chips.size(), 1u);
  EXPECT_EQ(spec.nodes.size(), 3u);
  EXPECT_EQ(spec.chips[0].bridges, 0u);
  EXPECT_EQ(spec.link_cycles, 0u);
}

struct mistake {
  std::string text;
  std::string message;
};

void expect_errors(const std::vector<mistake>& mistakes) {
  for (const mistake& each : mistakes) {
    try {
      (void)parse_message_network(each.text, "n.toml");
      ADD_FAILURE() << "accepted, but expected: " << each.message;
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), errc::bad_file);
      EXPECT_THAT(std::string{failure.what()}, HasSubstr(each.message));
      EXPECT_THAT(std::string{failure.what()}, HasSubstr("n.toml:"));
    }
  }
}

TEST(MessageNetworkSpec, MistakesInNodesNameThemAndWhatIsAllowed) {
  const std::string gascore_of_core = "id = \"core_gascore\"\nin = \"core_node\"";
  expect_errors({
      {"name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n",
       "machine: a network of messages needs nodes: groups with a device = \"gascore\""},
      {without(good, "core_ram"), "group 2: a node has one memory, which its gascore reads and writes, not 0"},
      {with(good, "id = \"ram\"\nin = \"node\"", "id = \"ram\"\ncount = 2\nin = \"node\""),
       "memory, which its gascore"},
      {with(with(without(good, "board"), "in = \"board\"\n", ""), gascore_of_core,
            "id = \"core_gascore\"\nin = \"chip\""),
       "group 0: a node stands on a chip"},
      {with(good, gascore_of_core, "id = \"core_gascore\""), "a gascore stands in the group of its node; add a"},
      {with(good, gascore_of_core, "count = 2\n" + gascore_of_core), "a node has one gascore; remove the other"},
      {without(good, "core_gascore"), "n.toml:10: node[2]: group 2: has no part in a network of messages"},
      {without(good, "gascore"), "pams device 1: a pams needs a gascore, which sends for it"},
      {with(good, "id = \"core\"\nin = \"core_node\"", "id = \"core\"\ncount = 2\nin = \"core_node\""),
       "group 2: a node has one pams or one core for its gascore to serve, not 2"},
      {with(good, "id = \"pams\"\nin = \"node\"", "id = \"pams\"\nin = \"node\"\ncount = 2"), "to serve, not 2"},
      {with(good, "in = \"core_node\"\nkind = \"device\"\ndevice = \"gascore\"",
            "in = \"core_node\"\nkind = \"device\"\ndevice = \"dma\""),
       "has no part in a network of messages; chips, nodes and bridges are allowed"},
      {with(good, "[[link]]", "[[node]]\nid = \"dma\"\nin = \"node\"\nkind = \"device\"\ndevice = \"dma\"\n[[link]]"),
       "has no part in a node; a gascore, a memory, and a pams or a core are allowed"},
      {with(good, "id = \"bridge\"\nin = \"chip\"", "id = \"bridge\""), "a bridge stands on a chip, beside its nodes"},
      {with(good, "entries = 4", ""), "gascore device 0: a gascore needs entries: the tokens that it has"},
      {with(good, "entries = 4", "entries = 257"), "entries = 257 cannot be; a gascore has 1 to 256 tokens"},
      {with(good, "device = \"pams\"", "device = \"pams\"\nentries = 16"), "entries is of a gascore, its tokens"},
      {with(good, "4 KiB", "12 KiB"), "a size of 12 KiB cannot be; a power of two from 4 B to 1 MiB is allowed"},
      {with(good, "1 MiB", "2 MiB"), "dram 1: a size of 2 MiB cannot be; a power of two from 4 B to 1 MiB is allowed"},
      {with(good, "size = \"4 KiB\"", ""), "dram 0: a size of 0 B cannot be"},
      {with(good, "count = 2\n[[node]]\nid = \"gascore\"", "count = 600\n[[node]]\nid = \"gascore\""),
       "1201 nodes cannot be; at most 1024 are allowed"},
      {with(good, "count = 2\n[[node]]\nid = \"gascore\"", "count = 31\n[[node]]\nid = \"gascore\""),
       "nodes on a chip cannot be; at most 30 are allowed"},
  });
}

TEST(MessageNetworkSpec, MistakesInNumbersNameThem) {
  const std::string numbered = with(good, "count = [1, 0]\n", "count = [1, 0]\nos = \"4\"\n");
  expect_errors({
      {numbered, "some nodes have a number, os =, and others have none; give it to all or to none"},
      {with(numbered, "name = \"element\"\n", "os = \"0-2,5\"\n"),
       "has the number os = 5; the 5 nodes have the numbers from 0 to 4, each once"},
      {with(numbered, "name = \"element\"\n", "os = \"0-2,2\"\n"), "has the number os = 2; the 5 nodes have"},
  });
}

TEST(MessageNetworkSpec, MistakesInLinksNameThem) {
  const std::string full_line = "ends = [\"core_node\", \"node\", \"bridge\"]\n";
  const std::string full = good.substr(good.find("[[link]]"), good.rfind("[[link]]") - good.find("[[link]]"));
  const std::string ring = good.substr(good.rfind("[[link]]"));
  expect_errors({
      {with(good, "clock = \"50 MHz\"\nentries = 4", "entries = 4"), "gascore device 0: needs a clock"},
      {with(good, "clock = \"50 MHz\"", "clock = \"50 GHz\""),
       "core 0: has a clock of 50 GHz; at most 10 GHz are allowed"},
      {with(good, "device = \"bridge\"\ncount = 2\nclock = \"50 MHz\"",
            "device = \"bridge\"\ncount = 2\nclock = \"60 MHz\""),
       "has a clock of 60 MHz, and the parts before it one of 50 MHz; give all parts one clock"},
      {with(good, "clock = \"50 MHz\"\nlatency", "clock = \"100 MHz\"\nlatency"), "its link has a clock of 100 MHz"},
      {with(good, "clock = \"50 MHz\"\nlatency", "latency"), "its link needs a clock"},
      {with(good, "width_bits = 32", "width_bits = 64"), "its link needs width_bits = 32, a word of a message, not 64"},
      {with(good, "queue = 8", ""), "its link needs a queue, the words of a FIFO's lane, from 1 to 1024, not 0"},
      {with(good, "queue = 8", "queue = 1025"), "from 1 to 1024, not 1025"},
      {with(good, "latency = \"100 ns\"\nqueue = 8", "latency = \"100 ns\"\nqueue = 9"),
       "its link has a queue of 9, and links before it one of 8; all FIFOs have one length"},
      {with(good, "queue = 8", "queue = 8\nbandwidth = \"100 MB/s\""),
       "its link has a bandwidth of 100 MB/s, and a word a cycle is 200 MB/s; leave the bandwidth out"},
      {with(good, "queue = 8", "queue = 8\nlatency = \"80 ns\""), "its full link has a latency, which follows from"},
      {with(good, "\"100 ns\"", "\"90 ns\""),
       "its ring has a latency of 4.5 cycles; from 3 (OUT, WIRE and IN of 20 ns) to 1024 whole ones are allowed"},
      {with(good, "\"100 ns\"", "\"40 ns\""), "its ring has a latency of 2 cycles"},
      {with(good, "latency = \"100 ns\"", ""), "its ring has a latency of 0 cycles"},
      {with(good, full_line, "ends = [\"core_node\", \"node\", \"bridge[1-3]\"]\n"),
       "is no end of the full link, which joins the nodes and bridges of the chip; add it to ends ="},
      {with(good, full_line, "ends = [\"node[0]\", \"node[2]\", \"bridge\"]\n"), "is no end of the full link"},
      {with(good, full_line, "ends = [\"node[0]\", \"node[2]\"]\n"), "node[0] is the only one under chip[0]"},
      {with(good, "ends = [\"chip\"]", "ends = [\"chip\", \"bridge[0]\"]"),
       "is an end of a ring, which joins the chips"},
      {with(good, "ends = [\"chip\"]", "ends = [\"chip[0]\"]"), "a ring joins two nodes or more"},
      {good.substr(0, good.rfind("[[link]]")), "several chips need a [[link]] with topology = \"ring\""},
      {with(good, full, ""), "a chip needs a [[link]] with topology = \"full\" that joins its nodes and bridges"},
      {good + ring, "a network of messages has one ring; remove the other"},
      {good + full, "a chip has one full link; remove the other"},
      {good + "[[link]]\nkind = \"coherent\"\nends = [\"chip\"]\n",
       "its link of topology \"direct\" has no part in a network of messages"},
      {with(good, "device = \"bridge\"\ncount = 2", "device = \"bridge\"\ncount = 3"),
       "has 3 bridges; on a ring a chip has two: to the next chip and to the previous one"},
  });
}

// Programs of Situ do not run there, and the sentence says why.
TEST(MessageNetworkSpec, IsNoMachineForProgramsOfSitu) {
  try {
    (void)read_machine(bee3);
    ADD_FAILURE();
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), errc::bad_file);
    EXPECT_THAT(
        std::string{failure.what()},
        HasSubstr("bee3.toml:1: machine: its nodes run programs for PAMS (docs/design/message_units.md), and none of "
                  "Situ's: a place "
                  "needs 292 KiB of channels for each place that sends to it, and a node has a memory of 64 KiB"));
  }
}

}  // namespace
}  // namespace situ::model
