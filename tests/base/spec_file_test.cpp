#include <situ/base/error.h>
#include <situ/base/spec_file.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace {

// The message of the error that the body throws.
template <class Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const situ::error& error) {
    EXPECT_EQ(error.code(), situ::errc::bad_file);
    return std::string{error.message()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

situ::spec_table parse(std::string_view text) { return situ::parse_spec(text, "study.toml"); }

TEST(spec_file, reads_every_type) {
  const situ::spec_table spec = parse(R"(
title = "five point"
steps = 12
weight = 0.25
whole = 3
fast = true
sizes = [1, 2, 3]
names = ["a", "b"]
memory = "64 MiB"
rate = "314 GB/s"
clock = "1.3 GHz"
latency = "105 ns"
[grid]
x = 7
[[block]]
name = "left"
[[block]]
name = "right"
count = 2
)");
  EXPECT_EQ(spec.text("title"), "five point");
  EXPECT_EQ(spec.integer("steps"), 12);
  EXPECT_DOUBLE_EQ(spec.number("weight"), 0.25);
  EXPECT_DOUBLE_EQ(spec.number("whole"), 3);
  EXPECT_TRUE(spec.boolean("fast", false));
  EXPECT_EQ(spec.integers("sizes"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(spec.texts("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(spec.bytes("memory"), 64u << 20);
  EXPECT_EQ(spec.bandwidth("rate", 0), 314'000'000'000u);
  EXPECT_EQ(spec.hertz("clock", 0), 1'300'000'000u);
  EXPECT_DOUBLE_EQ(spec.nanoseconds("latency", 0), 105);
  EXPECT_EQ(spec.table("grid").integer("x"), 7);
  const std::vector<situ::spec_table> blocks = spec.tables("block");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].text("name"), "left");
  EXPECT_EQ(blocks[0].integer("count", 1), 1);
  EXPECT_EQ(blocks[1].integer("count", 1), 2);
  EXPECT_TRUE(spec.tables("none").empty());
  EXPECT_TRUE(spec.has("steps"));
  EXPECT_FALSE(spec.has("step"));
  EXPECT_TRUE(spec.is_array("sizes"));
}

TEST(spec_file, absent_keys_take_the_fallback_or_are_demanded) {
  const situ::spec_table spec = parse("a = 1\n");
  EXPECT_EQ(spec.text("t", "x"), "x");
  EXPECT_EQ(spec.integer("i", 4), 4);
  EXPECT_EQ(spec.bytes("b", 5), 5u);
  EXPECT_FALSE(spec.boolean("f", false));
  EXPECT_EQ(message_of([&] { (void)spec.text("t"); }), "study.toml:1: t: missing; write t = \"...\"");
  EXPECT_EQ(message_of([&] { (void)spec.bytes("b"); }), "study.toml:1: b: missing; write b = \"64 MiB\"");
}

TEST(spec_file, a_wrong_type_names_file_line_key_and_what_to_write) {
  const situ::spec_table spec =
      parse("a = 1\nb = \"x\"\n\nc = [1, \"2\"]\n[[node]]\n[[node]]\nsize = 3\nlatency = \"5 min\"\n");
  EXPECT_EQ(message_of([&] { (void)spec.text("a"); }),
            "study.toml:1: a: expected a string, found an integer; put it in quotes");
  EXPECT_EQ(message_of([&] { (void)spec.integer("b"); }),
            "study.toml:2: b: expected an integer, found a string; write b = 1, without quotes or a point");
  EXPECT_EQ(message_of([&] { (void)spec.integers("c"); }),
            "study.toml:4: c: expected integers, found a string among them; write c = [1, 2]");
  EXPECT_EQ(message_of([&] { (void)spec.table("a"); }),
            "study.toml:1: a: expected a table, found an integer; write [a]");
  EXPECT_EQ(message_of([&] { (void)spec.tables("b"); }),
            "study.toml:2: b: expected an array of tables, found a string; write [[b]]");
  const situ::spec_table node = spec.tables("node").at(1);
  EXPECT_EQ(message_of([&] { (void)node.bytes("size"); }),
            "study.toml:7: node[1].size: expected a quantity with its unit, found an integer; write size = \"64 MiB\"");
  EXPECT_EQ(message_of([&] { (void)node.nanoseconds("latency", 0); }),
            "study.toml:8: node[1].latency: \"5 min\" is no duration; write it like \"105 ns\"");
}

TEST(spec_file, unknown_keys_are_refused_with_the_nearest_known_one) {
  const situ::spec_table spec = parse("size = 1\ncuont = 2\n");
  EXPECT_EQ(message_of([&] { spec.allow_only({"size", "count"}); }),
            "study.toml:2: cuont: unknown key; did you mean \"count\"?");
  EXPECT_EQ(message_of([&] { spec.allow_only({"cuont", "weight"}); }),
            "study.toml:1: size: unknown key; known here: cuont, weight");
  EXPECT_NO_THROW(spec.allow_only({"size", "cuont", "more"}));
}

TEST(spec_file, what_is_no_toml_names_the_line) {
  const std::string message = message_of([] { (void)parse("a = 1\nb = = 2\n"); });
  EXPECT_EQ(message.substr(0, 31), "study.toml:2: not valid TOML: E") << message;
  EXPECT_EQ(message_of([] { (void)parse("a = 1\na = 2\n"); }).substr(0, 30), "study.toml:2: not valid TOML: ");
  EXPECT_NE(message_of([] { (void)parse("a = 1979-05-27\n"); }).find("study.toml:1: dates"), std::string::npos);
}

TEST(spec_file, deep_nesting_is_an_error_and_no_crash) {
  EXPECT_THROW((void)parse("a = " + std::string(100000, '[')), situ::error);
}

TEST(spec_file, a_table_outlives_the_document_it_came_from) {
  const situ::spec_table inner = [] { return parse("[a.b]\nc = 5\n").table("a").table("b"); }();
  EXPECT_EQ(inner.integer("c"), 5);
  EXPECT_EQ(message_of([&] { (void)inner.text("c"); }),
            "study.toml:2: a.b.c: expected a string, found an integer; put it in quotes");
}

TEST(spec_file, files_are_read_or_said_to_be_unreadable) {
  const std::string path = testing::TempDir() + "situ_spec_file_test.toml";
  std::ofstream{path} << "a = 1\n";
  EXPECT_EQ(situ::read_spec(path).integer("a"), 1);
  std::remove(path.c_str());
  EXPECT_NE(message_of([&] { (void)situ::read_spec(path); }).find(path), std::string::npos);
}

}  // namespace
