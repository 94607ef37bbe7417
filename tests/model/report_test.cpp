// What `situ model run` leaves of a run: the page, and its data.
#include "examples/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "support/build_paths.h"

namespace {

using nlohmann::json;
using package_rank::test::command_result;
using package_rank::test::run_command;
using package_rank::test::scratch_folder;
using testing::HasSubstr;
using testing::Not;

const std::string nemesys = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4-fitted.toml";

std::string text_of(const std::string& file) {
  std::ifstream stream{file};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

// With its JSON, and with its page unless that is not wanted.
class model_run {
 public:
  model_run(const std::string& machine, const std::string& program, const std::vector<std::string>& arguments = {},
            const std::vector<std::string>& options = {}, bool with_page = true) {
    std::vector<std::string> all{std::string{SITU_TEST_BIN_DIR} + "/situ",
                                 "model",
                                 "run",
                                 "--machine",
                                 machine,
                                 "--quiet",
                                 "--json",
                                 data_file()};
    if (with_page) all.insert(all.end(), {"--report", page_file()});
    all.insert(all.end(), options.begin(), options.end());
    all.push_back(std::string{SITU_TEST_BIN_DIR} + "/tests/" + program);
    all.insert(all.end(), arguments.begin(), arguments.end());
    const command_result result = run_command(all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  [[nodiscard]] std::string folder() const { return folder_.path(); }
  [[nodiscard]] std::string page_file() const { return folder_.path() + "/report.html"; }
  [[nodiscard]] std::string page() const { return text_of(page_file()); }
  [[nodiscard]] json data() const { return json::parse(text_of(data_file())); }

 private:
  [[nodiscard]] std::string data_file() const { return folder_.path() + "/report.json"; }
  scratch_folder folder_;
};

// What a series of a report's timeline adds up to.
std::uint64_t sum_of(const json& report, const std::string& kind, const std::string& part, const std::string& counter) {
  for (const json& series : report["timeline"]["series"])
    if (series["kind"] == kind && series["part"] == part && series["counter"] == counter) {
      const auto values = series["values"].get<std::vector<std::uint64_t>>();
      return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    }
  return 0;
}

TEST(ModelReport, ThePageHoldsItsDataAndNeedsNothingElse) {
  const model_run run{nemesys, "model_ping_pong", {"20", "50"}, {"-n", "4", "--profile"}};
  const std::string page = run.page();
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  const std::string begin = "type=\"application/json\">";
  const std::size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string data = page.substr(at + begin.size(), page.find("</script>", at) - at - begin.size());
  EXPECT_THAT(data, Not(HasSubstr("<")));  // names of templates are among the profile's
  EXPECT_EQ(json::parse(data), run.data());
  EXPECT_THAT(run.data()["profile"].dump(), HasSubstr("<"));
}

// 4 x 4 nodes: 14 tiles with 5 cores each, and a memory at 1,1 and at 3,3.
TEST(ModelReport, TheShapeIsTheMachines) {
  const json shape = model_run(nemesys, "model_walk", {"10", "1"}).data()["shape"];
  EXPECT_EQ(shape["columns"], 4);
  EXPECT_EQ(shape["rows"], 4);
  ASSERT_EQ(shape["nodes"].size(), 16u);
  const json& tile = shape["nodes"][5];
  EXPECT_EQ(tile["name"], "compute tile 5");
  EXPECT_EQ(tile["x"], 2);
  EXPECT_EQ(tile["y"], 1);
  EXPECT_EQ(tile["cores"].size(), 5u);
  EXPECT_EQ(tile["cores"][0], "core 25");
  EXPECT_EQ(tile["caches"].size(), 11u);
  EXPECT_EQ(tile["memories"].size(), 1u);
  const json& memory = shape["nodes"][15];
  EXPECT_EQ(memory["memories"].size(), 1u);
  EXPECT_EQ(memory["x"], 3);
  EXPECT_EQ(memory["y"], 3);
  const json flat = model_run("flat:tiles=2,cores=3", "model_walk", {"10", "1"}).data()["shape"];
  EXPECT_EQ(flat["columns"], 0);
  ASSERT_EQ(flat["nodes"].size(), 3u);
  EXPECT_EQ(flat["nodes"][1]["cores"], json({"core 3", "core 4", "core 5"}));
}

// The assumed figures of a machine's file are in the report, less those that the user sets.
TEST(ModelReport, ItSaysWhatOfTheMachineIsAssumed) {
  const std::string free = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4.toml";
  const auto found = [](const json& assumed, const std::string& figure) {
    for (const json& each : assumed)
      if (each["figure"] == figure) return each;
    return json();
  };
  const json assumed = model_run(free, "model_walk", {"10", "1"}, {}, false).data()["assumed"];
  EXPECT_EQ(found(assumed, "adapter.entries")["value"], "1");
  EXPECT_EQ(found(assumed, "ddr.occupancy")["low"], "80 ns");
  EXPECT_EQ(found(assumed, "ddr.occupancy")["high"], "260 ns");
  EXPECT_TRUE(found(assumed, "ddr.occupancy")["others"].is_null());
  EXPECT_EQ(found(assumed, "l2.allocates_on")["others"], json({"reads"}));
  EXPECT_TRUE(found(assumed, "l2.size").is_null());  // table 2 has it
  const json set = model_run(free, "model_walk", {"10", "1"}, {"--set", "ddr.occupancy=high"}, false).data()["assumed"];
  EXPECT_TRUE(found(set, "ddr.occupancy").is_null());
  EXPECT_EQ(set.size() + 1, assumed.size());
  EXPECT_TRUE(model_run("flat", "model_walk", {"10", "1"}, {}, false).data()["assumed"].empty());
}

TEST(ModelReport, TheAssumedFiguresOfAMachineAreListed) {
  const std::string command = std::string{SITU_TEST_BIN_DIR} + "/situ";
  const scratch_folder folder;
  const std::string file = folder.path() + "/assumed.json";
  const command_result listed = run_command({command, "model", "assumed", "nemesys-4x4", "--json", file});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("\nddr.occupancy"));
  EXPECT_THAT(listed.out, HasSubstr(" 80 ns to 260 ns "));
  EXPECT_THAT(listed.out, HasSubstr(" or reads "));
  EXPECT_EQ(json::parse(text_of(file)).size(), static_cast<std::size_t>(std::ranges::count(listed.out, '\n')));
  const command_result fitted = run_command({command, "model", "assumed", "nemesys-4x4-fitted"});
  EXPECT_THAT(fitted.out, HasSubstr("marks no figure as assumed"));
  EXPECT_EQ(run_command({command, "model", "assumed", "flat"}).exit_code, 1);
  EXPECT_EQ(run_command({command, "model", "assumed", "nemesys-5x5"}).exit_code, 1);
}

TEST(ModelReport, WhatItShowsOverTimeAddsUp) {
  const json report = model_run(nemesys, "model_ping_pong", {"20", "50"}, {"-n", "4"}).data();
  const json& times = report["timeline"]["times"];
  EXPECT_GE(times.size(), 64u);
  EXPECT_LE(times.size(), 129u);
  EXPECT_EQ(times.back(), report["modelled_ps"]);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  for (const json& core : report["cores"]) {
    const std::string name = "core " + core["core"].dump();
    EXPECT_EQ(sum_of(report, "core", name, "to_machine"), core["to_machine"].get<std::uint64_t>());
    EXPECT_EQ(sum_of(report, "core", name, "busy_ps"),
              report["modelled_ps"].get<std::uint64_t>() - core["idle_ps"].get<std::uint64_t>());
  }
  for (const json& part : report["parts"]) {
    const std::string kind = part["kind"];
    const std::string counter = kind == "cache" ? "misses" : "flits";
    if (kind != "cache" && kind != "link") continue;
    EXPECT_EQ(sum_of(report, kind, part["part"], counter), part[counter].get<std::uint64_t>()) << part["part"];
  }
}

// tests/model/regions.cpp reads nothing between its regions' begin and end but 1000 lines: half of its misses lie
// there.
TEST(ModelReport, MissesStandWhereTheyHappen) {
  const json report = model_run("flat:cores=2,miss=100", "model_regions", {"700"}).data();
  const json& times = report["timeline"]["times"];
  std::vector<std::uint64_t> misses;
  for (const json& series : report["timeline"]["series"])
    if (series["part"] == "core 0" && series["counter"] == "to_machine")
      misses = series["values"].get<std::vector<std::uint64_t>>();
  ASSERT_EQ(misses.size(), times.size());
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < misses.size(); ++i) {
    const std::uint64_t length = times[i].get<std::uint64_t>() - before;
    EXPECT_LE(misses[i], length / 100'000 + 10)
        << "from " << before;  // an interval has no room for more, but a quantum
    before = times[i];
  }
}

TEST(ModelReport, NothingOfTheRunDependsOnIt) {
  const std::vector<std::string> options{"-n", "4"};
  const json with = model_run(nemesys, "model_ping_pong", {"20", "50"}, options).data();
  const json without = model_run(nemesys, "model_ping_pong", {"20", "50"}, options, false).data();
  EXPECT_FALSE(without.contains("timeline"));
  for (const char* const figure : {"trace", "modelled_ps", "accesses", "switches", "cores", "parts"})
    EXPECT_EQ(with[figure], without[figure]) << figure;
}

// Read hits of 20 ns; the worked sum is C-AMAT = H / CH + pMR * pAMP / CM.
TEST(ModelReport, TheTwoFormsOfCAmatAreTheSame) {
  const json report = model_run(nemesys, "model_ping_pong", {"20", "50"}, {"-n", "4"}).data();
  int caches = 0;
  for (const json& of : report["camat"]) {
    const auto figure = [&](const char* name) { return of[name].get<double>(); };
    double by_hand = figure("hit_time_ps") / figure("hit_concurrency");
    if (figure("pure_miss_concurrency") > 0)
      by_hand += figure("pure_miss_rate") * figure("pure_miss_penalty_ps") / figure("pure_miss_concurrency");
    EXPECT_NEAR(figure("five_parameters_ps"), by_hand, 1) << of["part"];
    EXPECT_NEAR(figure("two_parameters_ps"), by_hand, 1e-6 * by_hand + 1) << of["part"];
    EXPECT_EQ(figure("hit_time_ps"), of["part"].get<std::string>().starts_with("L1") ? 20'000 : 400'000);
    ++caches;
  }
  EXPECT_GE(caches, 8);
}

// A region's links and memories are held against themselves, though links come while it runs.
// The time lines' sums are those of the run.
TEST(ModelReport, WhatCodeIsWaitedForHasATimeLine) {
  const json report = model_run(nemesys, "model_walk", {"10", "1"}).data();
  const std::uint64_t waited = report["cores"][0]["fetch_ps"];
  EXPECT_GT(waited, 0u);
  std::uint64_t sum = 0;
  for (const json& each : report["timeline"]["series"])
    if (each["part"] == "core 0" && each["counter"] == "fetch_ps")
      for (const json& value : each["values"]) sum += value.get<std::uint64_t>();
  EXPECT_EQ(sum, waited);
}

TEST(ModelReport, ARegionHasItsMemorysTraffic) {
  const json report = model_run(nemesys, "../imsuite_modelled", {"mis", "--nodes", "8"}, {"-n", "4"}, false).data();
  const json& region = report["regions"][0];
  for (const json& part : region["parts"])
    for (const json& all : report["parts"])
      if (part["part"] == all["part"] && part["kind"] == all["kind"]) {
        for (const auto& [counter, value] : part.items())
          EXPECT_LE(value, all[counter]) << part["part"] << ' ' << counter;
      }
  const auto dram = std::ranges::find_if(region["parts"], [](const json& part) { return part["part"] == "dram 14"; });
  ASSERT_NE(dram, region["parts"].end());
  EXPECT_GT((*dram)["reads"], 0);
}

// Ended by a signal after a while: what has been is told, and marked.
struct ended_run {
  command_result result;
  json data;
};
ended_run run_and_end(const std::string& signal, const std::string& machine, const std::string& program,
                      const std::string& arguments, const std::string& options = "") {
  const scratch_folder folder;
  const std::string bin = SITU_TEST_BIN_DIR;
  ended_run made;
  made.result = run_command({"/bin/sh", "-c",
                             "exec timeout --foreground --preserve-status -k 20 -s " + signal + " 1 " + bin +
                                 "/situ model run --machine " + machine + " --json " + folder.path() + "/r.json " +
                                 options + " " + bin + "/tests/" + program + " " + arguments});
  made.data = json::parse(text_of(folder.path() + "/r.json"), nullptr, false);
  return made;
}

TEST(ModelReport, AnEndFromOutsideLeavesWhatIsFinished) {
  // alone, with nothing but hits; two threads; places
  for (const auto& [program, arguments, options] :
       {std::array{"model_walk", "100 100000000", ""}, std::array{"model_two_threads", "100000000", ""},
        std::array{"model_ping_pong", "100000000", "-n 4"}}) {
    const ended_run interrupted = run_and_end("INT", nemesys, program, arguments, options);
    EXPECT_EQ(interrupted.result.exit_code, 128 + SIGINT) << program;
    EXPECT_THAT(interrupted.result.err, HasSubstr("ended from outside (Interrupt) at"));
    EXPECT_THAT(interrupted.result.err, HasSubstr("the report is not complete"));
    EXPECT_THAT(interrupted.result.err, HasSubstr("core  tile"));
    ASSERT_FALSE(interrupted.data.is_discarded()) << program;
    EXPECT_EQ(interrupted.data["is_complete"], false);
    EXPECT_EQ(interrupted.data["exit_code"], 128 + SIGINT);
    EXPECT_GT(interrupted.data["accesses"], 1000);
  }
  EXPECT_EQ(run_and_end("TERM", "flat", "model_walk", "100 100000000").result.exit_code, 128 + SIGTERM);
  EXPECT_EQ(model_run("flat", "model_walk", {"10", "1"}, {}, false).data()["is_complete"], true);
}

// Debian's script gives it a terminal.
TEST(ModelReport, ProgressIsShownOnATerminal) {
  if (!situ::test::is_installed("script")) GTEST_SKIP() << "needs script, of bsdutils";
  const std::string run = std::string{SITU_TEST_BIN_DIR} + "/situ model run --machine flat ";
  const std::string walk = std::string{SITU_TEST_BIN_DIR} + "/tests/model_walk 100 100000000";
  const auto on_terminal = [&](const std::string& options) {
    return run_command(
        {"/bin/sh", "-c",
         "exec script -qec 'timeout --foreground --preserve-status -s INT 4 " + run + options + walk + "' /dev/null"});
  };
  EXPECT_THAT(on_terminal("").out, HasSubstr(" million a second"));
  EXPECT_THAT(on_terminal("--quiet ").out, Not(HasSubstr(" million a second")));
}

// A library's time is none of the machine's, which is said; a program's own code has hooks.
TEST(ModelReport, CodeWithoutHooksThatTakesTheHostsTimeIsNamed) {
  const auto run = [](const char* what, const char* rounds) {
    return run_command({std::string{SITU_TEST_BIN_DIR} + "/tests/model_without_hooks_modelled", what, rounds},
                       {"SITU_MODEL_MACHINE=flat", "SITU_MODEL_QUIET=1"});
  };
  const command_result library = run("library", "100000");
  EXPECT_EQ(library.out, "done\n");
  EXPECT_THAT(library.err, HasSubstr("of the host's time went to libc.so.6, which has no hooks"));
  EXPECT_EQ(run("own", "500").err, "");
}

command_result sweep(std::vector<std::string> options, const std::vector<std::string>& program) {
  options.insert(options.begin(), {std::string{SITU_TEST_BIN_DIR} + "/situ", "model", "run"});
  options.push_back(std::string{SITU_TEST_BIN_DIR} + "/tests/" + program.front());
  options.insert(options.end(), program.begin() + 1, program.end());
  return run_command(options);
}

// The numbers' 256 lines stay where 512 sets hold them, once they are written; of 128 sets each is missed in each of
// four rounds: 1024 misses more, of 50 ns or of 100, in place of hits of 1 ns.
TEST(ModelSweep, HasALineForEachCombination) {
  const scratch_folder folder;
  const std::string file = folder.path() + "/sweep.json";
  const command_result result = sweep(
      {"--machine", "flat", "--set", "hit=1", "--sweep", "sets=512,128", "--sweep", "miss=50,100", "--json", file},
      {"model_walk", "4096", "4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::StartsWith("sets  miss  modelled ns  of first"));
  const json swept = json::parse(text_of(file));
  ASSERT_EQ(swept["runs"].size(), 4u);
  const auto run = [&](std::size_t i, const char* sets, const char* miss) {
    EXPECT_EQ(swept["runs"][i]["set"], json({{"sets", sets}, {"miss", miss}}));
    const double ns = swept["runs"][i]["report"]["modelled_ps"].get<double>() / 1000;
    EXPECT_THAT(result.out, HasSubstr(" " + std::to_string(static_cast<long>(ns))));
    return ns;
  };
  const double near = run(0, "512", "50");
  run(1, "512", "100");
  EXPECT_NEAR(run(2, "128", "50") - near, 1024 * 49, 20 * 49);
  EXPECT_NEAR(run(3, "128", "100") - run(1, "512", "100"), 1024 * 99, 20 * 99);
}

TEST(ModelSweep, SaysWhichMachineCannotBe) {
  const command_result result =
      sweep({"--machine", nemesys, "--sweep", "l1.size=32KiB,33KiB"}, {"model_walk", "10", "1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("exit code 2"));
  EXPECT_THAT(result.err, HasSubstr("a power of two of them is allowed (with l1.size=33KiB)"));
  EXPECT_THAT(sweep({"--machine", nemesys, "--set", "l9.size=1"}, {"model_walk", "10", "1"}).err,
              HasSubstr("there is no \"l9\""));
  EXPECT_THAT(sweep({"--machine", nemesys, "--sweep", "l1.size="}, {"model_walk", "10", "1"}).err,
              HasSubstr("write KEY=VALUE,VALUE"));
}

// The page as a browser has drawn it.
std::string drawn(const model_run& run) {
  const command_result made = run_command(
      {"/bin/sh", "-c",
       "exec $(command -v chromium-headless-shell || command -v chromium) --headless --no-sandbox --disable-gpu "
       "--disable-dev-shm-usage --user-data-dir=" +
           run.folder() + "/browser --dump-dom file://" + run.page_file()},
      {"HOME=" + run.folder(), "TMPDIR=" + run.folder()});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, Not(HasSubstr("CONSOLE"))) << "an error of the page's";
  // what has been drawn stands before the page's data
  const std::size_t begin = made.out.find("<body data-drawn=\"yes\">");
  EXPECT_NE(begin, std::string::npos) << "it was not drawn to its end";
  return begin == std::string::npos ? "" : made.out.substr(begin, made.out.find("<script id=\"report\"") - begin);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(ModelReport, ABrowserDrawsThePage) {
  if (!situ::test::is_installed("chromium-headless-shell chromium"))
    GTEST_SKIP() << "needs Debian's chromium-headless-shell";
  const model_run run{
      nemesys, "../imsuite_modelled", {"mis", "--nodes", "8", "--transfer", "offload"}, {"-n", "4", "--profile"}};
  const json report = run.data();
  const std::string page = drawn(run);
  // links: 4 x 3 each way in two directions, and one to each tile
  EXPECT_EQ(count(page, "<line data-kind=\"link\""), 2 * 2 * 12 + 16u);
  EXPECT_EQ(count(page, "<rect data-kind=\"core\""), 70u);
  EXPECT_EQ(count(page, "class=\"router\""), 16u);
  for (const char* const table :
       {"regions", "cores", "caches", "links", "memories", "rooms", "adapters", "units", "profile"})
    EXPECT_EQ(count(page, "<table id=\"" + std::string{table} + "\""), 1u) << table;
  // in full where the pointer rests
  EXPECT_THAT(page, HasSubstr("title=\"" + report["cores"][0]["reads"].dump() + "\""));
  EXPECT_THAT(page, HasSubstr("What the cores did"));

  const std::string flat = drawn(model_run("flat:tiles=2,cores=3", "model_two_threads", {"5"}));
  EXPECT_EQ(count(flat, "<rect data-kind=\"core\""), 6u);
}

}  // namespace
