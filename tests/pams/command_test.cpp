// `situ pams` as a user or a script calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using situ::test::ended_program;
using testing::AllOf;
using testing::HasSubstr;

class pams_command : public testing::Test {
 protected:
  pams_command() : folder_{testing::TempDir() + "situ_pams_" + std::to_string(::getpid())} {
    fs::create_directories(folder_);
  }
  ~pams_command() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{file(name)} << text;
    return file(name);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in{file(name)};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  static ended_program pams(std::vector<std::string> arguments, const std::string& input = {}) {
    arguments.insert(arguments.begin(), {SITU_TEST_BIN_DIR "/situ", "pams"});
    return situ::test::run_program(arguments, {}, input);
  }

 private:
  fs::path folder_;
};

constexpr const char* source = R"(.node hub 4
.handler call 1
again:
  message_counter m0 call 15 keeps  ; of all
  wait m0
  send call hub arrival
  jump again
)";
constexpr const char* hexadecimal = R"(; .node hub 4
; .handler call 1
; again:
32000001  ;   0: message_counter m0 call 15 keeps
0000000f
70000002  ;   2: wait m0
90110801  ;   3: send call hub arrival
d0000000  ;   4: jump again
)";
constexpr const char* disassembled = R"(at_0:
  message_counter m0 1 15 keeps
  wait m0
  send 1 4 arrival
  jump at_0
)";

TEST_F(pams_command, asm_writes_words_with_their_source) {
  const ended_program ended = pams({"asm", write("barrier.pams", source)});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, hexadecimal);
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(pams({"asm", "-"}, source).out, hexadecimal);
}

TEST_F(pams_command, asm_writes_a_file) {
  const ended_program ended = pams({"asm", "-o", file("barrier.hex"), write("barrier.pams", source)});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(read("barrier.hex"), hexadecimal);
  const ended_program failed = pams({"asm", "-o", file("none/barrier.hex"), file("barrier.pams")});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.err, HasSubstr("none/barrier.hex"));
}

TEST_F(pams_command, asm_writes_json) {
  const json all = json::parse(pams({"asm", "--json", write("barrier.pams", source)}).out);
  EXPECT_EQ(all["format"], "situ-pams-program");
  EXPECT_EQ(all["words"], json::parse("[838860801, 15, 1879048194, 2417035265, 3489660928]"));
  EXPECT_EQ(all["nodes"]["hub"], 4);
  EXPECT_EQ(all["handlers"]["call"], 1);
  EXPECT_EQ(all["labels"]["again"], 0);
}

TEST_F(pams_command, dis_reads_what_asm_writes) {
  const std::string from = write("barrier.pams", source);
  for (const bool is_json : {false, true}) {
    std::vector<std::string> arguments{"asm", "-o", file("program"), from};
    if (is_json) arguments.emplace_back("--json");
    ASSERT_EQ(pams(arguments).exit_code, 0);
    const ended_program ended = pams({"dis", file("program")});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.out, disassembled);
  }
  EXPECT_EQ(pams({"dis", "-"}, hexadecimal).out, disassembled);
}

TEST_F(pams_command, asm_reports_errors_by_line_and_column_and_keeps_the_file) {
  const std::string from = write("wrong.pams", "  sned 1 2\n  wait\n  halt\n");
  const std::string to = write("wrong.hex", "old");
  const ended_program ended = pams({"asm", "-o", to, from});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, testing::StartsWith(from + ":1:3: there is no instruction sned; did you mean send?\n" + from +
                                             ":2:7: a condition is missing: "));
  EXPECT_EQ(read("wrong.hex"), "old");
  EXPECT_THAT(pams({"asm", "-"}, "go").err, testing::StartsWith("standard input:1:1: "));
}

TEST_F(pams_command, files_that_cannot_be_read_are_reported) {
  for (const char* command : {"asm", "dis"}) {
    const ended_program missing = pams({command, file("none")});
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_THAT(missing.err, AllOf(HasSubstr(file("none")), HasSubstr("No such file")));
    const ended_program folder = pams({command, file("")});
    EXPECT_EQ(folder.exit_code, 1);
    EXPECT_THAT(folder.err, HasSubstr("is a folder"));
  }
  const ended_program ended = pams({"dis", write("wrong.hex", "1\nhalt\n")});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("wrong.hex:2: 'halt' is no word"));
}

TEST_F(pams_command, says_which_commands_there_are) {
  const ended_program none = pams({});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_THAT(none.err, HasSubstr("there are asm, dis"));
  for (const char* command : {"asm", "dis"})
    EXPECT_THAT(pams({command, "--help"}).out, HasSubstr(std::string{"situ pams "} + command));
}

}  // namespace
