// Programs of PAMS that are made by calls.
#include <situ/base/error.h>
#include <situ/model/pams_program.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace situ::model {
namespace {

using program = pams_program;
using words = std::vector<std::uint32_t>;
using testing::HasSubstr;

std::string refusal_of(const std::function<void(program&)>& call) {
  program made;
  made.halt();
  try {
    call(made);
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), errc::bad_argument);
    EXPECT_EQ(made.words(), words{0}) << "a refused call has changed the program";
    EXPECT_EQ(made.lines().size(), 1U);
    return std::string{refused.message()};
  }
  return "nothing was refused";
}

TEST(pams_program, each_call_makes_the_words_of_its_line) {
  program made;
  made.name_node("hub", 4).name_handler("call", 1).label("again");
  made.timer_threshold(1000).timer_offset(-3);
  made.message_counter(0, "call", 15, program::tokens::kept).transfer_counter(1, 2, 256);
  made.expect_messages(0, 15).expect_bytes(1, 256);
  made.wait(program::timer_is_over() | program::messages_are_there(0) | program::bytes_are_there(1) |
            program::input_is_set(2) | program::requests_are_sent());
  made.control({0, 2}, {1});
  made.send("call", "hub", {5, program::own_value::timer, program::own_value::arrival_time});
  made.send_long(2, "hub", {.at = 0x100, .bytes = 64, .from = 8}).reply("call", {7});
  made.reply_long(3, {.at = 0x100, .bytes = 4, .from = 0}, {1, 2});
  made.jump("again").word(0xdeadbeef).halt();
  EXPECT_EQ(made.words(), (words{0x10000000, 1000,  0x20000000, 0xfffffffd, 0x32000001, 15,         0x44000002, 256,
                                 0x50000000, 15,    0x64000000, 256,        0x70002843, 0x80000205, 0x90139001, 5,
                                 0xa0100002, 0x100, 64,         8,          0xb0010001, 7,          0xc0020003, 0x100,
                                 4,          0,     1,          2,          0xd0000000, 0xdeadbeef, 0}));
  EXPECT_EQ(made.text(), R"(.node hub 4
.handler call 1
again:
  timer_threshold 1000
  timer_offset -3
  message_counter m0 call 15 keeps
  transfer_counter x1 2 256
  expect_messages m0 15
  expect_bytes x1 256
  wait timer m0 x1 c2 sent
  control set 0 2 clear 1
  send call hub 5 timer arrival
  send_long 2 hub at 0x100 bytes 64 from 8
  reply call 7
  reply_long 3 at 0x100 bytes 4 from 0 1 2
  jump again
  .word 0xdeadbeef
  halt
)");
  EXPECT_EQ(assemble_pams(made.text()).words(), made.words());
  EXPECT_EQ(assemble_pams(made.text()).text(), made.text());
  EXPECT_EQ(made.size(), made.words().size());
}

TEST(pams_program, knows_its_names) {
  program made;
  made.name_node("x", 4).name_handler("x", 5).halt().label("x");
  EXPECT_EQ(made.find_node("x"), 4U);
  EXPECT_EQ(made.find_handler("x"), 5U);
  EXPECT_EQ(made.find_label("x"), 1U);
  EXPECT_EQ(made.find_label("y"), std::nullopt);
}

TEST(pams_program, refuses_what_no_word_can_say) {
  EXPECT_EQ(refusal_of([](program& to) { to.send(1, 1024); }), "1024 is no node: 0 to 1023 are allowed");
  EXPECT_EQ(refusal_of([](program& to) { to.send(256, 1); }), "256 is no handler: 0 to 255 are allowed");
  EXPECT_EQ(refusal_of([](program& to) { to.send(-1, 1); }), "-1 is no handler: 0 to 255 are allowed");
  EXPECT_EQ(refusal_of([](program& to) { to.send(1, 1, {1LL << 32}); }),
            "4294967296 is no argument: 0 to 4294967295 are allowed");
  EXPECT_EQ(refusal_of([](program& to) { to.send(1, 1, {1, 2, 3, 4}); }),
            "4 arguments are too many: a request of PAMS has at most 3");
  EXPECT_THAT(refusal_of([](program& to) { to.send_long(1, 1, {.at = 2}); }),
              "2 is no address in memory: multiples of 4 from 0 to 4294967292 are allowed");
  EXPECT_THAT(refusal_of([](program& to) { to.reply_long(1, {.from = 3}); }), HasSubstr("3 is no address"));
  EXPECT_THAT(refusal_of([](program& to) { to.reply_long(1, {.bytes = 65537}); }), HasSubstr("0 to 65536 are allowed"));
  EXPECT_THAT(refusal_of([](program& to) { to.message_counter(4, 1, 1); }), "4 is no counter: 0 to 3 are allowed");
  EXPECT_THAT(refusal_of([](program& to) { to.message_counter(0, 0xf0, 1); }), HasSubstr("LOAD"));
  EXPECT_THAT(refusal_of([](program& to) { to.transfer_counter(0, 0xf1, 1); }), HasSubstr("START"));
  EXPECT_THAT(refusal_of([](program& to) { to.expect_bytes(4, 1); }), HasSubstr("4 is no counter"));
  EXPECT_THAT(refusal_of([](program& to) { to.wait(program::input_is_set(4)); }), HasSubstr("4 is no control input"));
  EXPECT_THAT(refusal_of([](program& to) { to.control({4}); }), HasSubstr("4 is no control output"));
  EXPECT_THAT(refusal_of([](program& to) { to.control({}); }), HasSubstr("needs an output"));
  EXPECT_THAT(refusal_of([](program& to) { to.control({1}, {1}); }), HasSubstr("set and to be cleared"));
  EXPECT_THAT(refusal_of([](program& to) { to.jump(512); }), HasSubstr("0 to 511 are allowed"));
  EXPECT_THAT(refusal_of([](program& to) { to.name_node("hub", 1024); }), HasSubstr("no node"));
}

TEST(pams_program, refuses_names_that_are_none) {
  EXPECT_THAT(refusal_of([](program& to) { to.name_node("4", 4); }), HasSubstr("'4' is no name"));
  EXPECT_THAT(refusal_of([](program& to) { to.name_handler("", 4); }), HasSubstr("'' is no name"));
  EXPECT_THAT(refusal_of([](program& to) { to.label("a-b"); }), HasSubstr("'a-b' is no name"));
  EXPECT_THAT(refusal_of([](program& to) { to.jump(""); }), HasSubstr("'' is no name"));
  EXPECT_EQ(refusal_of([](program& to) { to.send("call", 1); }), "there is no handler call; there is none");
  EXPECT_EQ(refusal_of([](program& to) { to.send("", 1); }), "there is no handler ; there is none");
}

TEST(pams_program, gives_each_name_once) {
  program made;
  made.name_node("hub", 4).label("hub");
  EXPECT_THROW(made.name_node("hub", 5), error);
  EXPECT_THROW(made.label("hub"), error);
  EXPECT_EQ(made.find_node("hub"), 4U);
}

TEST(pams_program, refuses_jumps_to_labels_that_are_missing) {
  program made;
  made.label("again").jump("agian");
  try {
    (void)made.words();
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.message(), "there is no label agian; did you mean again?");
  }
  made.label("agian");
  EXPECT_EQ(made.words(), words{0xd0000001});
}

TEST(pams_program, has_at_most_512_words) {
  program made;
  for (int i = 0; i < 512; ++i) made.halt();
  EXPECT_EQ(made.words().size(), 512U);
  made.halt().halt();
  try {
    (void)made.words();
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.message(), "the program has 514 words, 2 too many: the instruction RAM has 512");
  }
}

TEST(pams_program, cannot_jump_to_its_end_if_it_is_full) {
  program made;
  made.jump("end");
  for (int i = 1; i < 512; ++i) made.halt();
  made.label("end");
  EXPECT_THROW((void)made.words(), error);
}

TEST(pams_program, is_loaded_by_messages_of_14_words) {
  words all(30);
  std::iota(all.begin(), all.end(), 100U);
  const std::vector<words> messages = program::load_messages(all);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0], (words{0, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113}));
  EXPECT_EQ(messages[1], (words{14, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127}));
  EXPECT_EQ(messages[2], (words{28, 128, 129}));
  EXPECT_EQ(program::load_messages(words{7}, 511), (std::vector<words>{{511, 7}}));
  EXPECT_TRUE(program::load_messages({}, 512).empty());
  EXPECT_THROW((void)program::load_messages(words(2), 511), error);
  EXPECT_THROW((void)program::load_messages(words{}, 513), error);
}

}  // namespace
}  // namespace situ::model
