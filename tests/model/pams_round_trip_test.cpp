// Random programs of PAMS, from words to text and back, and from text to words and back. Each test prints its seed.
#include <situ/base/error.h>
#include <situ/model/pams_program.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/message_units/pams_assembler.h"
#include "model/message_units/pams_disassembler.h"
#include "support/places.h"

namespace situ::model {
namespace {

using program = pams_program;
using words = std::vector<std::uint32_t>;

constexpr int programs = 10'000;

class dice {
 public:
  explicit dice(std::uint64_t seed) : random_{seed} {}
  // Returns a number below `end`.
  std::uint32_t below(std::uint64_t end) { return static_cast<std::uint32_t>(random_() % end); }
  // Returns any number of 32 bits, often a small or a large one.
  std::uint32_t word() {
    switch (below(4)) {
      case 0: return below(4);
      case 1: return 0xffffffffU - below(4);
      default: return below(1ULL << 32);
    }
  }

 private:
  std::mt19937_64 random_;
};

program::arguments random_arguments(dice& by) {
  program::arguments values;
  for (std::uint32_t left = by.below(4); left != 0; --left) {
    const std::uint32_t kind = by.below(4);
    if (kind == 0) {
      values.emplace_back(program::own_value::timer);
    } else if (kind == 1) {
      values.emplace_back(program::own_value::arrival_time);
    } else {
      values.emplace_back(by.word());
    }
  }
  return values;
}

program::transfer random_transfer(dice& by) {
  return {.at = by.word() & ~3U, .bytes = by.below(65537), .from = by.word() & ~3U};
}

program::condition random_condition(dice& by) {
  switch (by.below(5)) {
    case 0: return program::timer_is_over();
    case 1: return program::messages_are_there(by.below(4));
    case 2: return program::bytes_are_there(by.below(4));
    case 3: return program::input_is_set(by.below(4));
    default: return program::requests_are_sent();
  }
}

void add_counter(program& to, dice& by) {
  const auto fate = by.below(2) == 0 ? program::tokens::kept : program::tokens::returned;
  const std::uint32_t handler = by.below(0xf0);
  switch (by.below(4)) {
    case 0: to.message_counter(by.below(4), handler, by.word(), fate); break;
    case 1: to.transfer_counter(by.below(4), handler, by.word(), fate); break;
    case 2: to.expect_messages(by.below(4), by.word()); break;
    default: to.expect_bytes(by.below(4), by.word()); break;
  }
}

void add_request(program& to, dice& by) {
  switch (by.below(4)) {
    case 0: to.send(by.below(256), by.below(1024), random_arguments(by)); break;
    case 1: to.send_long(by.below(256), by.below(1024), random_transfer(by), random_arguments(by)); break;
    case 2: to.reply(by.below(256), random_arguments(by)); break;
    default: to.reply_long(by.below(256), random_transfer(by), random_arguments(by)); break;
  }
}

void add_other(program& to, dice& by) {
  switch (by.below(5)) {
    case 0: to.timer_threshold(by.word()); break;
    case 1: to.timer_offset(static_cast<std::int32_t>(by.word())); break;
    case 2: {
      program::condition all = random_condition(by);
      for (std::uint32_t left = by.below(5); left != 0; --left) all = all | random_condition(by);
      to.wait(all);
      break;
    }
    case 3: {
      const std::uint32_t set = 1 + by.below(15);
      std::array<std::vector<std::uint32_t>, 2> lists;
      for (std::uint32_t i = 0; i < 4; ++i)
        if (by.below(2) == 0) lists[set >> i & 1U].push_back(i);
      if (lists[0].empty() && lists[1].empty()) lists[0].push_back(3);
      to.control(lists[0], lists[1]);
      break;
    }
    default: to.halt(); break;
  }
}

// A program whose text is what the disassembler writes, but for names and labels; with `jumps`, with these, too.
program random_program(dice& by, bool has_names) {
  program made;
  if (has_names) made.name_node("hub", by.below(1024)).name_handler("call", by.below(0xf0)).label("begin");
  const std::uint32_t size = by.below(by.below(16) == 0 ? 500 : 60);
  while (made.size() < size) {
    const std::uint32_t kind = by.below(has_names ? 5 : 3);
    if (kind == 0) {
      add_counter(made, by);
    } else if (kind == 1) {
      add_request(made, by);
    } else if (kind == 2) {
      add_other(made, by);
    } else if (kind == 3) {
      made.send("call", "hub", random_arguments(by));
    } else {
      made.jump(by.below(2) == 0 ? "begin" : "end");
    }
  }
  if (has_names) made.label("end");
  return made;
}

TEST(pams_round_trip, text_of_random_programs) {
  dice by{test::test_seed()};
  for (int i = 0; i < programs; ++i) {
    const program made = random_program(by, false);
    const program read = assemble_pams(made.text());
    ASSERT_EQ(read.words(), made.words()) << made.text();
    ASSERT_EQ(disassemble_pams(read.words()).text(), made.text());
  }
}

TEST(pams_round_trip, names_and_labels_of_random_programs) {
  dice by{test::test_seed()};
  for (int i = 0; i < programs; ++i) {
    const program made = random_program(by, true);
    const program read = assemble_pams(made.text());
    ASSERT_EQ(read.words(), made.words()) << made.text();
    ASSERT_EQ(read.text(), made.text());
    const program back = disassemble_pams(made.words());
    ASSERT_EQ(back.words(), made.words());
    ASSERT_EQ(assemble_pams(back.text()).words(), made.words()) << back.text();
    ASSERT_EQ(read_pams_words(made.hexadecimal()), made.words());
  }
}

// Random words, and programs with some of their bits changed: the disassembled program has the same words. Many words
// are instructions, and many are none.
TEST(pams_round_trip, random_words) {
  dice by{test::test_seed()};
  std::size_t instructions = 0, others = 0;
  for (int i = 0; i < programs; ++i) {
    words all = by.below(2) == 0 ? random_program(by, true).words() : words(by.below(by.below(16) == 0 ? 513 : 65));
    for (std::uint32_t& each : all) {
      if (each == 0) each = by.word();
      if (by.below(8) == 0) each ^= 1U << by.below(32);
    }
    const program read = disassemble_pams(all);
    ASSERT_EQ(read.words(), all);
    const std::string text = read.text();
    const program again = assemble_pams(text);
    ASSERT_EQ(again.words(), all) << text;
    ASSERT_EQ(disassemble_pams(again.words()).text(), text);
    for (const pams_decoded& each : decode_pams_program(all)) (each.instruction ? instructions : others) += 1;
  }
  EXPECT_GT(instructions, 50'000U);
  EXPECT_GT(others, 50'000U);
}

// Lines of a program with a changed character each: no line is taken for another one's words without an error.
TEST(pams_round_trip, texts_with_changed_characters) {
  dice by{test::test_seed()};
  constexpr std::string_view characters = "0123456789abcdefx_;:.- \t\n\"mts";
  std::size_t refused = 0, taken = 0;
  for (int i = 0; i < programs / 10; ++i) {
    std::string text = random_program(by, true).text();
    for (std::uint32_t left = 1 + by.below(4); left != 0 && !text.empty(); --left)
      text[by.below(text.size())] = characters[by.below(characters.size())];
    const pams_assembly read = assemble_pams_text(text);
    if (!read.errors.empty()) {
      ++refused;
      continue;
    }
    ++taken;
    const words made = read.program.words();
    ASSERT_EQ(assemble_pams(read.program.text()).words(), made) << text;
    ASSERT_EQ(disassemble_pams(made).words(), made);
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(taken, 0U);
}

}  // namespace
}  // namespace situ::model
