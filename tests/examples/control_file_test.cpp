// The control format: literal stanzas, every way of cutting the text into pieces, malformed text, and version order.
#include "control_file.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace package_rank {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using rows = std::vector<std::vector<std::string>>;

rows read(std::string_view text, std::vector<std::string> wanted, std::size_t piece_bytes = 0) {
  rows result;
  control_reader reader{std::move(wanted), [&](const stanza& s) { result.push_back(s.values); }};
  if (piece_bytes == 0) piece_bytes = text.size() + 1;
  for (std::size_t begin = 0; begin < text.size(); begin += piece_bytes) reader.feed(text.substr(begin, piece_bytes));
  reader.finish();
  return result;
}

std::string error_of(std::string_view text) {
  try {
    (void)read(text, {"package"});
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::bad_file);
    return std::string{e.message()};
  }
  return "no error";
}

TEST(ControlFile, FieldsFoldedLinesAndStanzas) {
  const char* text =
      "Package: mutt\n"
      "DEPENDS: libc6 (>= 2.34),\n"
      "  exim4 |\n"
      "\tdefault-mta\n"
      "Description: text\n"
      " more text: with a colon\n"
      " .\n"
      "Version:1.0\n"
      "\n"
      "\n"
      "Package:   nano   \n"
      "# a comment\n"
      "Version:\n"
      "\n";
  EXPECT_THAT(
      read(text, {"package", "depends", "version"}),
      ElementsAre(ElementsAre("mutt", "libc6 (>= 2.34),\nexim4 |\ndefault-mta", "1.0"), ElementsAre("nano", "", "")));
}

TEST(ControlFile, LastStanzaNeedsNoEmptyLine) {
  EXPECT_THAT(read("Package: a\n\nPackage: b", {"package"}), ElementsAre(ElementsAre("a"), ElementsAre("b")));
}

TEST(ControlFile, CarriageReturnsAndBlankLinesOfSpacesEndStanzas) {
  EXPECT_THAT(read("Package: a\r\n\r\nPackage: b\n \t\nPackage: c\n", {"package"}),
              ElementsAre(ElementsAre("a"), ElementsAre("b"), ElementsAre("c")));
}

TEST(ControlFile, NothingAtAll) {
  EXPECT_THAT(read("", {"package"}), IsEmpty());
  EXPECT_THAT(read("\n\n\n", {"package"}), IsEmpty());
}

TEST(ControlFile, LineNumbersOfStanzas) {
  std::vector<std::size_t> lines;
  control_reader reader{{"package"}, [&](const stanza& s) { lines.push_back(s.line); }};
  reader.feed("\nPackage: a\nX: 1\n\n\nPackage: b\n");
  reader.finish();
  EXPECT_THAT(lines, ElementsAre(2, 6));
}

TEST(ControlFile, EveryCutOfTheTextReadsTheSame) {
  const std::string text = "Package: mutt\nDepends: a,\n b\r\n\nPackage: nano\nVersion: 2\n \n\nPackage: x\nDepends: y";
  const rows whole = read(text, {"package", "depends", "version"});
  ASSERT_EQ(whole.size(), 3u);
  for (std::size_t piece = 1; piece <= text.size(); ++piece)
    EXPECT_EQ(read(text, {"package", "depends", "version"}, piece), whole) << "pieces of " << piece;
}

TEST(ControlFile, MalformedTextNamesItsLine) {
  EXPECT_THAT(error_of("Package: a\nno field here\n"), HasSubstr("line 2: neither a field nor a continuation"));
  EXPECT_THAT(error_of("Package: a\n: no name\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of("Package: a\nTwo words: b\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of(" a continuation\n"), HasSubstr("line 1: a continuation line before any field"));
  EXPECT_THAT(error_of("Package: a\n\n b\n"), HasSubstr("line 3: a continuation line before any field"));
  EXPECT_THAT(error_of("Package: a\nPackage: b\n"), HasSubstr("line 2: a second Package field"));
  EXPECT_THAT(error_of(std::string{"\x04\x22\x4d\x18"} + "d@: " + std::string(100, '\0')), HasSubstr("unpacked?"));
}

// Hostile bytes: whatever comes, the reader reports bad_file or reads it; it neither crashes nor throws anything else.
TEST(ControlFile, RandomBytes) {
  const unsigned seed = 20240607;
  std::mt19937 random{seed};
  const std::string alphabet = "ab: \n\n\t\r#\x01\xff,|(";
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 24, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    try {
      for (const auto& row : read(text, {"a", "b"}, 1 + random() % 5)) (void)parse_relations(row[0]);
    } catch (const situ::error& e) {
      ASSERT_EQ(e.code(), situ::errc::bad_file) << "seed " << seed << ", round " << round;
    }
  }
}

std::vector<std::string> relations(std::string_view value) {
  std::vector<std::string> result;
  for (const alternative& a : parse_relations(value))
    result.push_back(std::to_string(a.clause) + ":" + std::string{a.name});
  return result;
}

TEST(Relations, ClausesAndAlternatives) {
  EXPECT_THAT(relations("libc6, exim4 | default-mta|postfix, g++"),
              ElementsAre("0:libc6", "1:exim4", "1:default-mta", "1:postfix", "2:g++"));
  EXPECT_THAT(relations(""), IsEmpty());
  EXPECT_THAT(relations(" \n "), IsEmpty());
}

TEST(Relations, VersionsArchitecturesAndProfilesAreStripped) {
  EXPECT_THAT(relations("libc6 (>= 2.34), python3:any (>= 3.9~), foo(=1:2.0-1), bar (<<2)|baz ( >> 3 )"),
              ElementsAre("0:libc6", "1:python3", "2:foo", "3:bar", "3:baz"));
  EXPECT_THAT(relations("a [amd64 !i386] <!nocheck> <cross stage1>, b:kfreebsd-amd64, libstdc++6.1-dev"),
              ElementsAre("0:a", "1:b", "2:libstdc++6.1-dev"));
}

TEST(Relations, FoldedAndTrailingCommas) {
  EXPECT_THAT(relations("a,\nb |\nc,\n"), ElementsAre("0:a", "1:b", "1:c"));
  EXPECT_THAT(relations(",, a ,, b,"), ElementsAre("0:a", "1:b"));
}

TEST(Relations, Malformed) {
  for (const char* value : {"a b", "a |", "| a", "a | | b", "a (>= 1", "a (1.0)", "a (>=)", "a (=> 1)", "a (>= 1 2)",
                            "a:", "a [amd64", "a <!x", "+a", "a; b", "a ()", "a (>= 1, b (>= 2)"})
    EXPECT_THROW((void)parse_relations(value), situ::error) << value;
}

int sign(int value) { return (value > 0) - (value < 0); }

TEST(Versions, OrderOfDebVersion7) {
  const std::vector<std::string> ascending{
      "",     "0.9~rc1", "0.9",    "0.9-1~bpo1", "0.9-1", "0.9-1+b1", "0.9-1.1", "0.9-2", "0.9-10", "0.9a-1", "0.9+git",
      "0.10", "1.0~~",   "1.0~~a", "1.0~",       "1.0",   "1.0a",     "1.0.1",   "2-1",   "1:0.1",  "1:1-1",  "2:0"};
  for (std::size_t i = 0; i < ascending.size(); ++i)
    for (std::size_t j = 0; j < ascending.size(); ++j)
      EXPECT_EQ(sign(compare_versions(ascending[i], ascending[j])), sign(static_cast<int>(i) - static_cast<int>(j)))
          << ascending[i] << " and " << ascending[j];
}

TEST(Versions, EqualOnes) {
  EXPECT_EQ(compare_versions("1.0", "0:1.0"), 0);
  EXPECT_EQ(compare_versions("1.0-0", "1.0"), 0);
  EXPECT_EQ(compare_versions("1.00", "1.0"), 0);
  EXPECT_EQ(compare_versions("0001.2-03", "1.2-3"), 0);
}

}  // namespace
}  // namespace package_rank
