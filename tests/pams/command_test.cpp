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

// --- run

constexpr const char* root = R"(.handler call 1
.handler done 2
  message_counter m0 call 2
  timer_threshold 5000
  wait timer
  wait m0
  send done 1
  send done 4
  halt
)";
constexpr const char* leaf = R"(.handler call 1
.handler done 2
  message_counter m0 done 1
  timer_threshold 5000
  wait timer
  send call 0
  wait m0
  halt
)";

TEST_F(pams_command, runs_programs_on_the_modelled_board) {
  const ended_program ran = pams({"run", "0=" + write("root.pams", root), "1,4=" + write("leaf.pams", leaf)});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  // Node 4 is a hop away: its call takes 24 cycles, node 1's 17; node 0's second send comes 6 cycles after its first.
  EXPECT_THAT(ran.out, AllOf(HasSubstr("   0         5024  "), HasSubstr("   1         5042  "),
                             HasSubstr("   4         5055  "), HasSubstr("finished at cycle ")));
}

TEST_F(pams_command, runs_text_and_words_alike) {
  ASSERT_EQ(pams({"asm", "-o", file("root.hex"), write("root.pams", root)}).exit_code, 0);
  ASSERT_EQ(pams({"asm", "--json", "-o", file("leaf.json"), write("leaf.pams", leaf)}).exit_code, 0);
  const ended_program ran = pams({"run", "--json", "0=" + file("root.hex"), "1,4=" + file("leaf.json")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json result = json::parse(ran.out);
  EXPECT_EQ(result.at("outcome"), "finished");
  EXPECT_EQ(result.at("nodes").at(2).at("node"), 4);
  EXPECT_EQ(result.at("nodes").at(2).at("arrival_time"), 5055);
}

TEST_F(pams_command, runs_rtl_and_parts_alike_if_there_is_rtl) {
  const std::vector<std::string> programs = {"0=" + write("root.pams", root), "1,4=" + write("leaf.pams", leaf)};
  for (const char* const units : {"rtl", "both"}) {
    const ended_program ran = pams({"run", "--units", units, programs[0], programs[1]});
    if (ran.exit_code != 0) {
      EXPECT_THAT(ran.err, HasSubstr("verilator was not there"));
      continue;
    }
    EXPECT_THAT(ran.out, AllOf(HasSubstr("   0         5024  "), HasSubstr("   4         5055  ")));
  }
  EXPECT_NE(pams({"run", "--units", "wood", programs[0]}).exit_code, 0);
}

TEST_F(pams_command, traces_each_unit) {
  const ended_program ran =
      pams({"run", "--trace", "--from", "5000", "0=" + write("root.pams", root), "1,4=" + write("leaf.pams", leaf)});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("    5005     1  transmit        NODE "),
                             HasSubstr("    5017     0  PAMS            COUNT ")));
}

TEST_F(pams_command, tells_who_waits_for_ever) {
  const ended_program ran = pams({"run", "0=" + write("root.pams", root), "1=" + write("leaf.pams", leaf)});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.out, HasSubstr("stands still at cycle "));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("node 0: pc 5, waits for m0: 1 of 2 messages for handler 1"),
                             HasSubstr("node 1: pc 6, waits for m0: 0 of 1 messages for handler 2")));
}

TEST_F(pams_command, moves_memories_from_and_to_files) {
  const std::string copy =
      write("copy.pams", "timer_threshold 2000\nwait timer\nsend_long 7 1 at 8 bytes 6 from 4\nhalt\n");
  const std::string wait = write("wait.pams", "message_counter m0 7 1\nwait m0\nhalt\n");
  const ended_program ran = pams({"run", "--memory", "0=" + write("in.bin", "0123abcdef"), "--save",
                                  "1=" + file("out.bin"), "1=" + wait, "0=" + copy});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read("out.bin").size(), 65536U);
  EXPECT_EQ(read("out.bin").substr(0, 16), (std::string{"\0\0\0\0\0\0\0\0abcdef\0\0", 16}));
}

TEST_F(pams_command, refuses_runs_that_cannot_be) {
  const std::string program = write("leaf.pams", leaf);
  const auto refused = [](const ended_program& ran, const char* why) {
    EXPECT_NE(ran.exit_code, 0);
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  refused(pams({"run", "20=" + program}), "the machine has nodes 0 to 19");
  refused(pams({"run", "16=" + program}), "node 16 has no PAMS");
  refused(pams({"run", "0-1=" + program, "1=" + program}), "node 1 has a program already");
  refused(pams({"run", program}), "NODES=FILE is needed");
  refused(pams({"run", "--machine", "nemesys-2x2", "0=" + program}), "nemesys-2x2.toml");
  refused(pams({"run", "--memory", "0=" + write("big", std::string(65537, 'x')), "0=" + program}), "has 65537 bytes");
}

}  // namespace
