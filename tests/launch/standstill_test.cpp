// A job that stands still says why: by itself where nobody can go on, else when it is asked, or after a time.
#include "launch/launch_support.h"
#include "support/memory_kinds.h"

#include <situ/base/error.h>
#include <situ/situ.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

using namespace situ::test;
using testing::ContainsRegex;
using testing::HasSubstr;

#if defined(__SANITIZE_THREAD__)
constexpr bool forks_badly = true;
#else
constexpr bool forks_badly = false;
#endif

const std::string situ_program = SITU_TEST_BIN_DIR "/situ";
const std::string probe = SITU_TEST_BIN_DIR "/tests/standing_probe";

std::vector<std::string> situ_run(std::vector<std::string> options, const std::string& action) {
  std::vector<std::string> arguments{situ_program, "run", "-n", "2"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(probe);
  arguments.push_back(action);
  return arguments;
}

// The line of the probe's source where `text` stands.
std::string line_of(const std::string& text) {
  std::ifstream source{SITU_TEST_SOURCE_DIR "/launch/standing_probe.cpp"};
  int number = 1;
  for (std::string line; std::getline(source, line); ++number)
    if (line.find(text) != std::string::npos) return "standing_probe.cpp:" + std::to_string(number);
  return "no such line: " + text;
}

// As processes and as threads: the job ends, with code 1 and these texts.
void expect_standstill(const std::string& action, const std::vector<std::string>& texts) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--in-process"}}) {
    const ended_program ended = run_program(situ_run(options, action));
    EXPECT_NE(ended.exit_code, 0);
    for (const std::string& text : texts) EXPECT_THAT(ended.err, HasSubstr(text)) << action;
  }
}

// --- a standstill that nobody can end -------------------------------------------------------------------------------

TEST(standstill, a_barrier_that_others_left_is_named) {
  expect_standstill("barrier", {"nobody can go on", "in a barrier", line_of("\"barrier\" && me()"),
                                "place 1 has not come", "at the end of its runtime"});
}

TEST(standstill, a_barrier_against_a_collective_is_named) {
  expect_standstill("order", {"nobody can go on", "place 1 calls broadcast with root 0 of 4 bytes in its place",
                              "place 0 calls barrier in its place", line_of("broadcast(1));")});
}

TEST(standstill, a_promise_that_nobody_keeps_is_named) {
  expect_standstill("promise",
                    {"nobody can go on", "main waits", "for a future", line_of("forgotten.get_future().get();")});
}

TEST(standstill, a_call_names_who_owes_the_answer) {
  expect_standstill("call", {"nobody can go on", "for the answer of place 1", line_of("situ::place{1}, &wait_in"),
                             line_of("return never.get_future()")});
}

TEST(standstill, a_scope_and_its_tasks_are_named) {
  expect_standstill("scope", {"nobody can go on", "for the tasks of a finish scope", line_of("\"scope\""),
                              line_of("return never.get_future()")});
}

TEST(standstill, more_waits_than_are_kept_are_counted) {
  expect_standstill("many", {"nobody can go on", "more waits"});
}

TEST(standstill, a_place_alone_is_told) {
  const ended_program ended = run_program({probe, "promise"});
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("nobody can go on"));
  EXPECT_THAT(ended.err, HasSubstr(line_of("forgotten.get_future().get();")));
}

TEST(standstill, a_broken_promise_is_an_error_at_once) {
  const ended_program ended = run_program(situ_run({}, "broken"));
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("was destroyed without a value"));
}

TEST(standstill, of_places_that_a_program_launches_is_the_reason_of_the_loss) {
  for (const situ::launch_mode mode : {situ::launch_mode::threads, situ::launch_mode::processes}) {
    if (forks_badly && mode == situ::launch_mode::processes) continue;
    const situ::launch_result result = situ::launch(2,
                                                    [] {
                                                      if (situ::here().index() == 1) situ::barrier();
                                                    },
                                                    {.mode = mode});
    EXPECT_FALSE(result.ok());
    EXPECT_THAT(result.message(), HasSubstr("nobody can go on"));
    EXPECT_THAT(result.message(), HasSubstr("place 0 has not come"));
  }
}

// --- calls that differ ----------------------------------------------------------------------------------------------

TEST(mismatched_collectives, of_other_roots_are_an_error) {
  expect_standstill("roots", {"call different collectives", "broadcast with root 0", "broadcast with root 1"});
}

TEST(mismatched_collectives, of_other_kinds_are_an_error) {
  expect_standstill("kinds", {"call different collectives", "all_reduce of 4 bytes", "gather with root 0"});
}

// --- asked for ------------------------------------------------------------------------------------------------------

TEST(report, comes_after_the_timeout_and_ends_the_job) {
  const std::string path = testing::TempDir() + "situ_report_" + std::to_string(::getpid()) + ".json";
  const ended_program ended = run_program(situ_run({"--timeout", "1", "--report", path}, "poll"));
  std::ifstream file{path};
  const std::string json{std::istreambuf_iterator<char>{file}, {}};
  ::unlink(path.c_str());
  EXPECT_EQ(ended.exit_code, 124);
  EXPECT_THAT(ended.err, HasSubstr("the time limit of 1000 ms is over; where the places stand:\nplace 0: "));
  EXPECT_THAT(ended.err, HasSubstr("place 1: sleeps\n  main waits"));
  EXPECT_THAT(json, HasSubstr("\"place\": 1"));
  EXPECT_THAT(json, HasSubstr("\"kind\": \"end\""));
  EXPECT_THAT(json, HasSubstr("{\"place\": 0, \"why\": \"has not come\"}"));
}

TEST(report, comes_from_the_watchdog_and_the_job_goes_on) {
  running_program program{situ_run({"--watchdog", "0.5"}, "poll")};
  EXPECT_TRUE(program.wait_for_error("no place has made progress for 500 ms", 20s));
  EXPECT_TRUE(program.is_running());
}

TEST(report, comes_at_sigquit_and_the_job_goes_on) {
  running_program program{situ_run({}, "calls")};
  ASSERT_TRUE(program.wait_for_output("begun", 20s));
  program.send_group(SIGQUIT);  // as a terminal does
  EXPECT_TRUE(program.wait_for_error("asked by SIGQUIT; where the places stand", 20s));
  EXPECT_TRUE(program.is_running());
}

// --- situ top -------------------------------------------------------------------------------------------------------

TEST(situ_top, shows_a_running_job) {
  running_program program{situ_run({"--stats"}, "calls")};
  ASSERT_TRUE(program.wait_for_output("begun", 20s));
  const std::string pid = std::to_string(program.pid());
  const ended_program table = run_program({situ_program, "top", "--once", pid});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("job of process " + pid + ": 2 places"));
  EXPECT_THAT(table.out, ContainsRegex("messages so far, from \\(rows\\) to \\(columns\\)"));
  const ended_program json = run_program({situ_program, "top", "--once", "--json", pid});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"launcher\": " + pid));
  EXPECT_THAT(json.out, ContainsRegex("\"from\": 0, \"to\": 1, .*\"messages\": [1-9]"));
}

// Whatever its memory is: a file without a name, or one that stands for a device.
TEST(situ_top, finds_jobs_in_files_and_devices) {
  const situ::test::kinds_of_memory kinds{std::size_t{150} << 20};
  for (const std::string& memory : {"file:" + kinds.file().path, "device:" + kinds.device().path}) {
    running_program program{situ_run({"--memory", memory}, "calls")};
    ASSERT_TRUE(program.wait_for_output("begun", 20s)) << memory;
    const std::string pid = std::to_string(program.pid());
    const ended_program table = run_program({situ_program, "top", "--once", pid});
    EXPECT_THAT(table.out, HasSubstr("job of process " + pid + ": 2 places")) << table.err;
    const ended_program all = run_program({situ_program, "topo", "--jobs", "--json"});
    EXPECT_THAT(all.out, HasSubstr("\"launcher\": " + pid)) << memory;
  }
}

TEST(situ_top, says_where_there_is_no_job) {
  const ended_program ended = run_program({situ_program, "top", "--once", std::to_string(::getpid())});
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("is no `situ run` that you may look at"));
}

// --- the trace ------------------------------------------------------------------------------------------------------

struct traced {
  std::string phase, name, id;
  int place = 0;
  int track = 0;
  long begin = 0;  // ns
  long end = 0;
};

std::string field(const std::string& line, const std::string& name) {
  const std::size_t at = line.find("\"" + name + "\":");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 3;
  if (line[begin] == '"') return line.substr(begin + 1, line.find('"', begin + 1) - begin - 1);
  return line.substr(begin, line.find_first_of(",}", begin) - begin);
}

// Microseconds with a quarter of a nanosecond that is to be cut off.
long nanoseconds(const std::string& text) {
  const std::size_t point = text.find('.');
  return std::stol(text.substr(0, point)) * 1000 + std::stol(text.substr(point + 1, 3));
}

std::vector<traced> read_trace(const std::string& path) {
  std::vector<traced> events;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("{\"ph\":")) continue;
    traced event{.phase = field(line, "ph"), .name = field(line, "name"), .id = field(line, "id")};
    event.place = std::stoi(field(line, "pid"));
    event.track = std::stoi(field(line, "tid"));
    if (const std::string at = field(line, "ts"); !at.empty()) event.begin = nanoseconds(at);
    if (const std::string length = field(line, "dur"); !length.empty()) event.end = event.begin + nanoseconds(length);
    events.push_back(event);
  }
  return events;
}

class trace_of_work : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = testing::TempDir() + "situ_trace_" + std::to_string(::getpid()) + ".json";
    const ended_program ended = run_program(situ_run({"--trace", path}, "work"));
    events_ = read_trace(path);
    ::unlink(path.c_str());
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
  }
  [[nodiscard]] long count(const std::function<bool(const traced&)>& is) const {
    return std::count_if(events_.begin(), events_.end(), is);
  }
  std::vector<traced> events_;
};

TEST_F(trace_of_work, slices_of_a_track_nest_in_the_order_of_the_file) {
  std::map<std::pair<int, int>, std::vector<traced>> open;
  std::map<std::pair<int, int>, long> last;
  long slices = 0;
  for (const traced& event : events_) {
    if (event.phase != "X") continue;
    ++slices;
    const std::pair key{event.place, event.track};
    EXPECT_GE(event.begin, last[key]);
    EXPECT_LT(event.begin, event.end) << event.name;
    last[key] = event.begin;
    auto& around = open[key];
    while (!around.empty() && around.back().end <= event.begin) around.pop_back();
    if (!around.empty()) EXPECT_LE(event.end, around.back().end) << event.name << " in " << around.back().name;
    around.push_back(event);
  }
  EXPECT_GT(slices, 100);
}

TEST_F(trace_of_work, each_arrow_has_both_ends_and_goes_forward) {
  std::map<std::string, traced> starts;
  std::map<std::string, traced> ends;
  const auto lies_in_a_slice = [this](const traced& flow) {
    return std::any_of(events_.begin(), events_.end(), [&](const traced& e) {
      return e.phase == "X" && e.place == flow.place && e.track == flow.track && e.begin <= flow.begin &&
             flow.begin < e.end;
    });
  };
  for (const traced& event : events_) {
    if (event.phase == "s") EXPECT_TRUE(starts.emplace(event.id, event).second) << event.id;
    if (event.phase == "f") EXPECT_TRUE(ends.emplace(event.id, event).second) << event.id;
  }
  EXPECT_GE(starts.size(), 2U * 2 * (20 + 10 + 10));  // calls and answers, in both directions
  ASSERT_EQ(starts.size(), ends.size());
  for (const auto& [id, start] : starts) {
    EXPECT_EQ(id.find_first_not_of("0123456789"), std::string::npos) << "Perfetto drops arrows of such a name: " << id;
    ASSERT_TRUE(ends.contains(id));
    EXPECT_NE(start.place, ends[id].place);
    EXPECT_LE(start.begin, ends[id].begin) << id;
  }
  EXPECT_TRUE(lies_in_a_slice(starts.begin()->second));
  EXPECT_TRUE(lies_in_a_slice(ends.begin()->second));
}

TEST_F(trace_of_work, a_loop_that_polls_drowns_nothing) {
  for (const int place : {0, 1}) {
    EXPECT_EQ(count([&](const traced& e) { return e.name == "barrier" && e.place == place; }), 4)
        << "two, and those at the begin and the end of the runtime";
    EXPECT_EQ(count([&](const traced& e) { return e.name == "put" && e.place == place; }), 2);
  }
  EXPECT_GE(count([](const traced& e) { return e.name.starts_with("atomic x "); }), 2);
  EXPECT_LT(count([](const traced& e) { return e.name.starts_with("atomic"); }), 100'000);
}

TEST_F(trace_of_work, tasks_waits_tracks_and_counters_have_names) {
  EXPECT_GE(count([](const traced& e) { return e.name.find("work()::<lambda(int)>") != std::string::npos; }), 40);
  EXPECT_GE(count([](const traced& e) { return e.name == "wait: finish"; }), 1);
  EXPECT_EQ(count([](const traced& e) { return e.phase == "M" && e.name == "process_name"; }), 2);
  EXPECT_GE(count([](const traced& e) { return e.phase == "M" && e.name == "thread_name"; }), 4);
  EXPECT_GE(count([](const traced& e) { return e.phase == "C" && e.name == "bytes sent"; }), 2);
  EXPECT_GE(count([](const traced& e) { return e.phase == "C" && e.name == "open memory"; }), 2);
}

}  // namespace
