// The text of PAMS's programs: what it may look like, and its errors with their places.
#include "model/message_units/pams_assembler.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

using words = std::vector<std::uint32_t>;
using testing::HasSubstr;

// "LINE:COLUMN: message" of each error.
std::vector<std::string> errors_of(const std::string& text) {
  std::vector<std::string> errors;
  for (const pams_text_error& each : assemble_pams_text(text).errors)
    errors.push_back(std::to_string(each.line) + ":" + std::to_string(each.column) + ": " + each.message);
  return errors;
}
void expect_error(const std::string& text, const std::string& expected) {
  EXPECT_THAT(errors_of(text), testing::ElementsAre(expected)) << text;
}

// Figure 6 of the paper, of 16 nodes.
TEST(pams_assembler, assembles_the_barrier_of_the_paper) {
  const std::string node_0 = R"(
.handler barrier_call 1
.handler barrier_done 2
  timer_threshold 1000          ; STARTTIME
  wait timer
  message_counter m0 barrier_call 15
  wait m0
  send barrier_done 1
  send barrier_done 15
  halt
)";
  EXPECT_EQ(assemble_pams(node_0).words(),
            (words{0x10000000, 1000, 0x70000001, 0x30000001, 15, 0x70000002, 0x90040002, 0x903c0002, 0}));
}

// The code blocks of the page that begin so.
std::vector<std::string> blocks_of_page(const std::string& begin) {
  std::ifstream page{SITU_TEST_SOURCE_DIR "/../docs/formats/pams.md"};
  std::vector<std::string> blocks;
  bool is_in_block = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```") {
      is_in_block = !is_in_block;
      if (is_in_block) blocks.emplace_back();
    } else if (is_in_block) {
      blocks.back() += line + "\n";
    }
  }
  std::erase_if(blocks, [&](const std::string& each) { return !each.starts_with(begin); });
  return blocks;
}

TEST(pams_assembler, makes_what_the_page_says) {
  const std::vector<std::string> programs = blocks_of_page(".handler");
  const std::vector<std::string> files = blocks_of_page("; .handler");
  ASSERT_EQ(programs.size(), 2U);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(assemble_pams(programs[0]).words(),
            (words{0x10000000, 1000, 0x70000001, 0x30000001, 15, 0x70000002, 0x90040002, 0x90080002, 0x903c0002, 0}));
  EXPECT_EQ(assemble_pams(programs[1]).hexadecimal(), files[0]);
}

TEST(pams_assembler, takes_blanks_comments_and_numbers_of_many_forms) {
  EXPECT_EQ(assemble_pams("").words(), words{});
  EXPECT_EQ(assemble_pams(" ; nothing\r\n\n\t; halt").words(), words{});
  EXPECT_EQ(assemble_pams("\thalt;comment").words(), words{0});
  EXPECT_EQ(assemble_pams("again: jump again").words(), words{0xd0000000});
  expect_error("again:jump again", "1:1: there is no instruction again:jump; a label is followed by a blank");
}

TEST(pams_assembler, numbers) {
  EXPECT_EQ(assemble_pams(".word 0xdead_BEEF\n.word 1_000\n.word 007\n.word 0X10").words(),
            (words{0xdeadbeef, 1000, 7, 16}));
  for (const char* each : {"1__0", "_1", "1_", "0x", "0x_1", "1e3", "--1", "+1", "0b1", "1,000", "''", "0xg"})
    EXPECT_THAT(errors_of(std::string{".word "} + each), testing::ElementsAre(HasSubstr("1:7: '"))) << each;
  expect_error(".word 99999999999999999999999999",
               "1:7: 99999999999999999999999999 is no word: 0 to 4294967295 are allowed");
  expect_error(".word -1", "1:7: -1 is no word: 0 to 4294967295 are allowed");
}

TEST(pams_assembler, names_stand_for_numbers) {
  EXPECT_EQ(assemble_pams(".node hub 0x4\n.handler hub 2\nhub: send hub hub\njump hub").words(),
            (words{0x90100002, 0xd0000000}));
  expect_error(".node hub 4\nsend 1 hbu", "2:8: there is no node hbu; did you mean hub?");
  expect_error("send 1 hub, 5", "1:8: 'hub,' is neither a name nor a number; a node is 0 to 1023");
  expect_error("send 1 hub\n.node hub 4", "1:8: there is no node hub; there is none");
  expect_error(".node hub 4\n.node hub 4", "2:7: there is a node hub already: each name is given once");
  expect_error(".node 4 hub", "1:7: '4' is no name: a letter or _, then letters, digits and _ are allowed");
  expect_error("hub:\nhub:", "2:1: there is a label hub already: each name is given once");
  expect_error("jump hub\nhbu:", "1:6: there is no label hub; did you mean hbu?");
}

TEST(pams_assembler, names_the_instruction_that_was_meant) {
  expect_error("  sned 1 2", "1:3: there is no instruction sned; did you mean send?");
  EXPECT_THAT(errors_of("go"), testing::ElementsAre(HasSubstr("1:1: there is no instruction go; there are .node, ")));
  EXPECT_THAT(errors_of("\xff\x01"), testing::ElementsAre(HasSubstr("there is no instruction \\xff\\x01; ")));
}

TEST(pams_assembler, says_what_is_missing_or_too_much) {
  expect_error("send 1", "1:7: a node is missing: send HANDLER NODE [ARGUMENT...]");
  expect_error("wait",
               "1:5: a condition is missing: wait CONDITION...; conditions are timer, m0 to m3, x0 to x3, "
               "c0 to c3, sent");
  expect_error("halt 1", "1:6: '1' is too much: halt");
  expect_error("message_counter m0 1 15 kept", "1:25: 'kept' is too much: message_counter m0 HANDLER MESSAGES [keeps]");
  expect_error("send 1 2 3 4 5 6", "1:16: this is one argument too many: a request of PAMS has at most 3");
  expect_error("send_long 1 2 to 4",
               "1:15: 'to' stands in the place of 'at': send_long HANDLER NODE at ADDRESS bytes NUMBER from ADDRESS "
               "[ARGUMENT...]");
}

TEST(pams_assembler, says_what_is_allowed) {
  expect_error("send 1 1024", "1:8: 1024 is no node: 0 to 1023 are allowed");
  expect_error("send 0x100 1", "1:6: 0x100 is no handler: 0 to 255 are allowed");
  expect_error("send 1 2 now", "1:10: 'now' is no argument: a number, timer and arrival are allowed");
  expect_error("message_counter x0 1 1", "1:17: 'x0' is no counter here: m0 to m3 are allowed");
  expect_error("expect_bytes x4 1", "1:14: 'x4' is no counter here: x0 to x3 are allowed");
  expect_error("message_counter m0 0xf0 1",
               "1:20: no counter counts handler 0xf0, which is LOAD: 0 to 255 without 0xf0 and 0xf1 are allowed");
  expect_error(".handler start 0xf1\ntransfer_counter x0 start 1",
               "2:21: no counter counts handler 0xf1, which is START: 0 to 255 without 0xf0 and 0xf1 are allowed");
  expect_error("wait m0 y0", "1:9: 'y0' is no condition: timer, m0 to m3, x0 to x3, c0 to c3 and sent are allowed");
  expect_error("wait m0 m0", "1:9: this condition is there already");
  expect_error("send_long 1 2 at 0x102 bytes 4 from 0",
               "1:18: 0x102 is no address in memory: multiples of 4 from 0 to 4294967292 are allowed");
  expect_error("reply_long 1 at 0 bytes 65_537 from 0", "1:25: 65_537 is no number of bytes: 0 to 65536 are allowed");
  expect_error("timer_threshold 4294967296", "1:17: 4294967296 is no timer threshold: 0 to 4294967295 are allowed");
  expect_error("timer_offset 2147483648", "1:14: 2147483648 is no timer offset: -2147483648 to 2147483647 are allowed");
  expect_error("jump 512", "1:6: 512 is no word of the program: 0 to 511 are allowed");
}

TEST(pams_assembler, outputs_are_in_one_list_each) {
  EXPECT_EQ(assemble_pams("control clear 1 set 2 0").words(), words{0x80000205});
  expect_error("control", "1:8: a 'set' or 'clear' is missing: control [set OUTPUT...] [clear OUTPUT...]");
  expect_error("control set", "1:12: a control output is missing: control [set OUTPUT...] [clear OUTPUT...]");
  expect_error("control 1", "1:9: '1' is neither set nor clear");
  expect_error("control set 4", "1:13: 4 is no control output: 0 to 3 are allowed");
  expect_error("control set 1 clear 1", "1:21: this output is there already");
  expect_error("control set 1 set 2", "1:15: there is a list of outputs to set already");
}

TEST(pams_assembler, reports_all_errors_by_line) {
  EXPECT_THAT(errors_of("jump nowhere\nhalt\nsned\n wait\nhalt 3"),
              testing::ElementsAre(HasSubstr("1:6: there is no label nowhere"), HasSubstr("3:1: "), HasSubstr("4:6: "),
                                   HasSubstr("5:6: ")));
  std::string text;
  for (int i = 0; i < 25; ++i) text += "halt 1\n";
  const pams_assembly many = assemble_pams_text(text);
  EXPECT_EQ(many.errors.size(), 20U);
  EXPECT_EQ(many.more_errors, 5U);
  try {
    (void)assemble_pams(text, "a.pams");
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), errc::bad_file);
    EXPECT_THAT(std::string{refused.message()},
                testing::AllOf(testing::StartsWith("a.pams:1:6: '1' is too much: halt\na.pams:2:6: "),
                               testing::EndsWith("\na.pams:20:6: '1' is too much: halt\na.pams: 5 more errors")));
  }
}

TEST(pams_assembler, says_how_many_words_are_too_many) {
  std::string text;
  for (int i = 0; i < 256; ++i) text += "timer_threshold 1\n";
  EXPECT_EQ(assemble_pams(text).words().size(), 512U);
  expect_error(text + "\n  halt\nhalt\n", "258:3: the program has 514 words, 2 too many: the instruction RAM has 512");
  expect_error(
      "jump end\n" + std::string{} +
          [] {
            std::string halts;
            for (int i = 1; i < 512; ++i) halts += "halt\n";
            return halts;
          }() +
          "end:",
      "1:6: end is no word of the program: 0 to 511 are allowed");
}

}  // namespace
}  // namespace situ::model
