// Program files of PAMS, written and read.
#include <situ/base/error.h>
#include <situ/model/pams_program.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using words = std::vector<std::uint32_t>;
using testing::HasSubstr;

pams_program sample() {
  pams_program made;
  made.name_node("hub", 4).label("again").timer_threshold(1000).send(1, "hub").jump("again");
  return made;
}

std::string refusal_of(const std::string& text) {
  try {
    (void)read_pams_words(text, "a.hex");
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), errc::bad_file);
    return std::string{refused.message()};
  }
  return "nothing was refused";
}

TEST(pams_files, hexadecimal_text_has_the_source_in_comments) {
  EXPECT_EQ(sample().hexadecimal(), R"(; .node hub 4
; again:
10000000  ;   0: timer_threshold 1000
000003e8
90100001  ;   2: send 1 hub
d0000000  ;   3: jump again
)");
  EXPECT_EQ(read_pams_words(sample().hexadecimal()), sample().words());
}

TEST(pams_files, json_has_words_names_and_lines) {
  const nlohmann::json all = nlohmann::json::parse(sample().json());
  EXPECT_EQ(all["words"].get<words>(), sample().words());
  EXPECT_EQ(all["nodes"], nlohmann::json::parse(R"({"hub": 4})"));
  EXPECT_EQ(all["handlers"], nlohmann::json::object());
  EXPECT_EQ(all["labels"], nlohmann::json::parse(R"({"again": 0})"));
  EXPECT_EQ(all["lines"].size(), 5U);
  EXPECT_EQ(all["lines"][3], nlohmann::json::parse(R"({"address": 2, "words": 1, "text": "send 1 hub"})"));
  EXPECT_EQ(read_pams_words(sample().json()), sample().words());
}

TEST(pams_files, takes_words_as_others_write_them) {
  EXPECT_EQ(read_pams_words(""), words{});
  EXPECT_EQ(read_pams_words(" 0xDEADBEEF ; a\r\n\n;\n1"), (words{0xdeadbeef, 1}));
  EXPECT_EQ(read_pams_words("\n {\"format\": \"situ-pams-program\", \"version\": 1, \"words\": [1, 4294967295]}"),
            (words{1, 0xffffffff}));
}

TEST(pams_files, refuses_what_is_no_word) {
  EXPECT_EQ(refusal_of("1\nhalt"), "a.hex:2: 'halt' is no word: up to 8 hexadecimal digits are allowed");
  for (const char* each : {"123456789", "-1", "0x", "1_0", "g", "\"1\""})
    EXPECT_THAT(refusal_of(each), HasSubstr("a.hex:1: '")) << each;
  EXPECT_EQ(refusal_of("1 2"), "a.hex:1: '2' is too much: a line has one word");
  std::string long_text;
  for (int i = 0; i < 513; ++i) long_text += "0\n";
  EXPECT_EQ(refusal_of(long_text), "a.hex: the program has 513 words, 1 too many: the instruction RAM has 512");
}

TEST(pams_files, refuses_json_that_is_no_program) {
  EXPECT_THAT(refusal_of("{"), "a.hex: it begins with {, and is not JSON");
  EXPECT_THAT(refusal_of("{}"), "a.hex: its \"format\" is not \"situ-pams-program\"");
  const std::string head = R"({"format": "situ-pams-program", "version": )";
  EXPECT_THAT(refusal_of(head + "2}"), "a.hex: its \"version\" is not 1");
  EXPECT_THAT(refusal_of(head + "1}"), "a.hex: its \"words\" are no list");
  EXPECT_THAT(refusal_of(head + "1, \"words\": 1}"), "a.hex: its \"words\" are no list");
  for (const char* each : {"-1", "1.5", "\"1\"", "4294967296", "[]"})
    EXPECT_THAT(refusal_of(head + "1, \"words\": [0, " + each + "]}"),
                "a.hex: number 1 of its \"words\" is no word: 0 to 4294967295 are allowed")
        << each;
}

}  // namespace
}  // namespace situ::model
