// The machines that come with Situ: `situ model machines` offers those that run programs, and says what the others lack.
#include "examples/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using testing::HasSubstr;
using testing::Not;

const std::string situ = SITU_TEST_BIN_DIR "/situ";

command_result walk_on(const std::string& machine) {
  return run_command(
      {situ, "model", "run", "--machine", machine, "--quiet", SITU_TEST_BIN_DIR "/tests/model_walk", "4096", "3"});
}

struct listed_machines {
  std::map<std::string, int> cores;  // of those that run programs
  std::string others;                // the lines of those that do not
};

listed_machines list_machines() {
  const command_result result = run_command({situ, "model", "machines"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  listed_machines made;
  const std::size_t end = std::min(result.out.find("\n\n"), result.out.size());
  std::istringstream lines{result.out.substr(0, end)};
  std::string line;
  std::getline(lines, line);  // the head
  while (std::getline(lines, line)) {
    std::istringstream words{line};
    std::string name;
    words >> name;
    words >> made.cores[name];
  }
  made.others = result.out.substr(end);
  return made;
}

std::vector<std::filesystem::path> all_machines() {
  std::vector<std::filesystem::path> all;
  for (const auto& each : std::filesystem::directory_iterator{SITU_TEST_SOURCE_DIR "/../machines"})
    all.push_back(each.path());
  return all;
}

TEST(ModelMachines, ThatAreOfferedRunAProgram) {
  const listed_machines listed = list_machines();
  EXPECT_GE(listed.cores.size(), 8u);
  for (const auto& [name, cores] : listed.cores) {
    const command_result result = walk_on(name);
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
    EXPECT_EQ(result.out, "12288\n") << name;
  }
}

// Their numbers go to the program in its environment, which has no room for 32,768 of them one by one.
TEST(ModelMachines, OfManyCoresRunAProgram) {
  const command_result result = walk_on("flat:tiles=1024,cores=32,sets=1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// Cores of several threads run one.
TEST(ModelMachines, HaveTheirCores) {
  const listed_machines listed = list_machines();
  EXPECT_EQ(listed.cores.at("flat"), 64);
  EXPECT_EQ(listed.cores.at("knl-7210-flat"), 64);
  EXPECT_EQ(listed.cores.at("knl-7210-cache"), 64);
  EXPECT_EQ(listed.cores.at("grace-hopper-gh200"), 72);
  EXPECT_EQ(listed.cores.at("xeon-max-9480-flat"), 112);
  EXPECT_EQ(listed.cores.at("nemesys-4x4"), 70);
}

TEST(ModelMachines, ThatAreNotOfferedSayWhatTheyLack) {
  const listed_machines listed = list_machines();
  int others = 0;
  for (const std::filesystem::path& each : all_machines()) {
    const std::string name = each.stem().string();
    if (listed.cores.contains(name)) continue;
    ++others;
    const command_result result = walk_on(name);
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.err, HasSubstr(" needs ")) << name;
    // The list has the same sentence, with the file's line.
    const std::size_t at = result.err.find(name + ".toml:");
    ASSERT_NE(at, std::string::npos) << result.err;
    EXPECT_THAT(listed.others, HasSubstr(result.err.substr(at))) << name;
  }
  EXPECT_EQ(others + listed.cores.size() - 1, all_machines().size());
}

TEST(ModelMachines, ThatDoNotExistAreAnsweredWithThoseThatRunPrograms) {
  const command_result result = walk_on("no-such-machine");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("nemesys-4x4"));
  EXPECT_THAT(result.err, Not(HasSubstr("optane")));
}

}  // namespace
