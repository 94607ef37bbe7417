#include "base/json.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using situ::detail::json;

TEST(json, writes_each_kind_of_value) {
  json out{{"null", json{}},
           {"yes", true},
           {"signed", -5},
           {"unsigned", ~std::uint64_t{0}},
           {"small", 0.5f},
           {"number", 0.1},
           {"text", "a\"b\n"},
           {"string", std::string{"c"}},
           {"view", std::string_view{"d"}},
           {"list", std::vector<std::uint32_t>{1, 2}},
           {"inner", {{"x", 1}}}};
  EXPECT_EQ(out.text(-1),
            R"({"null":null,"yes":true,"signed":-5,"unsigned":18446744073709551615,"small":0.5,"number":0.1,)"
            R"("text":"a\"b\n","string":"c","view":"d","list":[1,2],"inner":{"x":1}})");
}

TEST(json, keeps_the_order_of_members_and_replaces_by_name) {
  json out;
  out.set("b", 1);
  out.set("a", 2);
  out.set("b", 3);
  EXPECT_EQ(out.text(-1), R"({"b":3,"a":2})");
  EXPECT_EQ(out.text(1), "{\n \"b\": 3,\n \"a\": 2\n}");
}

TEST(json, an_array_has_what_is_pushed) {
  json rows = json::array();
  EXPECT_EQ(rows.text(-1), "[]");
  json row{{"a", 1}};
  rows.push(std::move(row));
  rows.push(json::array());
  EXPECT_EQ(rows.text(-1), R"([{"a":1},[]])");
}

TEST(json, bytes_that_are_no_text_are_refused_or_replaced) {
  const json out{{"name", "\xff"}};
  EXPECT_THROW((void)out.text(-1), situ::error);
  EXPECT_EQ(out.text(-1, json::bad_utf8::replaced), "{\"name\":\"\xef\xbf\xbd\"}");
}

TEST(json, parses_what_it_writes) {
  const std::string text = R"({"b":[1,2.5,"x"],"a":null})";
  EXPECT_EQ(json::parse(text).text(-1), text);
  EXPECT_THROW((void)json::parse("{\"a\":"), situ::error);
}

}  // namespace
