// Every stencil program by every executor: its checks pass, and the bits of its result are those of `plain` on one
// thread.
#include "command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/build_paths.h"

namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using package_rank::test::scratch_folder;
using ::testing::HasSubstr;
using ::testing::Not;

struct example {
  std::string name;
  std::vector<std::string> arguments;
  std::string budget;  // a part of the data, so that tiles come and go
  std::string tile;
};

// Above 1 MiB a dataset: what is smaller stays in memory even out of core.
const example examples[] = {
    {"heat", {"400", "40"}, "1 MiB", "0,64"},
    {"wave", {"400", "41"}, "1 MiB", "70,64"},
    {"jacobi27", {"56", "12"}, "3 MiB", "0,8,12"},
    {"euler", {"380", "4"}, "12 MiB", "100,60"},
    {"euler", {"80", "1", "--problem", "sod", "--along", "y"}, "1 MiB", "0,20"},
    {"euler", {"52", "2", "--dims", "3"}, "40 MiB", "0,10,20"},
    {"taylor_green", {"52", "4", "--chain", "2"}, "32 MiB", "0,20,20"},
    {"taylor_green", {"8", "20", "--flow", "2d"}, "8 MiB", "10,10"},
};

command_result run(const example& e, const std::vector<std::string>& options,
                   const std::vector<std::string>& environment = {}) {
  std::vector<std::string> all{std::string{SITU_TEST_BIN_DIR} + "/" + e.name};
  all.insert(all.end(), e.arguments.begin(), e.arguments.end());
  all.insert(all.end(), options.begin(), options.end());
  return run_command(all, environment);
}

// Of a key in the JSON that a program prints.
std::string value_of(const std::string& json, const std::string& key) {
  const auto at = json.find('"' + key + "\": ");
  if (at == json.npos) return {};
  const auto from = at + key.size() + 4;
  return json.substr(from, json.find_first_of(",\n", from) - from);
}

class stencil_programs : public ::testing::TestWithParam<example> {};

TEST_P(stencil_programs, agree_on_every_executor) {
  const example& e = GetParam();
  const command_result plain = run(e, {"--executor", "plain", "--threads", "1", "--json", "-"});
  ASSERT_EQ(plain.exit_code, 0) << plain.out << plain.err;
  const std::string expected = value_of(plain.out, "checksum");
  EXPECT_EQ(expected.size(), 18u) << plain.out;  // with its quotes

  const bool is_large = e.budget != "1 MiB" || e.name != "euler";  // the tube is narrow: its datasets stay in memory
  const command_result tiled =
      run(e, {"--executor", "tiled", "--threads", "2", "--json", "-"}, {"SITU_STENCIL_TILE=" + e.tile});
  EXPECT_EQ(tiled.exit_code, 0) << tiled.out << tiled.err;
  EXPECT_EQ(value_of(tiled.out, "checksum"), expected);
  EXPECT_GT(std::stoi(value_of(tiled.out, "tiles")), 1) << tiled.out;

  const command_result away =
      run(e, {"--executor", "out_of_core", "--budget", e.budget, "--threads", "2", "--json", "-"});
  EXPECT_EQ(away.exit_code, 0) << away.out << away.err;
  EXPECT_EQ(value_of(away.out, "checksum"), expected);
  if (is_large && e.arguments.back() != "2d") {
    EXPECT_GT(std::stoi(value_of(away.out, "tiles")), 1) << away.out;
    EXPECT_GT(std::stol(value_of(away.out, "bytes_written")), 0) << away.out;
  }
}

INSTANTIATE_TEST_SUITE_P(each, stencil_programs, ::testing::ValuesIn(examples),
                         [](const auto& info) { return info.param.name + "_" + std::to_string(info.index); });

const example heat{"heat", {"40", "4"}, "", ""};

TEST(stencil_program, reads_the_executor_from_the_environment) {
  EXPECT_EQ(value_of(run(heat, {"--json", "-"}, {"SITU_STENCIL_EXECUTOR=plain"}).out, "executor"), "\"plain\"");
  EXPECT_EQ(
      value_of(run(heat, {"--json", "-", "--executor", "tiled"}, {"SITU_STENCIL_EXECUTOR=plain"}).out, "executor"),
      "\"tiled\"");
}

TEST(stencil_program, draws_its_field) {
  const scratch_folder folder;
  const std::string file = folder.path() + "/field.png";
  const command_result result = run(heat, {"--png", file});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("PASS"));
  std::ifstream stream{file, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{stream}, {}};
  ASSERT_GT(bytes.size(), 1600u);
  EXPECT_EQ(bytes.substr(1, 3), "PNG");
  EXPECT_EQ(bytes.substr(16, 8), std::string("\0\0\3\x5c\0\0\3\2", 8)) << "860 x 770, the field and what is around it";
}

TEST(stencil_program, fails_where_its_check_does) {
  const example unstable{
      "taylor_green", {"8", "40", "--reynolds", "0.1"}, "", ""};  // far beyond the limit of the viscous terms
  const command_result result = run(unstable, {});
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.out, HasSubstr("FAIL"));
}

TEST(stencil_program, says_what_is_wrong) {
  EXPECT_THAT(run(heat, {"--executor", "fast"}).err, HasSubstr("--executor"));
  EXPECT_THAT(run(heat, {}, {"SITU_STENCIL_EXECUTOR=fast"}).err, HasSubstr("plain, tiled and out_of_core exist"));
  EXPECT_THAT(run(heat, {"--png", "/nonexistent/x.png"}).err, HasSubstr("cannot write /nonexistent/x.png"));
  EXPECT_THAT(run(heat, {"--json", "/nonexistent/x.json"}).err, HasSubstr("cannot write /nonexistent/x.json"));
  EXPECT_THAT(run(heat, {"--budget", "much"}).err, HasSubstr("much"));
  const command_result small = run(examples[0], {"--executor", "out_of_core", "--budget", "100 KB"});
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_THAT(small.err, HasSubstr("budget"));
}

TEST(stencil_program, explains_itself) {
  for (const char* const name : {"heat", "wave", "jacobi27", "euler", "taylor_green"}) {
    const command_result result = run({name, {"--help"}, "", ""}, {});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr(std::string{"Examples:\n  "} + name));
    EXPECT_THAT(result.out, HasSubstr("--executor"));
  }
}

}  // namespace
