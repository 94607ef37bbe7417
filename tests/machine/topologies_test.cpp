// Links of the shapes "full" and "ring" in machine files: chips that are groups of nodes.
#include <situ/base/error.h>
#include <situ/machine/machine.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "support/build_paths.h"

namespace {

namespace machine = situ::machine;
using machine::node_id;
using machine::tree;
using testing::ElementsAre;
using testing::HasSubstr;

// Two nodes and two bridges on each of three chips.
const std::string chips = R"(name = "chips"
[[node]]
id = "chip"
kind = "group"
name = "chip"
count = 3
[[node]]
id = "node"
in = "chip"
kind = "group"
name = "node"
count = 2
[[node]]
id = "core"
in = "node"
kind = "core"
[[node]]
id = "gascore"
in = "node"
kind = "device"
device = "gascore"
entries = 16
clock = "100 MHz"
[[node]]
id = "pams"
in = "node"
kind = "device"
device = "pams"
[[node]]
id = "bridge"
in = "chip"
kind = "device"
device = "bridge"
count = 2
)";

const std::string full = R"([[link]]
kind = "explicit"
name = "NetIfs"
topology = "full"
ends = ["node", "bridge"]
width_bits = 32
clock = "100 MHz"
queue = 16
)";

const std::string ring = R"([[link]]
kind = "explicit"
name = "ring"
topology = "ring"
ends = ["chip[2]", "chip[0-1]"]
width_bits = 32
clock = "100 MHz"
latency = "30 ns"
queue = 16
)";

tree parse(const std::string& text) { return machine::parse_toml(text, "m.toml"); }

std::vector<std::string> labels(const tree& t, const std::vector<node_id>& ids) {
  std::vector<std::string> made;
  for (const node_id id : ids) made.push_back(t.label(id));
  return made;
}

TEST(Topologies, AFullLinkIsOneForEachParentOfItsEnds) {
  const tree t = parse(chips + full);
  ASSERT_EQ(t.links().size(), 3u);
  EXPECT_THAT(labels(t, t.links()[0].ends), ElementsAre("group 1", "group 2", "bridge device 4", "bridge device 5"));
  EXPECT_THAT(labels(t, t.links()[2].ends), ElementsAre("group 7", "group 8", "bridge device 16", "bridge device 17"));
  for (const machine::link& each : t.links()) {
    EXPECT_EQ(each.kind, machine::link_kind::copying);
    EXPECT_EQ(each.name, "NetIfs");
    EXPECT_EQ(each.shape, machine::topology::full);
    EXPECT_EQ(each.width_bits, 32u);
    EXPECT_EQ(each.hertz, 100'000'000u);
    EXPECT_EQ(each.queue, 16u);
  }
}

TEST(Topologies, TheEndsOfARingStandInTreeOrder) {
  const tree t = parse(chips + ring);
  ASSERT_EQ(t.links().size(), 1u);
  EXPECT_THAT(labels(t, t.links()[0].ends), ElementsAre("group 0", "group 3", "group 6"));
  EXPECT_EQ(t.links()[0].shape, machine::topology::ring);
  EXPECT_EQ(t.links()[0].latency_ns, 30);
}

TEST(Topologies, DevicesOfANetworkOfMessagesHaveTheirKinds) {
  const tree t = parse(chips);
  std::vector<machine::device_kind> kinds;
  for (const node_id id : t.all(machine::node_kind::device)) kinds.push_back(t.at(id).device);
  using enum machine::device_kind;
  EXPECT_THAT(std::vector(kinds.begin(), kinds.begin() + 6), ElementsAre(gascore, pams, gascore, pams, bridge, bridge));
  EXPECT_EQ(t.at(t.all(machine::node_kind::device)[0]).entries, 16u);
}

TEST(Topologies, RoundTrip) {
  const tree t = parse(chips + full + ring);
  const std::string text = machine::to_toml(t);
  EXPECT_EQ(parse(text), t) << text;
  EXPECT_EQ(machine::to_toml(parse(text)), text);
}

TEST(Topologies, ADrawingNamesTheShape) {
  const std::string text = machine::draw(parse(chips + full + ring));
  EXPECT_THAT(text, HasSubstr("link explicit \"NetIfs\" full of 32 bits 100 MHz: group 1-2, bridge device 4-5\n"));
  EXPECT_THAT(text, HasSubstr("link explicit \"ring\" 30 ns ring of 32 bits 100 MHz: group 0, group 3, group 6\n"));
}

TEST(Topologies, TheBee3IsDrawn) {
  EXPECT_EQ(machine::draw(machine::read_toml(SITU_TEST_SOURCE_DIR "/../machines/bee3.toml"), {.unicode = false}),
            "machine \"BEE3\" (1.25 MiB, 4 processors)\n"
            "`- 4 x package 0-3 \"XC5VLX155T\"\n"
            "   |- 4 x group 0-3 \"PE\"\n"
            "   |  |- scratchpad 0 \"BlockRAM\" 64 KiB\n"
            "   |  |- pams device 0 100 MHz\n"
            "   |  `- gascore device 1 100 MHz\n"
            "   |- group 4 \"MicroBlaze\"\n"
            "   |  |- scratchpad 4 \"BlockRAM\" 64 KiB\n"
            "   |  |- core 0 100 MHz\n"
            "   |  `- gascore device 8 100 MHz\n"
            "   |- bridge device 9 \"OCCC\" 100 MHz\n"
            "   `- bridge device 10 \"OCCC\" 100 MHz\n"
            "link explicit \"NetIfs\" full of 32 bits 100 MHz: group 0-4, bridge device 9-10\n"
            "link explicit \"NetIfs\" full of 32 bits 100 MHz: group 5-9, bridge device 20-21\n"
            "link explicit \"NetIfs\" full of 32 bits 100 MHz: group 10-14, bridge device 31-32\n"
            "link explicit \"NetIfs\" full of 32 bits 100 MHz: group 15-19, bridge device 42-43\n"
            "link explicit \"board ring\" 30 ns 400 MB/s ring of 32 bits 100 MHz: package 0-3\n");
}

TEST(Topologies, JsonHasTheShapeAndTheQueue) {
  const auto json = nlohmann::json::parse(machine::to_json(parse(chips + full)));
  const auto& link = json["links"][0];
  EXPECT_EQ(link["topology"], "full");
  EXPECT_EQ(link["queue"], 16);
  EXPECT_EQ(link["ends"].size(), 4u);
  EXPECT_EQ(json["nodes"][4]["device"], "gascore");
}

// Chips that a view hides leave their nodes, which still have one parent.
TEST(Topologies, ViewsKeepLinksOfTheNodesThatTheyShow) {
  const tree t = parse(chips + full + ring);
  const tree seen = machine::view(t, machine::parse_view("workers,devices,accelerators,links"));
  EXPECT_EQ(seen.links().size(), 3u);  // of the bridges of each chip
  EXPECT_EQ(machine::view(t, machine::parse_view("packages,links")).links().size(), 4u);
  EXPECT_EQ(parse(machine::to_toml(seen)), seen);
}

// A program gives work to GAScore and PAMS; a bridge only leads on.
TEST(Topologies, ABridgeIsNoAccelerator) {
  const tree seen = machine::view(parse(chips), machine::parse_view("accelerators"));
  EXPECT_EQ(seen.all(machine::node_kind::device).size(), 12u);
}

TEST(Topologies, MistakesNameTheLineAndWhatToWrite) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const struct {
    std::string text, message;
  } mistakes[] = {
      {with(full, "\"node\", \"bridge\"", "\"node[0]\", \"node[2-3]\""),
       "m.toml:39: link[0].ends: a full link joins the ends under each node, and node[0] is the only one under "
       "chip[0]"},
      {with(full, "\"node\", \"bridge\"", "\"gascore\""),
       "m.toml:39: link[0].ends: a full link joins the ends under each node, and gascore[0] is the only one under "
       "node[0]"},
      {with(ring, "\"chip[2]\", \"chip[0-1]\"", "\"chip[2]\""),
       "m.toml:39: link[0].ends: a ring joins two nodes or more"},
      {with(ring, "ends = [\"chip[2]\", \"chip[0-1]\"]", "from = \"chip[0]\"\nto = \"chip[1]\""),
       "m.toml:38: link[0].topology: a ring link joins all of its ends; write ends = [\"...\"] in place of"},
      {with(ring, "latency", "columns = 3\nlatency"),
       "m.toml:39: link[0].ends: columns and rows are those of a mesh or a torus"},
      {with(full, "queue = 16", "raw_bytes = 40"),
       "m.toml:39: link[0].ends: raw channels are those of a mesh or a torus"},
      {with(ring, "topology = \"ring\"\n", ""), "m.toml:38: link[0].ends: an explicit link joins memories and devices"},
      {with(with(ring, "explicit", "coherent"), "topology = \"ring\"\n", ""),
       "m.toml:38: link[0].ends: a width and a clock are those of a mesh, a torus, a full link or a ring"},
      {"[[link]]\nkind = \"coherent\"\nends = [\"chip\"]\nqueue = 4\n",
       "m.toml:37: link[0].ends: a queue is that of a full link or a ring"},
      {with(ring, "\"ring\"\nends", "\"star\"\nends"),
       "m.toml:38: link[0].topology: \"star\" is not known; write one of \"direct\", \"mesh\", \"torus\", \"full\", "
       "\"ring\""},
  };
  for (const auto& each : mistakes) {
    try {
      (void)parse(chips + each.text);
      ADD_FAILURE() << "accepted: " << each.text;
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::bad_file);
      EXPECT_THAT(error.message(), testing::StartsWith(each.message)) << each.text;
    }
  }
}

// A file cannot have such links: its reader parts the ends by their parents.
TEST(Topologies, ABuiltFullLinkHasOneParentAndNoMemories) {
  machine::tree_builder builder{"built"};
  const auto add = [&](node_id parent, machine::node_kind kind) {
    machine::node_facts facts;
    facts.kind = kind;
    return builder.add(parent, facts);
  };
  const node_id chip = add(machine::root_node, machine::node_kind::package);
  const node_id first = add(chip, machine::node_kind::group);
  const node_id other = add(machine::root_node, machine::node_kind::group);
  const node_id memory = add(chip, machine::node_kind::memory);
  machine::link joined;
  joined.shape = machine::topology::full;
  for (const node_id wrong : {other, memory}) {
    joined.ends = {first, wrong};
    EXPECT_THROW(builder.add_link(joined), situ::error);
  }
  joined.ends = {first, add(chip, machine::node_kind::core)};
  EXPECT_NO_THROW(builder.add_link(joined));
}

}  // namespace
