// Commands that are programs beside `situ` (tools/situ/other_commands.h).
#include "launch/launch_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/build_paths.h"
#include "support/programs.h"

namespace situ::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// A folder bin with a copy of `situ` and nothing beside it, below a folder that is removed.
class other_commands : public testing::Test {
 protected:
  other_commands() {
    std::string name = testing::TempDir() + "situ-command-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(folder_ / "bin");
    fs::copy_file(SITU_TEST_BIN_DIR "/situ", folder_ / "bin/situ");
  }
  ~other_commands() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string alone() const { return folder_ / "bin/situ"; }

  fs::path folder_;
};

TEST_F(other_commands, are_the_programs_beside_it) {
  const ended_program by_situ = run_program({SITU_TEST_BIN_DIR "/situ", "pool", "check", "--help"});
  const ended_program by_itself = run_program({SITU_TEST_BIN_DIR "/situ-pool", "check", "--help"});
  EXPECT_EQ(by_situ.exit_code, 0);
  EXPECT_EQ(by_situ.out, by_itself.out);
  EXPECT_THAT(by_situ.out, HasSubstr("situ pool check [OPTIONS]"));
}

TEST_F(other_commands, get_all_arguments_and_give_their_exit_code) {
  std::ofstream{folder_ / "bin/situ-count"} << "#!/bin/sh\nfor each; do echo \"<$each>\"; done\nexit 7\n";
  fs::permissions(folder_ / "bin/situ-count", fs::perms::owner_all);
  const ended_program ended = run_program({alone(), "count", "--help", "a b", "--", ""});
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_EQ(ended.out, "<--help>\n<a b>\n<-->\n<>\n");
}

TEST_F(other_commands, that_are_missing_are_said_to_be_not_installed) {
  const ended_program ended = run_program({alone(), "pool", "check", "x"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("situ-pool was not installed"), HasSubstr((folder_ / "bin").string())));
}

TEST_F(other_commands, that_are_not_built_name_their_target) {
  std::ofstream{folder_ / "CMakeCache.txt"};
  const ended_program ended = run_program({alone(), "rmem", "serve"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("cmake --build " + folder_.string() + " --target situ-rmem"));
}

TEST_F(other_commands, that_nobody_knows_are_refused_with_those_that_there_are) {
  const ended_program ended = run_program({alone(), "pol"});
  EXPECT_EQ(ended.exit_code, 109);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("there is no command pol"),
                               HasSubstr("run, top, topo, order, new, study, model, pams, pool, rmem, bench")));
}

TEST_F(other_commands, stand_in_its_help) {
  EXPECT_THAT(run_program({alone(), "--help"}).out, AllOf(HasSubstr("\n  pool "), HasSubstr("\n  bench ")));
}

// The names below "Subcommands:" in a command's help.
std::vector<std::string> commands_in(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines{help};
  bool is_there = false;
  for (std::string line; std::getline(lines, line);) {
    if (is_there && line.starts_with("  ") && line.size() > 2 && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    else if (is_there && !line.starts_with(" "))
      break;
    is_there = is_there || line.starts_with("Subcommands:") || line.starts_with("SUBCOMMANDS:");
  }
  return names;
}

// The command, with those below it. Each says examples of its own, and of itself alone.
void expect_examples(const std::vector<std::string>& command, int& count) {
  std::vector<std::string> asked{command};
  asked[0] = SITU_TEST_BIN_DIR "/situ";
  asked.push_back("--help");
  const ended_program ended = run_program(asked);
  std::string path = "situ";
  for (std::size_t i = 1; i < command.size(); ++i) path += " " + command[i];
  SCOPED_TRACE(path);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const std::size_t at = ended.out.find("Examples:\n");
  ASSERT_NE(at, std::string::npos) << ended.out;
  std::istringstream examples{ended.out.substr(at)};
  std::string line;
  for (std::getline(examples, line); std::getline(examples, line) && line.starts_with("  ");) {
    if (!line.starts_with("      ")) {
      EXPECT_THAT(line, HasSubstr(path));
    }
  }
  ++count;
  for (const std::string& each : commands_in(ended.out)) {
    std::vector<std::string> below{command};
    below.push_back(each);
    const bool is_apart = std::set<std::string>{"bench", "model", "pams", "pool", "rmem", "study"}.contains(each);
    if (command.size() > 1 || !is_apart || fs::exists(SITU_TEST_BIN_DIR "/situ-" + each)) expect_examples(below, count);
  }
}

TEST(commands, each_shows_examples_of_its_own) {
  int count = 0;
  expect_examples({"situ"}, count);
  EXPECT_GE(count, 15);  // the programs beside `situ` that are built here, and what they have
}

TEST(commands, what_there_is_is_said_to_whom_names_none) {
  const auto told = [](std::vector<std::string> words) {
    words.insert(words.begin(), SITU_TEST_BIN_DIR "/situ");
    const ended_program ended = run_program(words);
    EXPECT_NE(ended.exit_code, 0);
    return ended.err;
  };
  EXPECT_THAT(told({}), AllOf(HasSubstr("situ: a command is missing; there are run, "), HasSubstr("(situ --help)")));
  EXPECT_THAT(told({"rnu"}), HasSubstr("situ: there is no command rnu; did you mean run?; there are run, "));
  EXPECT_THAT(told({"pool"}), HasSubstr("situ pool: a command is missing; there are info, check, "));
  EXPECT_THAT(told({"pool", "chek", "x"}), HasSubstr("situ pool: there is no command chek; did you mean check?"));
  EXPECT_THAT(told({"order", "sett"}), HasSubstr("situ order: there is no command sett; did you mean set?"));
  const std::string help = run_program({SITU_TEST_BIN_DIR "/situ", "help"}).out;
  EXPECT_EQ(help, run_program({SITU_TEST_BIN_DIR "/situ", "--help"}).out);
  EXPECT_THAT(help, HasSubstr("rmem"));
  EXPECT_EQ(run_program({SITU_TEST_BIN_DIR "/situ", "help", "pool", "check"}).out,
            run_program({SITU_TEST_BIN_DIR "/situ", "pool", "check", "--help"}).out);
}

}  // namespace
}  // namespace situ::test
