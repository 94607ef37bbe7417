// The interpreter on small images whose methods are bytecodes by hand.
#include "examples/command.h"
#include "examples/squeak_builder.h"
#include "image_file.h"
#include "image_names.h"
#include "image_objects.h"
#include "message_text.h"
#include "virtual_machine.h"

#include <situ/base/error.h>
#include <situ/situ.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <optional>

namespace {

using namespace squeak;
using squeak::test::built_method;
using squeak::test::image_builder;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint8_t push_receiver = 112, push_true = 113, push_nil = 115, push_one = 118, push_two = 119,
                       return_receiver = 120, return_top = 124, push_context = 137, pop = 135;

class squeak_interpreter : public testing::Test {
 protected:
  // Adds a method of SmallInteger.
  void add(const std::string& selector, const built_method& method) {
    builder.add_method(builder.class_small_integer(), selector, method);
  }
  virtual_machine& start(std::uint64_t most_bytes = std::uint64_t{1} << 30) {
    interpreter_options options;
    options.most_bytes = most_bytes;
    options.counts = true;
    vm.emplace(builder.build(), options);
    return *vm;
  }
  [[nodiscard]] std::uint32_t symbol_word(const std::string& text) {
    return image_builder::refer(builder.symbol(text));
  }
  // The answer of a message, described; or why there is none.
  std::string answer(const std::string& message) {
    const evaluation done = vm->send(message);
    last = done;
    return done.end == run_end::answered ? done.text : "failed: " + done.failure.reason;
  }

  situ::runtime runtime;
  image_builder builder;
  std::optional<virtual_machine> vm;
  evaluation last;
};

TEST_F(squeak_interpreter, adds_and_counts_its_bytecodes) {
  add("double", {{push_receiver, push_receiver, 176, return_top}});
  start();
  EXPECT_EQ(answer("21 double"), "42");
  EXPECT_EQ(last.counts.bytecodes, 4U);
  EXPECT_EQ(last.counts.sends, 1U);
}

TEST_F(squeak_interpreter, jumps_on_a_comparison) {
  // self < 2 ifTrue: [^1]. ^2
  add("pick", {{push_receiver, push_two, 178, 153, push_one, return_top, push_two, return_top}});
  start();
  EXPECT_EQ(answer("1 pick"), "1");
  EXPECT_EQ(last.counts.bytecodes, 6U);
  EXPECT_EQ(answer("7 pick"), "2");
}

TEST_F(squeak_interpreter, recursion_reuses_contexts_and_answers) {
  // self < 2 ifTrue: [^1]. ^(self - 1) fib + (self - 2) fib + 1
  add("fib", {{push_receiver, push_two, 178, 153, push_one, return_top, push_receiver, push_one, 177, 208,
               push_receiver, push_two, 177, 208, 176, push_one, 176, return_top},
              {symbol_word("fib")}});
  start();
  EXPECT_EQ(answer("10 fib"), "177");
  EXPECT_EQ(last.counts.sends, 177U);
}

TEST_F(squeak_interpreter, a_message_that_is_not_understood_names_class_and_selector) {
  add("bad", {{push_receiver, 208, return_top}, {symbol_word("zork")}});
  start();
  EXPECT_EQ(answer("3 zork"), "failed: SmallInteger does not understand #zork");
  EXPECT_EQ(answer("3 bad"), "failed: nobody understands doesNotUnderstand:");
  EXPECT_THAT(last.failure.stack, Contains("SmallInteger>>bad"));
}

TEST_F(squeak_interpreter, does_not_understand_gets_the_message) {
  add("bad", {{push_receiver, 208, return_top}, {symbol_word("zork")}});
  // doesNotUnderstand: aMessage  ^aMessage (its first field by a primitive of quick return)
  builder.add_method(builder.known("Message"), "selector", {{return_receiver}, {}, 0, 0, 264});
  add("doesNotUnderstand:", {{16, 208, return_top}, {symbol_word("selector")}, 1, 1});
  start();
  EXPECT_EQ(answer("3 bad"), "#zork");
}

TEST_F(squeak_interpreter, an_unknown_bytecode_names_its_method) {
  add("strange", {{139, return_top}});
  start();
  EXPECT_EQ(answer("3 strange"), "failed: unknown bytecode 139");
  EXPECT_THAT(last.failure.stack, Contains("SmallInteger>>strange"));
}

TEST_F(squeak_interpreter, a_block_is_evaluated_and_returns_from_its_method) {
  // [:x | x + 1] value: self
  add("block",
      {{push_context, push_one, 200, 164, 5, 104, 16, push_one, 176, 125, push_receiver, 202, return_top}, {}, 0, 1});
  // [^2] value. ^1
  add("leave", {{push_context, 117, 200, 164, 2, push_two, return_top, 201, pop, push_one, return_top}});
  start();
  EXPECT_EQ(answer("6 block"), "7");
  EXPECT_EQ(answer("6 leave"), "2");
}

TEST_F(squeak_interpreter, a_return_from_a_dead_method_is_cannot_return) {
  // block: [^2]. It is evaluated when its method has returned.
  add("dead", {{push_context, 117, 200, 164, 2, push_two, return_top, return_top}});
  add("late", {{push_receiver, 208, 201, return_top}, {symbol_word("dead")}});
  builder.add_method(builder.known("BlockContext"), "cannotReturn:", {{139}, {}, 1, 1});
  start();
  EXPECT_EQ(answer("3 late"), "failed: unknown bytecode 139");
  EXPECT_THAT(last.failure.stack, Contains("BlockContext>>cannotReturn:"));
}

TEST_F(squeak_interpreter, a_condition_that_is_no_boolean_is_told) {
  // nil ifTrue: [^1]. ^2
  add("odd", {{push_nil, 153, push_one, return_top, push_two, return_top}});
  builder.add_method(builder.known("UndefinedObject"), "mustBeBoolean", {{139}});
  start();
  EXPECT_EQ(answer("3 odd"), "failed: unknown bytecode 139");
  EXPECT_THAT(last.failure.stack, ElementsAre("UndefinedObject>>mustBeBoolean", "SmallInteger>>odd", testing::_));
}

TEST_F(squeak_interpreter, endless_recursion_ends_with_low_space) {
  add("down", {{push_receiver, 208, return_top}, {symbol_word("down")}});
  start(std::uint64_t{64} << 20);
  EXPECT_THAT(answer("3 down"), HasSubstr("failed: space is low: the objects take"));
  EXPECT_EQ(last.failure.stack.size(), 20U);
  EXPECT_EQ(last.failure.stack.front(), "SmallInteger>>down");
}

// The image is told once, before the VM gives up: its semaphore has a signal.
TEST_F(squeak_interpreter, low_space_signals_the_semaphore_that_the_image_has_named) {
  add("down", {{push_receiver, 208, return_top}, {symbol_word("down")}});
  const std::uint32_t nil = image_builder::refer(builder.known("nil"));
  builder.add_global("Gate", builder.add(builder.known("Semaphore"), format::fixed, {nil, nil, word_of(0)}));
  builder.add_method(builder.known("Semaphore"), "signals", {{return_receiver}, {}, 0, 0, 266});
  builder.add_method(builder.known("Semaphore"), "lowSpaceSemaphore:", {{push_nil, return_top}, {}, 1, 1, 124});
  builder.add_method(builder.known("Semaphore"), "signalAtBytesLeft:", {{push_nil, return_top}, {}, 1, 1, 125});
  start(std::uint64_t{64} << 20);
  EXPECT_EQ(answer("Gate lowSpaceSemaphore: Gate"), "a Semaphore");
  EXPECT_EQ(answer("Gate signalAtBytesLeft: -1"), "nil");
  EXPECT_EQ(answer("Gate signalAtBytesLeft: 30000000"), "a Semaphore");
  EXPECT_EQ(answer("Gate signals"), "0");
  EXPECT_THAT(answer("3 down"), HasSubstr("failed: space is low"));
  EXPECT_EQ(answer("Gate signals"), "1");
}

TEST_F(squeak_interpreter, the_image_quits) {
  add("leave", {{push_nil, return_top}, {}, 0, 0, 113});
  add("later", {{push_receiver, 208, pop, push_one, return_top}, {symbol_word("leave")}});
  add("double", {{push_receiver, push_receiver, 176, return_top}});
  start();
  EXPECT_EQ(vm->send("3 leave").end, run_end::quit);
  EXPECT_EQ(vm->send("3 later").end, run_end::quit);
  EXPECT_EQ(answer("21 double"), "42");
}

// The VM that writes the snapshot answers false; the one that reads it goes on behind the primitive, which answers true.
TEST_F(squeak_interpreter, the_image_asks_for_a_snapshot) {
  add("snapshot", {{push_nil, return_top}, {}, 0, 0, 97});
  add("saved", {{push_receiver, 208, return_top}, {symbol_word("snapshot")}});
  add("double", {{push_receiver, push_receiver, 176, return_top}});
  const package_rank::test::scratch_folder folder;
  interpreter_options options;
  options.image_path = folder.path() + "/asked.image";
  vm.emplace(builder.build(), options);
  EXPECT_EQ(answer("3 saved"), "false");
  EXPECT_EQ(answer("21 double"), "42");
  vm.reset();
  vm.emplace(read_image_file(options.image_path), options);
  EXPECT_EQ(vm->vm().stack(), vm->memory().known().true_object);
  EXPECT_THAT(stack_lines(vm->memory(), vm->vm().context()), testing::Contains("SmallInteger>>saved"));
  EXPECT_EQ(answer("21 double"), "42");
}

TEST_F(squeak_interpreter, a_snapshot_that_cannot_be_written_is_a_primitive_that_fails) {
  add("snapshot", {{push_nil, return_top}, {}, 0, 0, 97});
  interpreter_options options;
  options.image_path = "/nowhere/asked.image";
  vm.emplace(builder.build(), options);
  EXPECT_EQ(answer("3 snapshot"), "nil");
}

TEST_F(squeak_interpreter, waiting_for_ever_is_a_failure) {
  builder.add_method(builder.known("Semaphore"), "wait", {{return_receiver}, {}, 0, 0, 86});
  const std::uint32_t nil = image_builder::refer(builder.known("nil"));
  builder.add_global("Gate", builder.add(builder.known("Semaphore"), format::fixed, {nil, nil, word_of(0)}));
  builder.add_global("Open", builder.add(builder.known("Semaphore"), format::fixed, {nil, nil, word_of(1)}));
  builder.add_method(builder.known("Semaphore"), "twice",
                     {{push_receiver, 208, pop, push_one, return_top}, {symbol_word("wait")}});
  start();
  EXPECT_EQ(answer("Gate twice"), "failed: every process waits, and none of them for a time");
  EXPECT_EQ(answer("Open twice"), "1");
}

TEST_F(squeak_interpreter, become_exchanges_objects_and_leaves_hashes) {
  const std::uint32_t a = builder.add(builder.known("Point"), format::fixed, {word_of(1), word_of(2)});
  const std::uint32_t b = builder.add(builder.known("Point"), format::fixed, {word_of(3), word_of(4)});
  builder.add_global("A", a);
  builder.add_global("B", b);
  builder.add_global("As", builder.add(builder.known("Array"), format::indexed, {image_builder::refer(a)}));
  builder.add_global("Bs", builder.add(builder.known("Array"), format::indexed, {image_builder::refer(b)}));
  builder.add_method(builder.known("Array"), "become:", {{return_receiver}, {}, 1, 1, 128});
  builder.add_method(builder.known("Point"), "x", {{return_receiver}, {}, 0, 0, 264});
  builder.add_method(builder.known("Point"), "hash", {{push_nil, return_top}, {}, 0, 0, 75});
  start();
  const std::string hash = answer("A hash");
  EXPECT_EQ(answer("A x"), "1");
  EXPECT_EQ(vm->send("As become: Bs").end, run_end::answered);
  EXPECT_EQ(answer("A x"), "3");
  EXPECT_EQ(answer("B x"), "1");
  EXPECT_EQ(answer("A hash"), hash);
}

TEST_F(squeak_interpreter, collections_keep_what_is_reached) {
  builder.add_method(builder.known("Object"), "gc", {{push_nil, return_top}, {}, 0, 0, 130});
  // 1 to: 1000 rounds of garbage are elsewhere; here: an Array in a temporary, a collection, its size.
  builder.add_method(builder.known("Class"), "new:", {{push_nil, return_top}, {}, 1, 1, 71});
  add("keep", {{33, push_receiver, 205, 104, push_receiver, 208, pop, 16, 194, return_top},
               {symbol_word("gc"), image_builder::refer(builder.known("Array"))},
               0,
               1});
  start();
  const std::size_t before = reachable_objects(vm->memory()).size();
  EXPECT_EQ(answer("30 keep"), "30");
  EXPECT_EQ(last.counts.collections, 1U);
  constexpr double a_few_chunks = 1 << 20;
  EXPECT_NEAR(std::stod(answer("3 gc")), static_cast<double>(vm->vm().bytes_free()), a_few_chunks);
  EXPECT_EQ(reachable_objects(vm->memory()).size(), before);
}

TEST_F(squeak_interpreter, primitives_of_integers) {
  struct entry {
    const char* selector;
    std::uint32_t primitive;
    const char* message;
    const char* answer;
  };
  const std::vector<entry> all{{"+", 1, "3 + 4", "7"},
                               {"-", 2, "3 - 4", "-1"},
                               {"*", 9, "-3 * 4", "-12"},
                               {"/", 10, "12 / 4", "3"},
                               {"\\\\", 11, "-7 \\\\ 3", "2"},
                               {"//", 12, "-7 // 3", "-3"},
                               {"quo:", 13, "-7 quo: 3", "-2"},
                               {"bitAnd:", 14, "12 bitAnd: 10", "8"},
                               {"bitOr:", 15, "12 bitOr: 10", "14"},
                               {"bitXor:", 16, "12 bitXor: 10", "6"},
                               {"bitShift:", 17, "3 bitShift: 4", "48"},
                               {"<", 3, "3 < 4", "true"},
                               {"=", 7, "3 = 4", "false"}};
  for (const entry& each : all) add(each.selector, {{push_nil, return_top}, {}, 1, 1, each.primitive});
  start();
  for (const entry& each : all) EXPECT_EQ(answer(each.message), each.answer) << each.message;
  EXPECT_EQ(answer("7 / 2"), "nil");  // it fails, and the method's code runs
  EXPECT_EQ(answer("1073741823 + 1"), "nil");
  EXPECT_EQ(answer("-3 bitShift: 2"), "nil");
  EXPECT_EQ(answer("3 // 0"), "nil");
}

// Floats and integers of 32 bits are calculated without a send; the image calculates the rest.
TEST_F(squeak_interpreter, bytecodes_calculate_with_floats_and_integers_of_32_bits) {
  const auto literal = [&](double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    return image_builder::refer(
        builder.add(builder.known("Float"), format::words,
                    {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)}));
  };
  const auto large = [&](const char* of_class, std::string bytes) {
    return image_builder::refer(builder.add_bytes(builder.known(of_class), bytes));
  };
  struct entry {
    std::uint8_t bytecode;
    std::uint32_t a, b;
    const char* answer;
  };
  const std::uint32_t most = word_of((1 << 30) - 1);
  const std::uint32_t two_to_31 = large("LargePositiveInteger", std::string{"\0\0\0\x80", 4});
  const std::uint32_t minus = large("LargeNegativeInteger", std::string{"\0\0\0\x80", 4});
  const std::uint32_t two_to_32 = large("LargePositiveInteger", std::string{"\0\0\0\0\1", 5});
  const std::vector<entry> all{{176, literal(1.5), literal(2.25), "3.75"},
                               {177, literal(1.5), word_of(1), "0.5"},
                               {184, word_of(3), literal(0.5), "1.5"},
                               {178, literal(1.5), word_of(2), "true"},
                               {183, literal(2), word_of(2), "false"},
                               {182, two_to_31, two_to_31, "true"},
                               {179, minus, most, "false"},
                               {181, two_to_31, most, "true"},
                               {180, minus, two_to_31, "true"},
                               {177, two_to_31, two_to_31, "0"},
                               {176, minus, two_to_31, "0"},
                               {177, two_to_31, most, "a LargePositiveInteger"},
                               {176, most, word_of(1), "a LargePositiveInteger"}};
  for (std::size_t i = 0; i < all.size(); ++i)
    add("try" + std::to_string(i), {{32, 33, all[i].bytecode, return_top}, {all[i].a, all[i].b}});
  add("sum", {{32, 33, 176, return_top}, {two_to_31, two_to_31}});
  add("beyond", {{32, 33, 182, return_top}, {two_to_32, two_to_32}});
  start();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(answer("0 try" + std::to_string(i)), all[i].answer) << i;
    EXPECT_EQ(last.counts.bytecodes, 4U) << i;
  }
  EXPECT_THAT(answer("0 sum"), HasSubstr("nobody understands"));
  EXPECT_THAT(answer("0 beyond"), HasSubstr("nobody understands"));
}

// They compare at most 53 bits; the image compares longer integers.
TEST_F(squeak_interpreter, primitives_that_compare_large_integers) {
  const std::vector<std::pair<const char*, std::uint32_t>> selectors{{"<", 23},  {">", 24}, {"<=", 25},
                                                                     {">=", 26}, {"=", 27}, {"~=", 28}};
  const std::uint32_t positive = builder.known("LargePositiveInteger"),
                      negative = builder.known("LargeNegativeInteger");
  for (const std::uint32_t each : {positive, negative})
    for (const auto& [selector, primitive] : selectors)
      builder.add_method(each, selector, {{push_nil, return_top}, {}, 1, 1, primitive});
  const auto add_number = [&](const char* name, std::uint32_t of_class, const std::string& bytes) {
    builder.add_global(name, builder.add_bytes(of_class, bytes));
  };
  add_number("Large", positive, std::string{"\0\0\0\x80", 4});
  add_number("Larger", positive, std::string{"\0\0\0\x80\x01", 5});
  add_number("Same", positive, std::string{"\0\0\0\x80", 4});
  add_number("Minus", negative, std::string{"\0\0\0\x80", 4});
  add_number("Most", positive, "\xff\xff\xff\xff\xff\xff\x1f");
  add_number("TooLarge", positive, std::string{"\0\0\0\0\0\0\x20", 7});
  start();
  for (const auto& [message, expected] :
       std::vector<std::pair<const char*, const char*>>{{"Large < Larger", "true"},
                                                        {"Larger < Large", "false"},
                                                        {"Large > 5", "true"},
                                                        {"Minus >= 5", "false"},
                                                        {"Minus <= Large", "true"},
                                                        {"Large = Same", "true"},
                                                        {"Large = Minus", "false"},
                                                        {"Large ~= Minus", "true"},
                                                        {"Most > Larger", "true"},
                                                        {"Large < TooLarge", "nil"},
                                                        {"TooLarge = TooLarge", "nil"},
                                                        {"Large = nil", "nil"}})
    EXPECT_EQ(answer(message), expected) << message;
}

TEST_F(squeak_interpreter, a_snapshot_has_the_same_objects) {
  add("double", {{push_receiver, push_receiver, 176, return_top}});
  start();
  EXPECT_EQ(answer("21 double"), "42");
  image like;
  const image first = take_image(vm->memory(), like);
  vm.reset();
  vm.emplace(first, interpreter_options{});
  EXPECT_EQ(answer("22 double"), "44");
  EXPECT_EQ(take_image(vm->memory(), like), first);
}

TEST(squeak_message_text, reads_receivers_selectors_and_arguments) {
  using kind = message_part::kind;
  EXPECT_EQ(read_message("3 printString"), (message{{kind::integer, "3"}, "printString", {}}));
  EXPECT_EQ(read_message("-3 + 4"), (message{{kind::integer, "-3"}, "+", {{kind::integer, "4"}}}));
  EXPECT_EQ(read_message("Compiler evaluate: 'it''s'"),
            (message{{kind::global, "Compiler"}, "evaluate:", {{kind::string, "it's"}}}));
  EXPECT_EQ(read_message("A at: #b:c put: D"),
            (message{{kind::global, "A"}, "at:put:", {{kind::symbol, "b:c"}, {kind::global, "D"}}}));
  for (const char* wrong : {"", "3", "3 a b", "3 a: 4 b", "3 + 'x", "3 + 4 5"})
    EXPECT_THROW((void)read_message(wrong), situ::error) << wrong;
}

}  // namespace
