#include <situ/machine/discover.h>
#include <situ/machine/draw.h>
#include <situ/machine/toml.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

namespace machine = situ::machine;

const char* const small = "pack:2 [numa(memory=4294967296)] l2:1(size=1048576) core:2 pu:1";

TEST(draw, unicode) {
  EXPECT_EQ(machine::draw(machine::from_synthetic(small)),
            "machine (8 GiB, 4 processors)\n"
            "├─ package 0\n"
            "│  ├─ dram 0 4 GiB\n"
            "│  └─ L2 0 1 MiB\n"
            "│     ├─ core 0 + pu 0\n"
            "│     └─ core 1 + pu 1\n"
            "└─ package 1\n"
            "   ├─ dram 1 4 GiB\n"
            "   └─ L2 1 1 MiB\n"
            "      ├─ core 2 + pu 2\n"
            "      └─ core 3 + pu 3\n");
}

TEST(draw, ascii_and_collapsed) {
  EXPECT_EQ(machine::draw(machine::from_synthetic("pack:1 [numa(memory=4294967296)] core:64 pu:2"), {.unicode = false}),
            "machine (4 GiB, 128 processors)\n"
            "`- package 0\n"
            "   |- dram 0 4 GiB\n"
            "   `- 64 x core 0-63\n"
            "      |- pu 0\n"
            "      `- pu 1\n");
}

TEST(draw, only_siblings_that_look_alike_are_drawn_once) {
  const machine::tree t = machine::parse_toml(R"(
name = "big and little"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
[[node]]
id = "little"
kind = "core"
count = 4
clock = "1 GHz"
[[node]]
id = "big"
kind = "core"
count = 4
clock = "3 GHz"
)",
                                              "x.toml");
  EXPECT_EQ(machine::draw(t, {.unicode = false}),
            "machine \"big and little\" (1 GiB, 8 processors)\n"
            "|- dram 0 1 GiB\n"
            "|- 4 x core 0-3 1 GHz\n"
            "`- 4 x core 4-7 3 GHz\n");
}

TEST(json, numbers_are_in_base_units_and_unknown_figures_left_out) {
  const auto json = nlohmann::json::parse(machine::to_json(machine::parse_toml(R"(
name = "x"
[[node]]
id = "m"
kind = "memory"
memory = "hbm"
size = "16 GiB"
latency = "150 ns"
[[node]]
id = "c"
kind = "core"
clock = "1.3 GHz"
[[path]]
from = "c"
to = "m"
bandwidth = "314 GB/s"
)",
                                                                               "x.toml")));
  EXPECT_EQ(json["name"], "x");
  ASSERT_EQ(json["nodes"].size(), 3u);
  const auto& memory = json["nodes"][1];
  EXPECT_EQ(memory["kind"], "memory");
  EXPECT_EQ(memory["memory"], "hbm");
  EXPECT_EQ(memory["label"], "hbm 0");
  EXPECT_EQ(memory["parent"], 0);
  EXPECT_EQ(memory["bytes"], 16ull << 30);
  EXPECT_EQ(memory["latency_ns"], 150);
  EXPECT_FALSE(memory.contains("bandwidth"));
  EXPECT_EQ(json["nodes"][2]["hertz"], 1'300'000'000);
  EXPECT_EQ(json["nodes"][2]["processors"], "0");
  ASSERT_EQ(json["paths"].size(), 1u);
  EXPECT_EQ(json["paths"][0]["bandwidth"], 314'000'000'000);
  EXPECT_EQ(json["paths"][0]["from"], 2);
}

}  // namespace
