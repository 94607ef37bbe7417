// Each instruction beside its words, which are written by hand from docs/formats/pams.md.
#include "model/message_units/pams_encoding.h"

#include <situ/base/error.h>
#include <situ/model/pams_program.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using words = std::vector<std::uint32_t>;
using testing::HasSubstr;
using program = pams_program;

// The text makes these words, and these words are disassembled to the same text.
void expect_words(const std::string& text, const words& expected) {
  SCOPED_TRACE(text);
  EXPECT_EQ(assemble_pams(text).words(), expected);
  EXPECT_EQ(disassemble_pams(expected).text(), "  " + text + "\n");
}

TEST(pams_encoding, timer) {
  expect_words("halt", {0x00000000});
  expect_words("timer_threshold 1000", {0x10000000, 1000});
  expect_words("timer_threshold 4294967295", {0x10000000, 0xffffffff});
  expect_words("timer_offset -3", {0x20000000, 0xfffffffd});
  expect_words("timer_offset -2147483648", {0x20000000, 0x80000000});
  expect_words("timer_offset 2147483647", {0x20000000, 0x7fffffff});
}

TEST(pams_encoding, counters) {
  expect_words("message_counter m0 1 15", {0x30000001, 15});
  expect_words("message_counter m3 255 4294967295", {0x3c0000ff, 0xffffffff});
  expect_words("message_counter m2 242 1 keeps", {0x3a0000f2, 1});
  expect_words("transfer_counter x0 2 256", {0x40000002, 256});
  expect_words("transfer_counter x1 2 256 keeps", {0x46000002, 256});
  expect_words("expect_messages m3 15", {0x5c000000, 15});
  expect_words("expect_bytes x1 65536", {0x64000000, 65536});
}

TEST(pams_encoding, conditions) {
  expect_words("wait timer", {0x70000001});
  expect_words("wait m0", {0x70000002});
  expect_words("wait m3", {0x70000010});
  expect_words("wait x0", {0x70000020});
  expect_words("wait x3", {0x70000100});
  expect_words("wait c0", {0x70000200});
  expect_words("wait c3", {0x70001000});
  expect_words("wait sent", {0x70002000});
  expect_words("wait timer m0 x1 c2 sent", {0x70002843});
}

TEST(pams_encoding, outputs) {
  expect_words("control set 0 2 clear 1", {0x80000205});
  expect_words("control set 3", {0x80000008});
  expect_words("control clear 0 1 2 3", {0x80000f00});
}

TEST(pams_encoding, short_requests) {
  expect_words("send 1 4", {0x90100001});
  expect_words("send 255 1023", {0x9ffc00ff});
  expect_words("send 1 4 5 timer arrival", {0x90139001, 5});
  expect_words("send 1 4 timer 5 6", {0x90130401, 5, 6});
  expect_words("send 1 0 7 8 4294967295", {0x90030001, 7, 8, 0xffffffff});
  expect_words("reply 3", {0xb0000003});
  expect_words("reply 3 arrival", {0xb0010803});
}

TEST(pams_encoding, long_requests) {
  expect_words("send_long 2 4 at 0x100 bytes 64 from 0", {0xa0100002, 0x100, 64, 0});
  expect_words("send_long 2 4 at 0xfffffffc bytes 65536 from 8 9 timer", {0xa0121002, 0xfffffffc, 65536, 8, 9});
  expect_words("reply_long 3 at 0x100 bytes 4 from 0", {0xc0000003, 0x100, 4, 0});
  expect_words("reply_long 3 at 0 bytes 0 from 0 1 2 3", {0xc0030003, 0, 0, 0, 1, 2, 3});
}

TEST(pams_encoding, jumps_and_words) {
  expect_words("jump 511", {0xd00001ff});
  expect_words(".word 0xdeadbeef", {0xdeadbeef});
  EXPECT_EQ(assemble_pams("again: halt\njump again\njump 0").words(), (words{0, 0xd0000000, 0xd0000000}));
  EXPECT_EQ(assemble_pams("jump end\nhalt\nend:\nhalt").words(), (words{0xd0000002, 0, 0}));
}

TEST(pams_encoding, words_that_are_no_instruction_stay_words) {
  const std::vector<words> all{{0x00000001},               // halt with a bit
                               {0x10000000},               // without its operand
                               {0x14000000, 0},            // a timer's threshold with a counter
                               {0x30000100, 1},            // a bit above the handler
                               {0x300000f0, 1},            // LOAD's handler
                               {0x300000f1, 1},            // START's
                               {0x52000000, 1},            // keeps, where nothing is kept
                               {0x50000001, 1},            // a handler, which the counter has already
                               {0x70000000},               // no condition
                               {0x70004001},               // one that there is not
                               {0x80000000},               // no output
                               {0x80000101},               // one to be set and cleared
                               {0x80000010},               // one that there is not
                               {0x90000101},               // bit 8 of a request
                               {0x90000401},               // the kind of an argument that is not there
                               {0x90010c01, 1},            // an unknown kind
                               {0x90010001},               // without its argument
                               {0xa0000001, 2, 4, 0},      // not at a word
                               {0xa0000001, 0, 4, 1},      // not from a word
                               {0xa0000001, 0, 65537, 0},  // too many bytes
                               {0xa0000001, 0, 4},         // without `from`
                               {0xb0040001},               // a reply with a node
                               {0xd0000200},               // a jump past the program
                               {0xe0000000},
                               {0xf0000000}};
  for (const words& each : all) {
    SCOPED_TRACE(testing::PrintToString(each));
    EXPECT_FALSE(decode_pams(each));
    const program read = disassemble_pams(each);
    EXPECT_THAT(read.text(), testing::StartsWith("  .word 0x"));
    EXPECT_EQ(assemble_pams(read.text()).words(), each);
  }
}

// The order of the operations is that of formats.h.
TEST(pams_encoding, names_are_those_of_the_operations) {
  EXPECT_EQ(pams_names[static_cast<std::size_t>(pams_operation::wait)], "wait");
  EXPECT_EQ(pams_names[static_cast<std::size_t>(pams_operation::reply_long)], "reply_long");
  EXPECT_EQ(pams_names[static_cast<std::size_t>(pams_operation::jump)], "jump");
}

}  // namespace
}  // namespace situ::model
