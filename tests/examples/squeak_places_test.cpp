// An image that several places run: the interpreter goes to the receivers, and answers, counts, failures and snapshots
// are those of one place. Small images by hand, and Debian's if it is there.
#include "examples/command.h"
#include "examples/squeak_builder.h"
#include "examples/squeak_debian.h"
#include "image_file.h"
#include "place_machine.h"
#include "virtual_machine.h"

#include <situ/situ.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support/places.h"

namespace {

using namespace squeak;
using squeak::test::built_method;
using squeak::test::image_builder;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint8_t push_receiver = 112, push_one = 118, push_two = 119, return_top = 124, return_receiver = 120;

class squeak_places : public situ::test::on_places {
 protected:
  struct machine_options {
    situ::heap_options heap = {};
    place_options how = {};
    std::uint64_t most_bytes = std::uint64_t{1} << 30;
  };
  // Runs the image at all places; `main` is called at the main one.
  void run_image(const std::function<image()>& of, const machine_options& with,
                 const std::function<void(virtual_machine&)>& main) {
    run([&] {
      interpreter_options options;
      options.image_path = "test.image";
      options.counts = true;
      options.most_bytes = with.most_bytes;
      options.seconds = 2'177'452'800U + 1'777'604'645U;
      if (situ::here().index() != 0) return help_main_place(options, with.heap, with.how);
      virtual_machine vm{of(), options, with.heap, with.how};
      main(vm);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(layouts, squeak_places, testing::ValuesIn(situ::test::layouts({1, 2, 3, 7})),
                         situ::test::layout_name);

// An object whose method counts down, at another place than its class or the number.
image countdown_image() {
  image_builder builder;
  const std::uint32_t token = builder.add_class("Token", builder.known("Object"));
  const std::uint32_t symbol = builder.symbol("countDown:"), fields = builder.symbol("broken");
  // countDown: n. n < 1 ifTrue: [^self]. ^self countDown: n - 1
  builder.add_method(token, "countDown:",
                     {{16, push_one, 178, 152, return_receiver, push_receiver, 16, push_one, 177, 224, return_top},
                      {image_builder::refer(symbol)},
                      1,
                      1});
  builder.add_method(token, "broken", {{126, return_top}, {image_builder::refer(fields)}});
  builder.add_global("ToToken", builder.add(token, 1, {}));
  return builder.build();
}

TEST_P(squeak_places, a_receiver_gets_the_interpreter) {
  run_image(countdown_image, {}, [](virtual_machine& vm) {
    const evaluation done = vm.send("ToToken countDown: 100");
    EXPECT_EQ(done.text, "a Token") << done.failure.reason;
    EXPECT_EQ(done.counts.sends, 101U);
    // There, and back; or it lives at the main place.
    EXPECT_TRUE(done.counts.batons == 2 || done.counts.batons == 0) << done.counts.batons;
  });
}

TEST_P(squeak_places, a_failure_elsewhere_is_told_at_the_main_place) {
  run_image(countdown_image, {}, [](virtual_machine& vm) {
    const evaluation done = vm.send("ToToken broken");
    EXPECT_EQ(done.end, run_end::failed);
    EXPECT_THAT(done.failure.reason, HasSubstr("unknown bytecode 126"));
    EXPECT_THAT(done.failure.stack, Contains("Token>>broken"));
    EXPECT_EQ(vm.send("ToToken countDown: 3").text, "a Token");
  });
}

// The places that wait for the image are told that there is none, and end.
TEST_P(squeak_places, an_image_without_room_is_an_error_at_the_main_place) {
  run([] {
    const situ::heap_options small{.entries = 1 << 15};
    if (situ::here().index() != 0) {
      return help_main_place({}, small, {});
    }
    image_builder builder;
    for (int i = 0; i < 400'000; ++i) (void)builder.add(builder.known("Object"), 1, {});
    EXPECT_THROW((virtual_machine{builder.build(), {}, small}), situ::error);  // of this place, or of another one
  });
}

TEST_P(squeak_places, an_error_of_the_main_place_ends_all) {
  run([] {
    if (situ::here().index() != 0) return help_main_place({}, {}, {});
    EXPECT_EQ(situ::test::error_of([] {
                virtual_machine vm{countdown_image(), {}};
                (void)vm.send("Nothing foo");
              }).code,
              situ::errc::bad_argument);
  });
}

// --- Debian's image

class squeak_image_at_places : public squeak_places {
 protected:
  void SetUp() override {
    squeak_places::SetUp();
    SQUEAK_NEEDS_IMAGE();
  }
  void run_debian(const machine_options& with, const std::function<void(virtual_machine&)>& main) {
    run_image([] { return read_image_file(debian_image()); }, with, main);
  }
};
INSTANTIATE_TEST_SUITE_P(layouts, squeak_image_at_places, testing::ValuesIn(situ::test::layouts({2, 5})),
                         situ::test::layout_name);

std::string text_of(virtual_machine& vm, const std::string& text) {
  const evaluation done = vm.evaluate(text);
  return done.end == run_end::answered ? done.text : "failed: " + done.failure.reason;
}

void counts_as_one_place_does(virtual_machine& vm) {
  struct entry {
    const char* message;
    const char* answer;
    std::uint64_t bytecodes;
  };
  for (const entry& each : {entry{"3 printString", "'3'", 214},
                            {"20 benchFib", "21891", 251'742},
                            {"Compiler evaluate: '3+4'", "7", 9'861},
                            {"Compiler evaluate: '100 factorial printString size'", "158", 183'925}}) {
    const evaluation done = vm.send(each.message);
    EXPECT_EQ(done.text, each.answer) << each.message << ": " << done.failure.reason;
    EXPECT_EQ(done.counts.bytecodes, each.bytecodes) << each.message;
  }
  for (const auto& [text, answer] : std::vector<std::pair<std::string, std::string>>{
           {"1000 factorial / 998 factorial", "999000"},
           {"(1 to: 100000) asOrderedCollection size", "100000"},
           {"| p | p := Semaphore new. [p signal] fork. p wait. 5", "5"},
           {"(Array allInstances size) > 10000", "true"},
           {"nil zork", "failed: Message not understood: zork"},
           {"3 +", "failed: syntax error: 3 +"},
           {"(Array new: 3) at: 4", "failed: subscript is out of bounds: 4"},
           {"Smalltalk garbageCollect > 1000000", "true"},
           {"3+4", "7"},
           {"Delay startUp. (Time millisecondsToRun: [(Delay forMilliseconds: 50) wait]) >= 50", "true"}})
    EXPECT_THAT(text_of(vm, text), testing::StartsWith(answer)) << text;
}

TEST_P(squeak_image_at_places, counts_and_answers_are_those_of_one_place) {
  run_debian({}, [](virtual_machine& vm) {
    counts_as_one_place_does(vm);
    EXPECT_GT(vm.send("Compiler evaluate: '3+4'").counts.batons, 100U);
  });
}

// Stores into read-mostly objects are those of the protocol, also on this host.
TEST_P(squeak_image_at_places, objects_that_are_read_mostly_change_no_answer) {
  for (const bool one_heap : {false, true})
    run_debian({.heap = {.replicas = situ::heap_replicas::always},
                .how = {.replicated = read_mostly::all, .one_heap = one_heap}},
               [one_heap](virtual_machine& vm) {
                 counts_as_one_place_does(vm);
                 // With one heap for them, the interpreter stays.
                 const std::uint64_t batons = vm.send("Compiler evaluate: '3+4'").counts.batons;
                 EXPECT_EQ(batons < 100, one_heap) << batons;
               });
}

TEST_P(squeak_image_at_places, collections_of_all_places_change_no_answer) {
  run_debian({.heap = {.collect_after = 1, .collects_at_each_safe_point = true}}, [](virtual_machine& vm) {
    EXPECT_EQ(text_of(vm, "(1 to: 120) inject: 0 into: [:sum :i | sum + (Compiler evaluate: i printString, ' * 2')]"),
              "14520");
    const evaluation done = vm.send("Compiler evaluate: '100 factorial printString size'");
    EXPECT_EQ(done.text, "158");
    EXPECT_EQ(done.counts.bytecodes, 183'925U);
    EXPECT_GE(vm.memory().heap().counts().collections, 1U);
  });
}

TEST_P(squeak_image_at_places, garbage_of_all_places_is_collected) {
  run_debian({.heap = {.collect_after = std::uint64_t{16} << 20}}, [](virtual_machine& vm) {
    const evaluation done = vm.evaluate(
        "| all | all := OrderedCollection new. 1 to: 300000 do: [:i | all := Array with: all with: i. "
        "i \\\\ 100 = 0 ifTrue: [all := nil]]. all");
    EXPECT_EQ(done.text, "nil") << done.failure.reason;
    EXPECT_GE(done.counts.collections, 1U);
    EXPECT_LT(vm.memory().heap().bytes_held(), std::uint64_t{64} << 20);
  });
}

// Each visit makes a block and its context there; the place activates nothing by itself, and calls no primitive.
TEST_P(squeak_image_at_places, garbage_of_a_place_that_others_visit_is_collected) {
  run_debian({.heap = {.collect_after = std::uint64_t{4} << 20}}, [](virtual_machine& vm) {
    ASSERT_EQ(vm.compile("Object", "moveTo: place <primitive: 603>").end, run_end::answered);
    ASSERT_EQ(vm.compile("Object", "makesBlock ^[:each | each]").end, run_end::answered);
    const evaluation done = vm.evaluate(
        "| there | there := (Array new: 1) moveTo: 1. 1 to: 100000 do: [:i | there makesBlock]. there size");
    EXPECT_EQ(done.text, "1") << done.failure.reason;
    EXPECT_GE(done.counts.collections, 1U);
  });
}

// The sequence is one of all places, and contexts have no part in it.
class squeak_hashes : public squeak_image_at_places {};
INSTANTIATE_TEST_SUITE_P(layouts, squeak_hashes, testing::ValuesIn(situ::test::layouts({1, 3})),
                         situ::test::layout_name);
TEST_P(squeak_hashes, are_those_of_one_place) {
  run_debian({}, [](virtual_machine& vm) {
    EXPECT_EQ(text_of(vm, "((1 to: 5) collect: [:i | [:o | o hash] value: Object new]) asArray"),
              "(1842 1848 3074 1055 3333)");
  });
}

// A program that catches it goes on within the section.
TEST_P(squeak_places, an_error_outside_of_the_section_ends_within_it) {
  run_image(countdown_image, {}, [](virtual_machine& vm) {
    EXPECT_THROW(vm.memory().outside([] { throw std::bad_alloc{}; }), std::bad_alloc);
    EXPECT_TRUE(vm.memory().thread().state().is_in_section());
    EXPECT_EQ(vm.send("ToToken countDown: 3").text, "a Token");
  });
}

// Another place looks the selector up that is sent for an unknown message.
TEST_P(squeak_image_at_places, special_objects_are_those_of_all_places) {
  run_debian({}, [](virtual_machine& vm) {
    for (const char* method : {"moveTo: place <primitive: 603>", "useSpecials: all <primitive: 115>",
                               "tellUnknown: message ^message selector", "sendUnknown ^self zork"})
      ASSERT_EQ(vm.compile("Object", method).end, run_end::answered) << method;
    EXPECT_EQ(text_of(vm,
                      "| all there | there := (Array new: 1) moveTo: 1. all := Smalltalk specialObjectsArray copy. "
                      "all at: 21 put: #tellUnknown:. nil useSpecials: all. there sendUnknown"),
              "#zork");
  });
}

// The block's home is no context to use again, though its method has called one at another place since.
TEST_P(squeak_image_at_places, a_context_that_a_block_refers_to_is_kept) {
  run_debian({}, [](virtual_machine& vm) {
    for (const char* method : {"moveTo: place <primitive: 603>", "visit: n ^n + 1",
                               "keep: a visit: other | block | block := [:x | a + x]. other visit: 1. ^block"})
      ASSERT_EQ(vm.compile("Object", method).end, run_end::answered) << method;
    EXPECT_EQ(text_of(vm,
                      "| here there block | here := (Array new: 1) moveTo: 0. there := (Array new: 1) moveTo: 1. "
                      "block := here keep: 42 visit: there. here visit: 5. here keep: 7 visit: there. "
                      "block value: 1"),
              "43");
    EXPECT_EQ(text_of(vm,
                      "| here there block | here := (Array new: 1) moveTo: 0. there := (Array new: 1) moveTo: 1. "
                      "block := there keep: 42 visit: here. there visit: 5. there keep: 7 visit: here. "
                      "block value: 1"),
              "43");
  });
}

TEST_P(squeak_image_at_places, a_context_that_another_place_has_shown_is_kept) {
  run_debian({}, [](virtual_machine& vm) {
    for (const char* method : {"moveTo: place <primitive: 603>", "visit: n ^n + 1", "senderOf: n ^thisContext sender",
                               "keep: a shownBy: other | own | own := other senderOf: a. ^own"})
      ASSERT_EQ(vm.compile("Object", method).end, run_end::answered) << method;
    EXPECT_EQ(text_of(vm,
                      "| here there shown | here := (Array new: 1) moveTo: 0. there := (Array new: 1) moveTo: 1. "
                      "shown := here keep: 42 shownBy: there. here visit: 5. here keep: 7 shownBy: there. "
                      "shown at: 1"),
              "42");
  });
}

// More than a message has: the place where the block lives reads them from the caller's context.
TEST_P(squeak_image_at_places, a_block_elsewhere_gets_four_arguments) {
  run_debian({}, [](virtual_machine& vm) {
    for (const char* method : {"moveTo: place <primitive: 603>", "four ^[:x :y :z :w | w * 10 + z * 10 + y * 10 + x]"})
      ASSERT_EQ(vm.compile("Object", method).end, run_end::answered) << method;
    EXPECT_EQ(text_of(vm, "((Array new: 1) moveTo: 1) four valueWithArguments: #(1 2 3 4)"), "4321");
  });
}

// Each activation is at the other place. There is no room for a text that says why either, unless the main place does.
TEST_P(squeak_image_at_places, recursion_over_places_ends_where_no_place_has_room) {
  run_debian({.heap = {.entries = std::uint64_t{1} << 18, .collect_after = 0}}, [](virtual_machine& vm) {
    for (const char* method : {"moveTo: place <primitive: 603>", "to: other ^(other to: self) + 1"})
      ASSERT_EQ(vm.compile("Object", method).end, run_end::answered) << method;
    const evaluation done = vm.evaluate("((Array new: 1) moveTo: 0) to: ((Array new: 1) moveTo: 1)");
    EXPECT_EQ(done.end, run_end::failed);
    EXPECT_THAT(done.failure.reason, testing::ContainsRegex("no place has room|out of memory")) << done.failure.reason;
    EXPECT_THAT(done.failure.stack, Contains("Object>>to:"));
    EXPECT_EQ(text_of(vm, "3+4"), "7");  // the contexts are collected
  });
}

TEST_P(squeak_image_at_places, a_program_moves_objects_and_replicates_them) {
  run_debian({.heap = {.replicas = situ::heap_replicas::always}}, [](virtual_machine& vm) {
    for (const char* method : {"placeCount <primitive: 600>", "here <primitive: 601>", "home <primitive: 602>",
                               "moveTo: place <primitive: 603>", "beReadMostly <primitive: 604>",
                               "isReadMostly <primitive: 606>", "getsBaton: aBoolean <primitive: 607>"})
      ASSERT_EQ(vm.send(std::string{"Object compile: '"} + method + "' classified: 'x'").end, run_end::answered)
          << method;
    const std::string places = std::to_string(situ::place_count());
    std::string all_true = "(true";
    for (std::uint32_t i = 1; i < situ::place_count(); ++i) all_true += " true";
    all_true += ")";
    EXPECT_EQ(text_of(vm, "nil placeCount"), places);
    EXPECT_EQ(text_of(vm, "| a | a := Array new: 3. (0 to: nil placeCount - 1) collect: [:i | (a moveTo: i) home = i]"),
              all_true);
    EXPECT_EQ(text_of(vm, "| a | a := Array with: 7. a beReadMostly. a isReadMostly"), "true");
    EXPECT_EQ(text_of(vm, "| a | a := Array with: 7. a beReadMostly. a at: 1 put: 8. a isReadMostly"), "false");
    EXPECT_EQ(text_of(vm, "| a | a := Array with: 7. a beReadMostly. a at: 1 put: 8. a at: 1"), "8");
    EXPECT_EQ(text_of(vm,
                      "| a | a := (Array with: 7) moveTo: nil placeCount - 1. a getsBaton: false; beReadMostly. "
                      "a copy = a"),
              "true");
    // There is no such place: the primitive fails, and the method answers its receiver.
    EXPECT_EQ(text_of(vm, "((Array new: 1) moveTo: nil placeCount) size"), "1");
  });
}

TEST_P(squeak_image_at_places, a_snapshot_of_all_places_goes_on) {
  const package_rank::test::scratch_folder folder;
  const std::string path = folder.path() + "/changed.image";
  run_debian({}, [&](virtual_machine& vm) {
    EXPECT_EQ(text_of(vm, "Smalltalk at: #SituAnswer put: 6 * 7"), "42");
    vm.snapshot(path);
  });
  run_image([&] { return read_image_file(path); }, {},
            [](virtual_machine& vm) {
              EXPECT_EQ(text_of(vm, "Smalltalk at: #SituAnswer"), "42");
              EXPECT_EQ(vm.send("20 benchFib").counts.bytecodes, 251'742U);
            });
}

TEST_P(squeak_image_at_places, recursion_without_end_is_told) {
  run_debian({.most_bytes = std::uint64_t{24} << 20}, [](virtual_machine& vm) {
    EXPECT_EQ(vm.send("Object compile: 'forEver ^ self forEver + 1' classified: 'x'").text, "#forEver");
    EXPECT_THAT(text_of(vm, "Object new forEver"), HasSubstr("failed: space is low"));
    EXPECT_EQ(text_of(vm, "3+4"), "7");
  });
}

}  // namespace
