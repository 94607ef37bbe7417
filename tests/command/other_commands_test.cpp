// Commands that are programs beside `situ` (tools/situ/other_commands.h).
#include "launch/launch_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

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
                               HasSubstr("run, top, topo, order, new, study, model, pool, rmem, bench")));
}

TEST_F(other_commands, stand_in_its_help) {
  EXPECT_THAT(run_program({alone(), "--help"}).out, AllOf(HasSubstr("\n  pool "), HasSubstr("\n  bench ")));
}

}  // namespace
}  // namespace situ::test
