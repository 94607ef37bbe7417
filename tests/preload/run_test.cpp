// `situ run --intent NAME -- PROGRAM` for programs that know nothing of Situ: what they print and how they end is as
// without it, and what is said of their memory is true. Two budgets on node 0 stand for two memories.
#include "examples/command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/build_paths.h"
#include "support/restricted.h"

namespace {

using nlohmann::json;
using package_rank::test::command_result;
using package_rank::test::run_command;
using package_rank::test::scratch_folder;
using testing::HasSubstr;

const std::string situ_program = SITU_TEST_BIN_DIR "/situ";
const std::string subject = SITU_TEST_BIN_DIR "/tests/preload_subject";
constexpr double mib = 1 << 20;

class any_program : public testing::Test {
 protected:
  any_program() { order(64, 8192); }
  void order(int fast_mib, int slow_mib, const std::string& more = "") {
    orderings_ = folder_.write(
        "orderings.toml", "[[memory]]\nname = \"fast\"\nnode = 0\nbudget = \"" + std::to_string(fast_mib) +
                              " MiB\"\n[[memory]]\nname = \"slow\"\nnode = 0\nbudget = \"" + std::to_string(slow_mib) +
                              " MiB\"\n[[ordering]]\nintent = \"bandwidth\"\nmemories = \"fast, slow\"\nfill = "
                              "100\n" +
                              more);
  }
  command_result with_intent(std::vector<std::string> program, std::vector<std::string> options = {},
                             std::vector<std::string> variables = {}) {
    std::vector<std::string> all{situ_program, "run", "--intent", "bandwidth"};
    all.insert(all.end(), options.begin(), options.end());
    all.push_back("--");
    all.insert(all.end(), program.begin(), program.end());
    variables.push_back("SITU_ORDERINGS=" + orderings_);
    return run_command(all, variables);
  }
  // The report of such a run, which must end well.
  json report_of(const std::vector<std::string>& program) {
    const std::string file = folder_.path() + "/report.json";
    const command_result ended = with_intent(program, {"--report", file});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return json::parse(std::ifstream{file});
  }
  static double most_mib(const json& report, int memory) {
    return report["memories"][static_cast<std::size_t>(memory)]["most_bytes"].get<double>() / mib;
  }
  static double at_peak_mib(const json& report, int memory) {
    return report["memories"][static_cast<std::size_t>(memory)]["bytes_at_peak"].get<double>() / mib;
  }

  scratch_folder folder_;
  std::string orderings_;
};

TEST_F(any_program, ends_as_ever_where_pidfd_open_is_refused) {
  for (const int refusal : {EPERM, ENOSYS}) {
    const std::string said = situ::test::in_a_child([&] {
      situ::test::refuse_calls({SYS_pidfd_open, SYS_pidfd_send_signal}, refusal);
      const command_result ended = with_intent({"/bin/sh", "-c", "sleep 0.1; echo over; exit 42"});
      return fmt::format("{} with {}: {}", ended.out, ended.exit_code, ended.err);
    });
    if (said.starts_with("skipped")) GTEST_SKIP() << said;
    EXPECT_THAT(said, testing::StartsWith("over\n with 42")) << refusal;
  }
}

class same_program : public any_program, public testing::WithParamInterface<const char*> {};

TEST_P(same_program, prints_and_ends_as_without) {
  std::vector<std::string> program{subject};
  std::istringstream words{GetParam()};
  for (std::string word; words >> word;) program.push_back(word);
  const command_result alone = run_command(program);
  const command_result with = with_intent(program);
  EXPECT_EQ(with.out, alone.out);
  EXPECT_EQ(with.exit_code, alone.exit_code);
  EXPECT_EQ(with.err, alone.err);
  if (alone.exit_code == 77 && with.exit_code == 77) GTEST_SKIP() << "not allowed here";
  EXPECT_NE(alone.exit_code, 90);
  EXPECT_NE(alone.exit_code, 91) << "no such argument";
}
INSTANTIATE_TEST_SUITE_P(subjects, same_program,
                         testing::Values("mallocs", "maps", "reservations", "forks", "spawns", "threads", "last_thread",
                                         "modules", "signals", "descriptors", "rights", "namespaces", "own_policy",
                                         "small", "fill 100 2", "family 4 30", "exit 0", "exit 5", "signal 15",
                                         "signal 9"),
                         [](const auto& each) {
                           std::string name = each.param;
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST_F(any_program, real_programs_do_what_they_do) {
  const std::string text = folder_.write("numbers.txt", [] {
    std::string lines;
    for (unsigned i = 1; i <= 200000; ++i) lines += std::to_string(i * 2654435761u) + "\n";
    return lines;
  }());
  const std::string source = folder_.write("a.cpp",
                                           "#include <map>\n#include <string>\nint main() { return "
                                           "std::map<std::string, int>{{\"a\", 3}}[\"a\"]; }\n");
  const std::string binary = folder_.path() + "/a.out";
  const std::vector<std::vector<std::string>> programs{
      {"/usr/bin/sort", "-n", text},
      {"/usr/bin/python3", "-c",
       "x=[bytearray(i) for i in range(5000)]; print(sum(map(len, x)), len({i: str(i) for i in range(200000)}))"},
      {"/usr/bin/python3", "-c",
       "import multiprocessing as m\nif __name__ == '__main__':\n  with m.Pool(3) as p: print(sum(p.map(len, ['x' * "
       "1000000] * 9)))"},
      {"/usr/bin/python3", "-c", "import subprocess; print(subprocess.run(['echo', 'a'], capture_output=True).stdout)"},
      {"/usr/bin/perl", "-e", "my %h; $h{$_} = 'x' x 100 for 1..100000; print scalar(keys %h), qx(echo b)"},
      {"/usr/bin/gcc", "-xc++", "-O1", source, "-lstdc++", "-o", binary},
      {"/bin/sh", "-c", "for i in 1 2 3; do (echo $i | cat); done; exit 3"},
      {binary}};
  for (const std::vector<std::string>& program : programs) {
    if (program[0] != binary && !std::filesystem::exists(program[0])) continue;
    const command_result alone = run_command(program);
    const command_result with = with_intent(program);
    EXPECT_EQ(with.exit_code, alone.exit_code) << program[0];
    EXPECT_EQ(with.out, alone.out) << program[0];
    EXPECT_EQ(with.err, alone.err) << program[0];
  }
}

TEST_F(any_program, what_is_brought_in_already_stays) {
  const std::vector<std::string> program{"/bin/sh", "-c", "tr '\\0' '\\n' </proc/$$/environ | grep ^LD_PRELOAD="};
  // AddressSanitizer, which `situ` may be built with, wants to be the first library.
  const auto with = [&](const std::string& before) {
    return with_intent(program, {}, {"LD_PRELOAD=" + before, "ASAN_OPTIONS=verify_asan_link_order=0"}).out;
  };
  EXPECT_THAT(with("libm.so.6"), testing::MatchesRegex("LD_PRELOAD=libm.so.6:/[^:]*/libsitu_intent.so\n"));
  EXPECT_THAT(with(""), testing::MatchesRegex("LD_PRELOAD=/[^:\n]*/libsitu_intent.so\n"));
}

TEST_F(any_program, memories_fill_in_order) {
  const json report = report_of({subject, "hold", "100", "50"});
  EXPECT_EQ(report["memories"][0]["memory"], "fast");
  EXPECT_EQ(at_peak_mib(report, 0), 64);
  EXPECT_NEAR(at_peak_mib(report, 1), 36, 2);
  EXPECT_NEAR(report["peak_bytes"].get<double>() / mib, 100, 2);
  EXPECT_EQ(report["processes"], 1);
}

TEST_F(any_program, small_blocks_count) {
  const json report = report_of({subject, "hold_small", "1", "50"});  // 112 MB
  EXPECT_EQ(at_peak_mib(report, 0), 64);
  EXPECT_NEAR(at_peak_mib(report, 1), 112e6 / mib - 64, 2);
}

TEST_F(any_program, what_is_given_back_is_given_again) {
  const json report = report_of({subject, "fill", "60", "4"});
  EXPECT_NEAR(most_mib(report, 0), 60, 2);
  EXPECT_EQ(most_mib(report, 1), 0);
}

TEST_F(any_program, reservations_count_for_nothing) {
  EXPECT_LT(report_of({subject, "reservations"})["peak_bytes"].get<double>() / mib, 20);
}

TEST_F(any_program, all_processes_share_the_memories) {
  const json report = report_of({subject, "family", "4", "30"});
  EXPECT_EQ(report["processes"], 5);
  EXPECT_NEAR(report["peak_bytes"].get<double>() / mib, 120, 4);
  EXPECT_EQ(at_peak_mib(report, 0), 64);
  // What children have of their parent's is counted once, and processes that end say so or are found to have ended.
  const json forks = report_of({subject, "forks"});
  EXPECT_LT(forks["peak_bytes"].get<double>() / mib, 40);
  const json shell = report_of(
      {"/bin/sh", "-c",
       subject + " fill 50 1; " + subject + " fill 50 1; " + subject + " signal 9; " + subject + " fill 50 1"});
  EXPECT_NEAR(shell["peak_bytes"].get<double>() / mib, 50, 4);
}

// A process whose first thread has left is there while others go on, though the kernel shows no memory under its
// number.
TEST_F(any_program, a_process_without_its_first_thread_counts) {
  const json report = report_of({subject, "last_thread_fills", "30"});
  EXPECT_NEAR(report["peak_bytes"].get<double>() / mib, 60, 4);
}

TEST_F(any_program, only_the_first_process_if_wanted) {
  const std::string file = folder_.path() + "/report.json";
  const command_result ended =
      with_intent({"/bin/sh", "-c", subject + " fill 50 1; true"}, {"--no-children", "--report", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const json report = json::parse(std::ifstream{file});
  EXPECT_EQ(report["processes"], 1);
  EXPECT_LT(report["peak_bytes"].get<double>() / mib, 10);
}

TEST_F(any_program, past_all_memories_it_is_refused_memory) {
  order(32, 16);
  const command_result refused = with_intent({subject, "greedy", "200"});
  EXPECT_EQ(refused.out, "refused\n");
  EXPECT_EQ(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("no memory of the ordering for bandwidth had room"));
  EXPECT_THAT(refused.err, HasSubstr("slow"));
  order(32, 16, "no_room = \"last\"\n");
  EXPECT_EQ(with_intent({subject, "greedy", "100"}).out, "got all\n");
}

// A program that takes all it needs at once has it before anybody looks: nothing was refused, and nothing says so.
TEST_F(any_program, beyond_all_memories_the_report_does_not_say_that_a_request_was_refused) {
  order(16, 16);
  const command_result ended = with_intent({subject, "hold", "100", "300"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("had room any more: from then on, requests for more memory were refused (ENOMEM); "
                                   "what the program had before is its own"));
}

TEST_F(any_program, a_misspelt_intent_is_told) {
  const auto told = [&](std::vector<std::string> command) {
    return run_command(command, {"SITU_ORDERINGS=" + orderings_}).err;
  };
  const char* const question = "so it takes memories as 'normal' does; did you mean 'bandwidth'?";
  EXPECT_THAT(told({situ_program, "run", "--intent", "bandwith", "--", "/bin/true"}), HasSubstr(question));
  EXPECT_THAT(told({situ_program, "run", "-n", "1", "--intent", "bandwith", SITU_TEST_BIN_DIR "/hello"}),
              HasSubstr(question));
  EXPECT_THAT(told({situ_program, "run", "--intent", "checkpoint", "--", "/bin/true"}),
              testing::AllOf(HasSubstr("no ordering is written for the intent 'checkpoint'"),
                             testing::Not(HasSubstr("did you mean"))));
  EXPECT_EQ(told({situ_program, "run", "--intent", "bandwidth", "--", "/bin/true"}), "");
  EXPECT_EQ(told({situ_program, "run", "--intent", "latency", "--", "/bin/true"}), "");
  const std::string file = folder_.path() + "/mine.toml";
  EXPECT_EQ(run_command({situ_program, "order", "set", "bandwith", "0", "--file", file}).out,
            file + ": orders memories for bandwith; did you mean 'bandwidth'?\n");
  EXPECT_EQ(run_command({situ_program, "order", "set", "bandwidth", "0", "--file", file}).out,
            file + ": orders memories for bandwidth\n");
}

// To refuse memory is to lower a limit, which is the process's alone: not that of children, and not for ever.
TEST_F(any_program, what_is_refused_leaves_no_limit_behind) {
  order(32, 16);
  const command_result ended = with_intent({subject, "limits"}, {"--no-children"});
  EXPECT_EQ(ended.out, "refused 1\nforked 1048576 KiB\nstarted 1048576 KiB\nlater 1048576 KiB\n") << ended.err;
  EXPECT_EQ(ended.exit_code, 0);
}

// As numactl within `situ run`: such a process is counted, and neither put along the ordering nor refused memory.
TEST_F(any_program, a_policy_of_its_own_stays) {
  if (run_command({subject, "bound", "exit", "0"}).exit_code == 77) GTEST_SKIP() << "no memory policies here";
  EXPECT_EQ(with_intent({subject, "own_policy"}, {"--no-children"}).out, run_command({subject, "own_policy"}).out);
  order(32, 16);
  EXPECT_EQ(with_intent({subject, "bound", "greedy", "100"}).out, "got all\n");
  EXPECT_NEAR(report_of({subject, "bound", "hold", "40", "50"})["peak_bytes"].get<double>() / mib, 40, 2);
}

TEST_F(any_program, the_report_is_a_table_behind_what_it_prints) {
  const command_result ended = with_intent({subject, "exit", "4"}, {"--stats"});
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("memory by bandwidth: "));
  EXPECT_THAT(ended.err, HasSubstr("\n  fast "));
}

// While it runs, `situ topo --jobs` says what it has.
TEST_F(any_program, is_seen_while_it_runs) {
  const command_result both =
      run_command({"/bin/sh", "-c",
                   situ_program + " run --intent bandwidth -- " + subject +
                       " hold 100 3000 & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.3; " + situ_program +
                       " topo --jobs --json >" + folder_.path() + "/topo.json; grep -A9 '\"launcher\": '$! " +
                       folder_.path() + "/topo.json | grep -q '67108864' && echo seen && break; done; wait"},
                  {"SITU_ORDERINGS=" + orderings_});
  EXPECT_THAT(both.out, HasSubstr("seen")) << both.err;
}

TEST_F(any_program, ends_in_time) {
  const command_result late = with_intent({subject, "sleep"}, {"--timeout", "0.3"});
  EXPECT_EQ(late.exit_code, 124);
  EXPECT_THAT(late.err, HasSubstr("still running after the time limit of 300 ms"));
}

// So do processes that it has started: a child, and one whose parent has ended, in a session of its own.
TEST_F(any_program, all_its_processes_end_in_time) {
  const std::string started = subject + " sleep >/dev/null 2>&1 & echo $!; ";
  const command_result late = with_intent(
      {"/bin/sh", "-c", started + "(setsid sh -c '" + started + "' </dev/null); wait; true"}, {"--timeout", "1"});
  EXPECT_EQ(late.exit_code, 124) << late.err;
  std::istringstream numbers{late.out};
  int count = 0;
  for (pid_t each = 0; numbers >> each; ++count)
    EXPECT_NE(kill(each, SIGKILL), 0) << "process " << each << " went on";  // and is ended, if so
  EXPECT_EQ(count, 2);
}

TEST_F(any_program, says_what_it_cannot_be_brought_into) {
  const command_result linked = with_intent({SITU_TEST_BIN_DIR "/tests/preload_static_subject", "exit", "0"});
  EXPECT_NE(linked.exit_code, 0);
  EXPECT_THAT(linked.err, HasSubstr("preload_static_subject is statically linked"));
  std::string small_elf{"\177ELF\1\1\1", 7};
  small_elf.resize(64);
  EXPECT_THAT(with_intent({folder_.write("a32", small_elf, true)}).err, HasSubstr("is a 32-bit program"));
  EXPECT_THAT(with_intent({folder_.path() + "/none"}).err, HasSubstr("there is no such file"));
  const std::string script =
      folder_.write("script", std::string{"#!"} + SITU_TEST_BIN_DIR + "/tests/preload_static_subject exit\n", true);
  EXPECT_THAT(with_intent({script}).err, HasSubstr("is statically linked"));
}

TEST_F(any_program, a_program_of_situ_is_started_as_places) {
  const command_result probe = run_command({situ_program, "run", "--intent", "bandwidth", "-n", "2", "--stats",
                                            SITU_TEST_BIN_DIR "/tests/launch_probe", "intent"},
                                           {"SITU_ORDERINGS=" + orderings_});
  EXPECT_EQ(probe.err.find("memory by bandwidth: "), std::string::npos) << probe.err;
  const command_result marked = run_command(
      {situ_program, "run", "--intent", "bandwidth", "--", SITU_TEST_BIN_DIR "/tests/launch_probe", "intent"},
      {"SITU_ORDERINGS=" + orderings_});
  EXPECT_EQ(marked.exit_code, probe.exit_code) << marked.err;
  EXPECT_EQ(run_command({situ_program, "run", "-n", "1", "--", "/bin/echo", "-n", "--", "a"}).out, "-- a");
}

}  // namespace
