// The parts of json_ship that need no second place: reading, changing, comparing, writing; and what a clone keeps of a
// document.
#include "document.h"
#include "read.h"
#include "support/places.h"

#include <situ/graph.h>
#include <situ/situ.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>

namespace json_ship {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

// Documents lie in a place's segment: a job of one.
class JsonShipDocument : public testing::Test {
  situ::runtime runtime_;
};

std::string round_trip(const std::string& text) { return to_text(*parse_document(text)->get()); }

std::string error_of(const std::string& text, const read_options& options = {}) {
  try {
    (void)parse_document(text, options);
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::bad_file);
    return std::string{e.message()};
  }
  return "none";
}

TEST_F(JsonShipDocument, HoldsEveryKindOfValue) {
  const auto d = parse_document(
      R"( {"a": [1, -2, 18446744073709551615, 2.5, "x\n\u00e9", true, false, null, {}, []], "b": {"a": 0}} )");
  const record* const top = situ::cast<record>(d->get()->top);
  ASSERT_NE(top, nullptr);
  ASSERT_EQ(top->members.size(), 2U);
  EXPECT_EQ(top->members[0].name->characters, "a");
  const list* const l = situ::cast<list>(top->members[0].content);
  ASSERT_NE(l, nullptr);
  ASSERT_EQ(l->elements.size(), 10U);
  EXPECT_EQ(situ::cast<integer>(l->elements[0])->number, 1);
  EXPECT_EQ(situ::cast<integer>(l->elements[1])->number, -2);
  EXPECT_EQ(situ::cast<natural>(l->elements[2])->number, 18446744073709551615U);
  EXPECT_EQ(situ::cast<real>(l->elements[3])->number, 2.5);
  EXPECT_EQ(situ::cast<text>(l->elements[4])->characters, "x\n\xc3\xa9");
  EXPECT_EQ(situ::cast<constant>(l->elements[5])->what, constant::yes);
  EXPECT_EQ(situ::cast<constant>(l->elements[6])->what, constant::no);
  EXPECT_EQ(situ::cast<constant>(l->elements[7])->what, constant::null);
  EXPECT_TRUE(situ::cast<record>(l->elements[8])->members.empty());
  EXPECT_TRUE(situ::cast<list>(l->elements[9])->elements.empty());
  const record* const inner = situ::cast<record>(top->members[1].content);
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->members[0].name, top->members[0].name) << "one name is one object";
  EXPECT_EQ(d->census(), (census{.records = 3,
                                 .members = 3,
                                 .names = 2,
                                 .lists = 2,
                                 .texts = 1,
                                 .integers = 3,
                                 .naturals = 1,
                                 .reals = 1,
                                 .constants = 3,
                                 .depth = 3}));
  EXPECT_TRUE(situ::ptr<document>{d->get()}.is_here());
  EXPECT_TRUE(situ::ptr<const char>{situ::cast<text>(l->elements[4])->characters.data()}.is_here());
}

TEST_F(JsonShipDocument, KeepsNumbersAsTheyAre) {
  EXPECT_EQ(round_trip("[-9223372036854775808,9223372036854775807,9223372036854775808,18446744073709551615]"),
            "[-9223372036854775808,9223372036854775807,9223372036854775808,18446744073709551615]");
  EXPECT_EQ(round_trip("18446744073709551616"), "18446744073709551616.0");  // beyond 64 bits: a real
  EXPECT_EQ(round_trip("-9223372036854775809"), "-9223372036854775808.0");
  EXPECT_EQ(round_trip("[1.0,-0.0,1e300,5e-324,0.1]"), "[1.0,-0.0,1e+300,5e-324,0.1]");
  EXPECT_EQ(round_trip("1e-400"), "0.0");
}

TEST_F(JsonShipDocument, KeepsOrderAndRepeatedNames) {
  EXPECT_EQ(round_trip(R"({"z": 1, "a": 2, "z": 3, "": 4})"), R"({"z":1,"a":2,"z":3,"":4})");
  EXPECT_EQ(round_trip(R"(["\"\\\/\b\f\u0000 \ud83d\ude00"])"),
            "[\"\\\"\\\\/\\u0008\\u000c\\u0000 \xf0\x9f\x98\x80\"]");
  EXPECT_EQ(round_trip("\xef\xbb\xbf[1]"), "[1]") << "a byte order mark";
}

TEST_F(JsonShipDocument, NamesThePlaceOfAnError) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"", "line 1, column 1 (byte 1)", "unexpected end of input"},
      {"[1,2", "line 1, column 5 (byte 5)", "unexpected end of input; expected ']'"},
      {"[1, nope]", "line 1, column 6 (byte 6)", "invalid literal"},
      {"{\"a\": 1,\n \"b\": NaN}", "line 2, column 7 (byte 16)", "invalid literal"},
      {"[\n-Infinity]", "line 2, column 2 (byte 4)", "invalid number"},
      {"[1,\n1e400]", "line 2, column 5 (byte 9)", "number overflow parsing '1e400'"},
      {"{\"a\" 1}", "line 1, column 6 (byte 6)", "expected ':'"},
      {"[1] 2", "line 1, column 5 (byte 5)", "expected end of input"},
      {"[01]", "line 1, column 3 (byte 3)", "expected ']'"},
      {"\"\xff\"", "line 1, column 2 (byte 2)", "ill-formed UTF-8"},
      {"\"\\ud800\"", "line 1, column 8 (byte 8)", "surrogate"},
      {"[\n\n  \"abc\n\"]", "line 3, column 7 (byte 10)", "control character"},
  };
  for (const auto& [text, where, what] : cases) {
    const std::string error = error_of(text);
    EXPECT_THAT(error, HasSubstr(where)) << text;
    EXPECT_THAT(error, HasSubstr(what)) << text;
    EXPECT_EQ(error.find("json.exception"), std::string::npos) << error;
  }
}

TEST_F(JsonShipDocument, GivesItsMemoryBack) {
  (void)parse_document("[]");
  const std::uint64_t before = situ::memory_statistics().live_blocks;
  {
    const auto d = parse_document(R"({"a": [1, 2, {"b": "text"}], "c": "more"})");
    change(*d->get(), 3);
    EXPECT_GT(situ::memory_statistics().live_blocks, before);
  }
  EXPECT_EQ(situ::memory_statistics().live_blocks, before);
  EXPECT_NE(error_of(R"({"a": [1, 2, {"b": "text"}], "c": )"), "none");
  EXPECT_EQ(situ::memory_statistics().live_blocks, before) << "of a document that was left half read";
}

std::string nested(std::size_t levels, bool as_records) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += as_records ? "{\"a\":" : "[";
  if (as_records) text += "1";
  return text.append(levels, as_records ? '}' : ']');
}

TEST_F(JsonShipDocument, NestsAsDeepAsItIsAllowedTo) {
  for (const bool as_records : {false, true}) {
    const std::string deep = nested(100'000, as_records);
    const auto d = parse_document(deep);
    EXPECT_EQ(d->census().depth, 100'000U);
    EXPECT_TRUE(to_text(*d->get()) == deep);
    const situ::owned<document> copy = situ::clone(d->get());
    EXPECT_EQ(difference(*d->get(), *copy), "");
    change(*copy, 0);
    EXPECT_EQ(difference(*d->get(), *copy).empty(), !as_records) << "records are stamped; lists have nothing to change";
    EXPECT_EQ(undo_change(*copy, 0), as_records ? 100'000U : 0U);
    EXPECT_EQ(difference(*d->get(), *copy), "");
  }
  EXPECT_EQ(error_of(nested(5, false), {.most_levels = 5}), "none");
  EXPECT_THAT(error_of("[\"[{\\\"[\",\n" + nested(5, false) + "]", {.most_levels = 5}),
              HasSubstr("line 2, column 5 (byte 15): nested deeper than 5 levels"));
  EXPECT_THAT(error_of(nested(6, true), {.most_levels = 5}), HasSubstr("column 26"));
}

TEST_F(JsonShipDocument, ChangesEverythingAndUndoesIt) {
  const char* const original = R"({"Key":"Text 1 é","list":[{"Key":null},{}],"n":[1,2.5,true]})";
  const auto d = parse_document(original);
  change(*d->get(), 7);
  EXPECT_EQ(
      to_text(*d->get()),
      R"({"kEY":"tEXT 1 é","LIST":[{"kEY":null,"situ:visited":7},{"situ:visited":7}],"N":[1,2.5,true],"situ:visited":7})");
  EXPECT_THROW(undo_change(*d->get(), 6), situ::error);
  EXPECT_EQ(undo_change(*d->get(), 7), 3U);
  EXPECT_EQ(to_text(*d->get()), original);
  EXPECT_THROW(undo_change(*d->get(), 7), situ::error) << "nothing is left to undo";
}

TEST_F(JsonShipDocument, TellsADifferenceAndWhere) {
  const std::string original = R"({"a": [1, 2.0, "x", null, 18446744073709551615, {"b": true}], "c": {}})";
  const auto d = parse_document(original);
  EXPECT_EQ(difference(*d->get(), *parse_document(original)->get()), "");
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"[1,", "[2,", "at /a/0: the values differ"},
      {"[1,", "[1.0,", "at /a/0: values of two kinds"},
      {"2.0", "2.0000000000000004", "at /a/1: the values differ"},
      {"2.0", "-2.0", "at /a/1: the values differ"},
      {"\"x\"", "\"y\"", "at /a/2: the values differ"},
      {"null", "false", "at /a/3: the values differ"},
      {"551615", "551614", "at /a/4: the values differ"},
      {"true", "[]", "at /a/5/b: values of two kinds"},
      {"true}", "true}, 1", "at /a: the values differ"},
      {"\"c\"", "\"d\"", "name 2 is \"c\", and \"d\""},
      {"{}", "{\"a\": 1}", "at /c: the values differ"},
      {", \"c\": {}", "", "3 names, and 2"},
  };
  for (const auto& [from, to, expected] : cases) {
    std::string other = original;
    other.replace(other.find(from), std::string{from}.size(), to);
    EXPECT_EQ(difference(*d->get(), *parse_document(other)->get()), expected) << other;
  }
  const auto unshared = parse_document(original);
  member_name twin{unshared->get()->names[0]->characters};
  situ::cast<record>(unshared->get()->top)->members[0].name = &twin;
  EXPECT_THAT(difference(*d->get(), *unshared->get()), HasSubstr("another object"));
}

TEST_F(JsonShipDocument, KeepsTheSharingOfNamesInAClone) {
  const auto d = parse_document(R"([{"a": 1}, {"a": 2}, {"a": null}, null, null])");
  const situ::owned<document> copy = situ::clone(d->get());
  const list* const l = situ::cast<list>(copy->top);
  EXPECT_EQ(situ::cast<record>(l->elements[0])->members[0].name, situ::cast<record>(l->elements[2])->members[0].name);
  EXPECT_EQ(l->elements[3], l->elements[4]);
  EXPECT_NE(l->elements[3], situ::cast<list>(d->get()->top)->elements[3]);
}

// Random documents, held against nlohmann's own tree.
ordered_json random_value(std::mt19937_64& random, int levels) {
  switch (random() % (levels == 0 ? 8 : 12)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return static_cast<std::int64_t>(random());
    case 3: return random();
    case 4: return static_cast<double>(static_cast<std::int64_t>(random())) / 1e10;
    case 5: return std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 1900) - 1000);
    case 6: return std::string(random() % 40, static_cast<char>(random() % 128));
    case 7: return "";
    case 8:
    case 9: {
      ordered_json l = ordered_json::array();
      for (std::uint64_t n = random() % 6; n > 0; --n) l.push_back(random_value(random, levels - 1));
      return l;
    }
    default: {
      ordered_json o = ordered_json::object();
      for (std::uint64_t n = random() % 6; n > 0; --n)
        o["n" + std::to_string(random() % 10)] = random_value(random, levels - 1);
      return o;
    }
  }
}

TEST_F(JsonShipDocument, HoldsRandomDocumentsAsAnotherParserDoes) {
  const std::uint64_t seed = situ::test::test_seed();
  std::mt19937_64 random{seed};
  for (int round = 0; round < situ::test::rounds(300); ++round) {
    const std::string text = random_value(random, 7).dump(round % 2 == 0 ? -1 : 3);
    const auto d = parse_document(text);
    EXPECT_EQ(ordered_json::parse(to_text(*d->get())), ordered_json::parse(text)) << text;
    const situ::owned<document> copy = situ::clone(d->get());
    ASSERT_EQ(difference(*d->get(), *copy), "") << text;
    change(*copy, 1);
    EXPECT_EQ(undo_change(*copy, 1), d->census().records);
    ASSERT_EQ(difference(*d->get(), *copy), "") << text;
    // Cut short, or with a byte changed, it is another document or an error: never anything else.
    std::string damaged = text.substr(0, random() % text.size());
    if (!damaged.empty() && random() % 2 == 0)
      damaged = text, damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)error_of(damaged);
  }
}

}  // namespace
}  // namespace json_ship
