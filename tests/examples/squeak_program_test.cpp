// The program `squeak`, on a small image without a compiler.
#include "examples/command.h"
#include "examples/squeak_builder.h"
#include "examples/squeak_debian.h"
#include "image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace squeak;
using squeak::test::image_builder;
using testing::HasSubstr;

class squeak_program : public testing::Test {
 protected:
  squeak_program() {
    image_builder builder;
    builder.add_method(builder.class_small_integer(), "double", {{112, 112, 176, 124}});
    builder.add_method(builder.class_small_integer(), "strange", {{139}});
    builder.add_method(builder.class_small_integer(), "quit", {{120}, {}, 0, 0, 113});
    const std::uint32_t down = image_builder::refer(builder.symbol("down"));
    builder.add_method(builder.class_small_integer(), "down", {{112, 208, 124}, {down}});
    write_image_file(builder.build(), path);
  }
  [[nodiscard]] package_rank::test::command_result run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {SITU_TEST_BIN_DIR "/squeak", path});
    return situ::test::run_command(std::move(arguments));
  }

  package_rank::test::scratch_folder folder;
  std::string path = folder.path() + "/small.image";
};

TEST_F(squeak_program, sends_and_counts) {
  const auto ended = run({"--send", "21 double", "--count"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::MatchesRegex("42\n +4 bytecodes\n +1 sends\n(.|\n)*"));
}

TEST_F(squeak_program, prints_json) {
  const auto ended = run({"--send", "21 double", "--send", "3 strange", "--count", "--json"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.out, HasSubstr("\"answer\": \"42\""));
  EXPECT_THAT(ended.out, HasSubstr("\"bytecodes\": 4,"));
  EXPECT_THAT(ended.out, HasSubstr("\"reason\": \"unknown bytecode 139\""));
}

TEST_F(squeak_program, a_failure_has_a_reason_a_stack_and_status_1) {
  const auto ended = run({"--send", "3 strange", "--send", "21 double"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("squeak: 3 strange: unknown bytecode 139\n    SmallInteger>>strange\n"));
}

TEST_F(squeak_program, endless_recursion_is_told_as_low_space) {
  const auto ended = run({"--memory", "32", "--send", "3 down"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, testing::StartsWith("squeak: 3 down: space is low: the objects take "));
  EXPECT_THAT(ended.err, HasSubstr(" MiB\n    SmallInteger>>down\n    SmallInteger>>down\n"));
}

TEST_F(squeak_program, ends_when_the_image_quits) {
  const auto ended = run({"--send", "21 double", "--send", "3 quit", "--send", "4 double"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "42\n");
}

TEST_F(squeak_program, writes_a_snapshot_that_it_opens) {
  const std::string other = folder.path() + "/other.image";
  EXPECT_EQ(run({"--send", "21 double", "--snapshot", other}).exit_code, 0);
  EXPECT_EQ(situ::test::run_command({SITU_TEST_BIN_DIR "/squeak", other, "--send", "4 double"}).out, "8\n");
}

TEST_F(squeak_program, refuses_a_damaged_image_with_an_offset) {
  const std::string damaged = folder.write("damaged.image", "nothing that is an image, but long enough for a header");
  const auto ended = situ::test::run_command({SITU_TEST_BIN_DIR "/squeak", damaged, "--send", "3 double"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("damaged.image: byte 0: the image's format is"));
}

TEST_F(squeak_program, compiles_methods_of_a_text_or_a_file) {
  SQUEAK_NEEDS_IMAGE();
  const auto of_image = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {SITU_TEST_BIN_DIR "/squeak", debian_image()});
    return situ::test::run_command(std::move(arguments));
  };
  const std::string file = folder.write("triple.st", "triple\n\t\"by addition\"\n\t^ self double + self\n");
  const auto ended =
      of_image({"--compile", "Integer", "double ^ self + self", "-c", "Integer", "@" + file, "--evaluate", "7 triple"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "#double\n#triple\n21\n");
  const auto wrong = of_image({"--compile", "Integer", "double ^ (self", "--evaluate", "3"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, testing::StartsWith("squeak: compile into Integer: syntax error: double ^ (self"));
  EXPECT_THAT(of_image({"--compile", "Nobody", "double ^ 3"}).err, HasSubstr("the image has no class Nobody"));
}

TEST_F(squeak_program, says_what_it_lacks) {
  EXPECT_THAT(run({"--compile", "SmallInteger", "half ^ self"}).err, HasSubstr("the image has no class SmallInteger"));
  const auto unread = run({"--compile", "SmallInteger", "@" + folder.path() + "/none.st"});
  EXPECT_NE(unread.exit_code, 0);
  EXPECT_THAT(unread.err, HasSubstr("--compile: cannot read " + folder.path() + "/none.st"));
  EXPECT_THAT(run({"--send", "Nobody double"}).err, HasSubstr("the image has no global Nobody"));
  EXPECT_THAT(run({"--evaluate", "3 + 4"}).err, HasSubstr("no Compiler"));
  EXPECT_EQ(run({}).exit_code, 2);
  EXPECT_THAT(run({"--help"}).out, HasSubstr("squeak Scratch.image --evaluate '3 + 4'"));
}

// A command of a page, and the lines that the page says it prints; "..." stands for any that may follow.
struct guide_command {
  std::string command;
  std::string printed;
};

std::vector<guide_command> commands_of(const std::string& page) {
  std::ifstream file{page};
  std::vector<guide_command> all;
  bool is_code = false;
  std::size_t before = 0;  // commands of earlier blocks
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```"))
      is_code = !is_code, before = all.size();
    else if (is_code && line.starts_with("$ "))
      all.push_back({line.substr(2), {}});
    else if (is_code && all.size() > before)
      all.back().printed += line + "\n";
  }
  return all;
}

// Replaces each occurrence.
std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// Runs it in a folder; returns what it prints.
std::string run_command_of_guide(const std::string& command, const std::string& folder) {
  const std::string vm = debian_vm();
  std::string ours = replaced(command, "/usr/share/scratch/Scratch.image", debian_image());
  ours = replaced(ours, "/usr/lib/squeak/*/squeakvm", "timeout 20 " + vm + " -plugins " + debian_vm_plugins(vm));
  return situ::test::run_shell("cd " + folder + " && export PATH=" SITU_TEST_BIN_DIR ":$PATH && " + ours).text;
}

TEST_F(squeak_program, the_commands_of_the_guide_print_what_it_says) {
  SQUEAK_NEEDS_IMAGE();
  const std::vector<guide_command> all = commands_of(SITU_TEST_SOURCE_DIR "/../docs/guide/squeak.md");
  EXPECT_GE(all.size(), 8U);
  for (const guide_command& each : all) {
    const bool is_other_vm = each.command.find("squeakvm") != std::string::npos;
    if (is_other_vm && debian_vm().empty() && squeak::test::may_skip()) continue;
    const std::string printed = run_command_of_guide(each.command, folder.path());
    if (is_other_vm) {
      std::ifstream answer{folder.path() + "/answer"};
      std::string line;
      EXPECT_TRUE(std::getline(answer, line) && line == "158") << printed;
    } else if (each.printed.ends_with("...\n")) {
      EXPECT_THAT(printed, testing::StartsWith(each.printed.substr(0, each.printed.size() - 4))) << each.command;
    } else {
      EXPECT_EQ(printed, each.printed) << each.command;
    }
  }
}

}  // namespace
