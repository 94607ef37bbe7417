// `situ run` from the outside: exit codes, streams, signals, losses, refusals.
#include "launch/launch_support.h"

#include "launch/launch.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "support/build_paths.h"
#include "support/programs.h"
#include "support/stalls.h"

namespace {

using namespace situ::test;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string situ_program = SITU_TEST_BIN_DIR "/situ";
const std::string probe = SITU_TEST_BIN_DIR "/tests/launch_probe";

std::vector<std::string> situ_run(std::vector<std::string> options, std::vector<std::string> action) {
  std::vector<std::string> arguments{situ_program, "run"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(probe);
  arguments.insert(arguments.end(), action.begin(), action.end());
  return arguments;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The processes that "sleep", "ignore" and the others print.
std::vector<pid_t> pids_in(const std::string& text) {
  std::vector<pid_t> pids;
  for (std::size_t at = text.find("pid "); at != std::string::npos; at = text.find("pid ", at + 1)) {
    const std::size_t line_end = text.find('\n', at);
    if (line_end != std::string::npos) pids.push_back(std::stoi(text.substr(at + 4)));
  }
  return pids;
}

bool wait_for_pids(running_program& program, std::size_t count) {
  for (int attempt = 0; attempt < 200 && pids_in(program.output()).size() < count; ++attempt)
    program.wait_for_output("no such text", 50ms);
  return pids_in(program.output()).size() == count;
}

// --- exit codes ------------------------------------------------------------------------------------------------------

TEST(situ_run, exits_with_zero_when_every_place_does) {
  const ended_program ended = run_program(situ_run({"-n", "3"}, {"exit"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
}

TEST(situ_run, passes_on_the_failing_code) {
  const ended_program ended = run_program(situ_run({"-n", "3"}, {"exit", "2", "17"}));
  EXPECT_EQ(ended.exit_code, 17);
  EXPECT_EQ(ended.err, "situ: place 2 exited with code 17\n");
}

TEST(situ_run, a_program_that_never_joins_is_no_loss) {
  EXPECT_EQ(run_program(situ_run({"-n", "2"}, {"never-join"})).exit_code, 0);
  const ended_program failed = run_program(situ_run({"-n", "2"}, {"never-join", "0", "6"}));
  EXPECT_EQ(failed.exit_code, 6);
  EXPECT_THAT(failed.err, HasSubstr("exited with code 6"));
}

TEST(situ_run, alone_a_program_is_one_place) {
  const ended_program ended = run_program({probe, "environment"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("place 0 of 1"));
}

TEST(situ_run, the_launchers_variables_do_not_reach_the_places_children) {
  const ended_program ended = run_program(situ_run({"-n", "2"}, {"environment"}));
  EXPECT_THAT(ended.out, HasSubstr("place 1 of 2, standard input open"));
  EXPECT_THAT(ended.out, Not(HasSubstr("still set")));
}

TEST(situ_run, the_check_of_units_reaches_the_places) {
  const ended_program ended = run_program(situ_run({"-n", "2", "--check-units", "pages"}, {"environment"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("units are checked by pages"));
  const ended_program refused = run_program(situ_run({"--check-units", "page"}, {"environment"}));
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("--check-units"));
}

// --- losses ----------------------------------------------------------------------------------------------------------

struct loss {
  const char* name;
  std::vector<std::string> action;
  int exit_code;
  const char* message;
};

class situ_run_loses : public testing::TestWithParam<loss> {};

// Since the probe has said that it is about to end; no time if it has not said so.
std::optional<std::chrono::nanoseconds> time_since_end_of(const std::string& output) {
  constexpr std::string_view words = "ends at ";
  const std::size_t at = output.find(words);
  if (at == std::string::npos) return std::nullopt;
  const std::chrono::nanoseconds end{std::stoll(output.substr(at + words.size()))};
  return std::chrono::steady_clock::now().time_since_epoch() - end;
}

TEST_P(situ_run_loses, and_names_place_and_reason) {
  const stall_meter stalls;
  const ended_program ended = run_program(situ_run({"-n", "4"}, GetParam().action));
  const auto time = time_since_end_of(ended.out);
  ASSERT_TRUE(time) << ended.out;
  EXPECT_TRUE(stalls.allow(*time, told_within)) << "the grace was used: some place did not hear of the loss";
  EXPECT_EQ(ended.exit_code, GetParam().exit_code) << ended.err;
  EXPECT_THAT(lines_of(ended.err), Contains(std::string{"situ: "} + GetParam().message));
  EXPECT_TRUE(are_gone_within(pids_in(ended.out), 0ms));
}

INSTANTIATE_TEST_SUITE_P(
    , situ_run_loses,
    testing::Values(
        loss{"killed", {"kill", "2", "9"}, 137, "place 2 is lost: killed by signal 9 (SIGKILL)"},
        loss{"crashed", {"kill", "0", "11"}, 139, "place 0 is lost: killed by signal 11 (SIGSEGV)"},
        loss{"left_early", {"leave", "1", "3"}, 3, "place 1 is lost: exited early with code 3"},
        loss{"left_early_with_zero", {"leave", "3", "0"}, 1, "place 3 is lost: exited early with code 0"},
        loss{
            "threw", {"throw", "2"}, 134, "place 2 is lost: uncaught exception: std::runtime_error: thrown on purpose"},
        loss{"left_by_unwinding", {"throw-inside", "1"}, 5, "place 1 is lost: left its runtime by an exception"},
        loss{"never_joined", {"no-join", "1", "0"}, 1, "place 1 is lost: exited before joining the job"},
        loss{"failed_before_joining",
             {"no-join", "1", "4"},
             4,
             "place 1 is lost: exited with code 4 before joining the job"},
        loss{"left_while_others_join",
             {"no-join", "3", "0", "300"},
             1,
             "place 3 is lost: exited before joining the job"}),
    [](const auto& info) { return std::string{info.param.name}; });

// The place's own sentence is one line, whatever others print at the same time; the launcher's follows.
TEST(situ_run, a_place_tells_an_uncaught_exception_in_one_line) {
  const std::string why = "uncaught exception: std::runtime_error: thrown on purpose";
  for (const std::vector<std::string>& options : {std::vector<std::string>{"-n", "4"}, {"-n", "2", "--in-process"}}) {
    const ended_program ended = run_program(situ_run(options, {"throw", "1"}));
    EXPECT_THAT(lines_of(ended.err), Contains("situ: place 1 ends: " + why));
    EXPECT_THAT(lines_of(ended.err), Contains("situ: place 1 is lost: " + why));
    EXPECT_EQ(ended.err.find("terminate called"), std::string::npos) << ended.err;
    EXPECT_EQ(ended.err.find("what():"), std::string::npos) << ended.err;
  }
}

TEST(situ_run, says_that_main_has_used_up_its_stack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers report main's stack themselves";
#endif
  const ended_program processes = run_program(situ_run({"-n", "2"}, {"overflow", "1"}));
  EXPECT_EQ(processes.exit_code, 139);
  EXPECT_THAT(processes.err, ContainsRegex("situ: place 1 is lost: main has used up the process's stack of [0-9]+MiB"));
  const ended_program threads = run_program(situ_run({"-n", "2", "--in-process"}, {"overflow", "1"}));
  EXPECT_EQ(threads.exit_code, 139);
  EXPECT_THAT(threads.err, ContainsRegex("situ: place 1 is lost: main has used up the stack of its thread, [0-9]+MiB"));
}

TEST(situ_run, gives_tasks_the_stack_that_is_asked_for) {
  const ended_program refused = run_program(situ_run({"--stack", "1KiB"}, {"exit"}));
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("--stack"));
  const ended_program given = run_program(situ_run({"-n", "2", "--stack", "16MiB"}, {"deep-task", "1"}));
  EXPECT_EQ(given.exit_code, 0) << given.err;
  const ended_program by_environment = run_program(situ_run({"-n", "2"}, {"deep-task", "1"}), {"SITU_STACK=16MiB"});
  EXPECT_EQ(by_environment.exit_code, 0) << by_environment.err;
  const ended_program default_stack = run_program(situ_run({"-n", "2"}, {"deep-task", "1"}));
  EXPECT_THAT(default_stack.err, HasSubstr("a task has used up its stack of 256KiB"));
}

// --- in one process --------------------------------------------------------------------------------------------------

TEST(situ_run_in_process, places_are_threads_and_share_the_exit_code) {
  const ended_program ended = run_program(situ_run({"-n", "3", "--in-process"}, {"environment"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(lines_of(ended.out),
              testing::UnorderedElementsAre("place 0 of 3, standard input open", "place 1 of 3, standard input open",
                                            "place 2 of 3, standard input open"));
  const ended_program failed = run_program(situ_run({"-n", "3", "--in-process"}, {"exit", "2", "17"}));
  EXPECT_EQ(failed.exit_code, 17);
  EXPECT_EQ(failed.err, "situ: the program exited with code 17\n");
}

TEST(situ_run_in_process, a_loss_is_named) {
  const auto run = [](std::vector<std::string> action) {
    return run_program(situ_run({"-n", "3", "--in-process"}, std::move(action)));
  };
  for (const char* const place : {"0", "2"}) {
    const ended_program threw = run({"throw", place});
    EXPECT_EQ(threw.exit_code, 128 + SIGABRT);
    EXPECT_THAT(lines_of(threw.err), Contains(std::string{"situ: place "} + place +
                                              " is lost: uncaught exception: std::runtime_error: thrown on purpose"));
  }
  const ended_program killed = run({"kill", "1", "9"});
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL);
  EXPECT_THAT(killed.err, HasSubstr("the process of all places: killed by signal 9 (SIGKILL)"));
  const ended_program unwound = run({"throw-inside", "1"});
  EXPECT_EQ(unwound.exit_code, 5);
  EXPECT_THAT(unwound.err, HasSubstr("place 1 is lost: left its runtime by an exception"));
}

TEST(situ_run_in_process, what_needs_processes_is_refused) {
  for (const char* const option : {"--tag", "--bind=core"}) {
    const ended_program ended = run_program(situ_run({"-n", "2", "--in-process", option}, {"exit"}));
    EXPECT_NE(ended.exit_code, 0);
    EXPECT_THAT(ended.err, HasSubstr("places as processes"));
  }
}

// --- signals ---------------------------------------------------------------------------------------------------------

TEST(situ_run_signals, one_sent_to_the_launcher_reaches_every_place) {
  for (const int signal : {SIGINT, SIGTERM}) {
    running_program program{situ_run({"-n", "3"}, {"sleep"})};
    ASSERT_TRUE(wait_for_pids(program, 3));
    program.send(signal);
    const ended_program ended = program.wait();
    EXPECT_EQ(ended.exit_code, 128 + signal);
    EXPECT_LT(ended.time, 5s);
    EXPECT_TRUE(are_gone_within(pids_in(ended.out), 0ms));
  }
}

TEST(situ_run_signals, an_interrupt_of_the_group_ends_all) {
  running_program program{situ_run({"-n", "3"}, {"sleep"})};
  ASSERT_TRUE(wait_for_pids(program, 3));
  program.send_group(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 128 + SIGINT);
}

TEST(situ_run_signals, a_second_interrupt_kills) {
  running_program program{situ_run({"-n", "2"}, {"ignore"})};
  ASSERT_TRUE(wait_for_pids(program, 2));
  std::this_thread::sleep_for(50ms);  // both have printed their process; now they ignore the signal
  program.send(SIGINT);
  std::this_thread::sleep_for(300ms);
  for (const pid_t each : pids_in(program.output())) EXPECT_FALSE(is_gone(each));
  program.send(SIGINT);
  const ended_program ended = program.wait();
  EXPECT_EQ(ended.exit_code, 128 + SIGKILL);
  EXPECT_TRUE(are_gone_within(pids_in(ended.out), 0ms));
}

TEST(situ_run_signals, a_killed_launcher_takes_its_places_along) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  {
    running_program program{situ_run({"-n", "3", "--tag"}, {"sleep"})};
    ASSERT_TRUE(wait_for_pids(program, 3));
    const std::vector<pid_t> places = pids_in(program.output());
    program.send(SIGKILL);
    EXPECT_TRUE(are_gone_within(places, 2s));
  }
  reap_adopted();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// --- streams ---------------------------------------------------------------------------------------------------------

TEST(situ_run_streams, standard_input_is_place_zeros) {
  const ended_program ended = run_program(situ_run({"-n", "3"}, {"cat"}), {}, "one\ntwo\n");
  EXPECT_THAT(lines_of(ended.out),
              testing::UnorderedElementsAre("place 0 read one", "place 0 read two", "place 0 is through",
                                            "place 1 is through", "place 2 is through"));
}

TEST(situ_run_streams, tags_label_whole_lines_of_both_streams) {
  const ended_program ended = run_program(situ_run({"-n", "12", "--tag"}, {"lines"}));
  EXPECT_EQ(ended.exit_code, 0);
  const std::vector<std::string> out = lines_of(ended.out), err = lines_of(ended.err);
  EXPECT_EQ(out.size(), 12U * 201);
  EXPECT_EQ(err.size(), 12U * 200);
  for (int place = 0; place < 12; ++place) {
    const std::string label = (place < 10 ? "[ " : "[") + std::to_string(place) + "] ";
    const std::string name = std::to_string(place);
    std::vector<std::string> mine;
    std::copy_if(out.begin(), out.end(), std::back_inserter(mine),
                 [&](const std::string& line) { return line.starts_with(label); });
    ASSERT_EQ(mine.size(), 201U);
    for (int i = 0; i < 200; ++i)
      ASSERT_EQ(mine[i], label + "out " + std::to_string(i) + " of " + name + " " + std::string(300, 'x'));
    EXPECT_EQ(mine[200], label + "no newline " + name);
    EXPECT_THAT(err, Contains(label + "err 199 of " + name));
  }
  EXPECT_EQ(ended.out.back(), '\n');
}

TEST(situ_run_streams, what_a_killed_place_wrote_is_not_lost) {
  const ended_program ended = run_program(situ_run({"-n", "2", "--tag"}, {"kill", "1", "9"}));
  EXPECT_THAT(ended.out, ContainsRegex("\\[1\\] pid [0-9]+ place 1\n"));
}

TEST(situ_run_streams, a_reader_that_does_not_read_hides_no_loss) {
  running_program launcher{
      {situ_program, "run", "-n", "2", "--tag", "sh", "-c", "yes | head -c 1000000; exec " + probe + " kill 1 9"}};
  std::this_thread::sleep_for(500ms);  // by now the pipes are full
  const ended_program ended = launcher.wait();
  EXPECT_EQ(ended.exit_code, 137);
  EXPECT_EQ(ended.signal, 0);
  EXPECT_GE(ended.out.size(), 2U * 3000000);  // each line of two bytes has four more before it
}

// --- placement -------------------------------------------------------------------------------------------------------

TEST(situ_run_binding, binds_places_to_cores_in_turn) {
  const auto cores = situ::detail::binding_groups(situ::detail::binding::core);
  ASSERT_FALSE(cores.empty());
  const std::size_t places = cores.size() + 1;
  const ended_program ended = run_program(situ_run({"-n", std::to_string(places), "--bind", "core"}, {"processors"}));
  for (std::size_t place = 0; place < places; ++place) {
    std::string expected = "place " + std::to_string(place) + " on";
    for (const int processor : cores[place % cores.size()]) expected.append(" ").append(std::to_string(processor));
    EXPECT_THAT(lines_of(ended.out), Contains(expected));
  }
}

TEST(situ_run_binding, groups_part_what_is_allowed) {
  for (const auto how : {situ::detail::binding::core, situ::detail::binding::numa, situ::detail::binding::none}) {
    std::set<int> seen;
    std::size_t count = 0;
    for (const auto& group : situ::detail::binding_groups(how)) {
      EXPECT_FALSE(group.empty());
      seen.insert(group.begin(), group.end());
      count += group.size();
    }
    EXPECT_EQ(count, seen.size());
    EXPECT_EQ(count, situ::detail::allowed_processors());
  }
}

TEST(situ_run_base, moves_for_the_whole_job_where_one_place_has_it_taken) {
  const ended_program ended = run_program(situ_run({"-n", "3"}, {"collide", "1"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "base of round 1\nbase of round 1\nbase of round 1\n");
}

// --- the command line ------------------------------------------------------------------------------------------------

TEST(situ_run_command, a_missing_program_is_named_with_where_it_was_sought) {
  const ended_program ended =
      run_program({situ_program, "run", "-n", "2", "no_such_program"}, {"PATH=/first/folder:/second/folder"});
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("cannot find the program \"no_such_program\""));
  EXPECT_THAT(ended.err, HasSubstr("/first/folder, /second/folder"));
  EXPECT_THAT(ended.err, HasSubstr(SITU_TEST_BIN_DIR));
}

TEST(situ_run_command, says_why_a_file_cannot_be_started) {
  const auto message = [](const std::string& program) { return run_program({situ_program, "run", program}).err; };
  EXPECT_THAT(message("/no/such/file"), HasSubstr("there is no such file"));
  EXPECT_THAT(message("/"), HasSubstr("it is a folder"));
  EXPECT_THAT(message("/etc/passwd"), HasSubstr("it is not executable"));
}

TEST(situ_run_command, a_file_of_no_executable_format_leaves_no_place_running) {
  std::string path = testing::TempDir() + "situ_launch_XXXXXX";
  const int file = ::mkstemp(path.data());
  ASSERT_GE(file, 0);
  ::fchmod(file, 0700);
  ASSERT_EQ(::write(file,
                    "\x7f"
                    "ELF nonsense",
                    13),
            13);
  ::close(file);
  const ended_program ended = run_program({situ_program, "run", "-n", "3", path});
  ::unlink(path.c_str());
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("cannot start"));
  EXPECT_THAT(ended.err, HasSubstr("Exec format error"));
}

TEST(situ_run_command, finds_programs_beside_situ_first) {
  const ended_program ended = run_program({situ_program, "run", "-n", "2", "situ", "--version"}, {"PATH=/nowhere"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, ContainsRegex("^situ [0-9.]+\nsitu [0-9.]+\n$"));
}

TEST(situ_run_command, options_after_the_program_are_the_programs) {
  const ended_program ended = run_program({situ_program, "run", "-n", "1", "echo", "-n", "7", "--tag"});
  EXPECT_EQ(ended.out, "7 --tag");
}

TEST(situ_run_command, memory_lies_where_an_intent_wants_it) {
  const ended_program ended = run_program(situ_run({"-n", "1", "--intent", "bandwidth"}, {"intent"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "bandwidth\n");
  EXPECT_EQ(run_program(situ_run({"-n", "1"}, {"intent"})).out, "\n");
}

TEST(situ_run_command, refuses_what_it_does_not_know) {
  for (const auto& options : std::vector<std::vector<std::string>>{{"--no-such-option"},
                                                                   {"-n", "0"},
                                                                   {"-n", "many"},
                                                                   {"--bind", "moon"},
                                                                   {"--memory", "lots"},
                                                                   {"--intent", "No Name"}}) {
    const ended_program ended = run_program(situ_run(options, {"exit"}));
    EXPECT_NE(ended.exit_code, 0) << options[0];
    EXPECT_NE(ended.err, "") << options[0];
  }
  const ended_program without = run_program({situ_program, "run", "-n", "2"});
  EXPECT_NE(without.exit_code, 0);
  EXPECT_THAT(without.err, HasSubstr("PROGRAM"));
}

TEST(situ_run_command, statistics_and_trace_come_after_the_run) {
  std::string path = testing::TempDir() + "situ_trace_XXXXXX";
  const int file = ::mkstemp(path.data());
  ASSERT_GE(file, 0);
  ::close(file);
  const ended_program ended = run_program(situ_run({"-n", "2", "--stats", "--trace", path}, {"exit"}));
  std::ifstream trace{path};
  const std::string text{std::istreambuf_iterator<char>{trace}, {}};
  ::unlink(path.c_str());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("messages"));
  EXPECT_THAT(text, HasSubstr("traceEvents"));
  EXPECT_THAT(text, HasSubstr("\"name\":\"barrier\""));
  const ended_program nowhere = run_program(situ_run({"-n", "2", "--trace", "/no/such/folder/t.json"}, {"exit"}));
  EXPECT_NE(nowhere.exit_code, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("/no/such/folder/t.json"));
}

TEST(situ_run_command, statistics_say_what_each_place_has_where) {
  const ended_program ended = run_program(situ_run({"-n", "2", "--stats", "--intent", "capacity"}, {"allocate"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, testing::ContainsRegex("place +intent +memory +now +most\n"));
  for (const char* place : {"0", "1"})
    EXPECT_THAT(ended.err, testing::ContainsRegex(std::string{"\n +"} + place + " +capacity +.* MiB +[0-9.]+ MiB\n"));
}

TEST(situ_run_command, help_has_examples) {
  const ended_program ended = run_program({situ_program, "run", "--help"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.out, HasSubstr("Usage: situ run [OPTIONS] PROGRAM"));
  EXPECT_THAT(ended.out, HasSubstr("situ run -n 4 --tag ./program"));
}

// --- environments of a place ----------------------------------------------------------------------------------------

TEST(environment_of_a_place, a_descriptor_that_is_no_job_is_refused) {
  const ended_program ended = run_program({probe, "exit"}, {"SITU_JOB_FD=0", "SITU_PLACE=0"});
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("is not the memory of a job"));
  EXPECT_THAT(run_program({probe, "exit"}, {"SITU_JOB_FD=zero"}).err, HasSubstr("is no number"));
  EXPECT_THAT(run_program({probe, "exit"}, {"SITU_JOB_FD=0"}).err, HasSubstr("neither SITU_PLACE nor SITU_IN_PROCESS"));
}

}  // namespace
