// Programs on modelled time, through `situ model run`.
#include "examples/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
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

command_result model_run(const std::string& machine, const std::string& program,
                         std::vector<std::string> arguments = {}, std::vector<std::string> options = {}) {
  std::vector<std::string> all{std::string{SITU_TEST_BIN_DIR} + "/situ", "model", "run", "--machine", machine};
  all.insert(all.end(), options.begin(), options.end());
  all.push_back(std::string{SITU_TEST_BIN_DIR} + "/tests/" + program);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_command(all);
}

json report_of(const std::string& machine, const std::string& program, std::vector<std::string> arguments = {},
               std::vector<std::string> options = {}) {
  const scratch_folder folder;
  const std::string file = folder.path() + "/report.json";
  options.insert(options.end(), {"--quiet", "--json", file});
  const command_result result = model_run(machine, program, std::move(arguments), std::move(options));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::ifstream stream{file};
  json report = json::parse(stream);
  report["printed"] = result.out;
  return report;
}

class ModelledRuns : public testing::TestWithParam<std::string> {};
TEST_P(ModelledRuns, AreAlike) {
  const std::string machine = GetParam();
  std::set<std::string> seen;
  for (int i = 0; i < 20; ++i) {
    const json report = report_of(machine, "model_two_threads", {"5"});
    std::ostringstream text;
    text << report["cycles"] << ' ' << report["trace"] << ' ' << report["accesses"] << ' ' << report["printed"];
    seen.insert(text.str());
  }
  EXPECT_EQ(seen.size(), 1u) << testing::PrintToString(seen);
}
INSTANTIATE_TEST_SUITE_P(machines, ModelledRuns,
                         testing::Values("flat", SITU_TEST_SOURCE_DIR "/../machines/nemesys-4x4-fitted.toml"),
                         [](const auto& which) { return which.index == 0 ? "flat" : "nemesys"; });

// Five rounds of two threads over 1000 numbers each: 499500 and 500500 a round. Its thread_local count is its own.
TEST(ModelledExecution, TheProgramComputesWhatItComputes) {
  const json report = report_of("flat", "model_two_threads", {"5"});
  EXPECT_THAT(report["printed"].get<std::string>(), testing::StartsWith("5000000 0 "));
  ASSERT_EQ(report["cores"].size(), 3u);
  for (const int core : {1, 2}) EXPECT_GE(report["cores"][core]["reads"].get<int>(), 5000);
}

// 63 lines of 64 bytes hold the 1000 ints, so each thread misses at least those, whatever the machine's times.
TEST(ModelledExecution, AMissCostsWhatTheMachineSays) {
  const auto modelled = [](const char* machine) {
    return report_of(machine, "model_two_threads", {"5"})["modelled_ps"].get<std::uint64_t>();
  };
  const std::uint64_t near = modelled("flat:tiles=1,cores=4,miss=10");
  const std::uint64_t far = modelled("flat:tiles=1,cores=4,miss=1010");
  EXPECT_GE(far - near, 63 * 1'000'000u);
  EXPECT_LE(far - near, 2 * 100 * 1'000'000u);
}

// A round more over 4096 numbers. Their 256 lines fit 512 sets; of 128 sets each line is missed each time.
TEST(ModelledExecution, ReadsAndMissesAreCountedByHand) {
  const auto figures = [](const char* machine, const char* rounds) {
    const json report = report_of(machine, "model_walk", {"4096", rounds});
    EXPECT_EQ(report["printed"], std::to_string(4096 * std::atoi(rounds)) + "\n");
    const json& core = report["cores"][0];
    return std::array{core["reads"].get<std::int64_t>(), core["to_machine"].get<std::int64_t>(),
                      core["clock_ps"].get<std::int64_t>(), core["instructions"].get<std::int64_t>(),
                      core["writes"].get<std::int64_t>()};
  };
  for (const auto& [machine, misses] :
       {std::pair{"flat:sets=512,miss=50", 0}, std::pair{"flat:sets=128,miss=50", 256}}) {
    const auto two = figures(machine, "2");
    const auto three = figures(machine, "3");
    EXPECT_NEAR(static_cast<double>(three[0] - two[0]), 4096, 4);    // and the pointer to the first, and a return
    EXPECT_NEAR(static_cast<double>(three[1] - two[1]), misses, 6);  // lines of the program's own variables
    // hits of 1 ns, misses of 50, instructions of a cycle of 1 ns: of the loop two additions, a comparison, a branch, and
    // the extension of a number
    const std::int64_t missed = three[1] - two[1];
    const std::int64_t accesses = three[0] - two[0] + three[4] - two[4];
    const auto expected = (accesses - missed) * 1000 + missed * 50'000 + (three[3] - two[3] - 4096) * 1000;
    EXPECT_NEAR(static_cast<double>(three[2] - two[2]), static_cast<double>(expected),
                100'000);  // writes are not awaited
    EXPECT_NEAR(static_cast<double>(three[3] - two[3]), 5 * 4096, 30);
  }
}

// A thousand rounds more of each loop. A core of nemesys-4x4-fitted.toml takes a cycle for an instruction, but 4 for a
// multiplication and for one of floating numbers, 35 for a division, 3 for a call and for its return; the time of
// accesses (a call writes the address to which its return goes) is taken off.
TEST(ModelledExecution, InstructionsCostWhatTheirClassDoes) {
  const std::string machine = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4-fitted.toml";
  const auto figures = [&](const char* what, const char* rounds) {
    const json core = report_of(machine, "model_instruction_classes", {what, rounds})["cores"][0];
    const auto figure = [&](const char* name) { return core[name].get<std::int64_t>(); };
    const std::int64_t of_accesses =
        figure("reads") + figure("writes") - figure("to_machine") + figure("to_machine_ps") / 20'000;
    return std::pair{figure("clock_ps") / 20'000 - of_accesses, figure("instructions")};
  };
  for (const auto& [what, beyond_one_cycle] : {std::pair{"add", 0}, std::pair{"multiply", 3}, std::pair{"divide", 34},
                                               std::pair{"floating", 3}, std::pair{"call", 4}}) {
    const auto one = figures(what, "1000");
    const auto two = figures(what, "2000");
    const std::int64_t instructions = two.second - one.second;
    EXPECT_EQ(instructions % 1000, 0) << what;
    EXPECT_GE(instructions, 4000) << what;  // it, the counter's addition, a comparison and a branch
    EXPECT_LE(instructions, 12'000) << what;
    EXPECT_EQ(two.first - one.first, instructions + 1000 * beyond_one_cycle) << what;
  }
}

// A round takes 25 instructions of its own and a few of its loop. Before the counts of blocks kept below 0 from
// becoming 2^32, each round took 4.29 ms.
TEST(ModelledExecution, ABlockOfAccessesCostsNoMoreThanItsInstructions) {
  const std::string machine = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/host.toml";
  const auto figures = [&](const char* rounds) {
    const json core = report_of(machine, "model_moved_pair", {rounds})["cores"][0];
    return std::pair{core["clock_ps"].get<std::int64_t>(), core["instructions"].get<std::int64_t>()};
  };
  const auto one = figures("1000");
  const auto two = figures("2000");
  EXPECT_GE(two.second - one.second, 1000 * 5);
  EXPECT_LE(two.second - one.second, 1000 * 40);
  EXPECT_GE(two.first - one.first, 1000 * 1'000);
  EXPECT_LE(two.first - one.first, 1000 * 20'000);
}

// A division of a million cycles at 50 MHz takes 20 ms, which a block's 32 bits of picoseconds do not hold.
TEST(ModelledExecution, ABlockThatIsTooLongIsNamed) {
  const scratch_folder folder;
  std::ifstream stream{std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4-fitted.toml"};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  const std::size_t at = text.find("divide = 35");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 11, "divide = 1000000");
  const std::string file = folder.path() + "/slow.toml";
  std::ofstream{file} << text;
  const command_result result = model_run(file, "model_instruction_classes", {"divide", "1"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("more than the 4.29 ms that a block may take"));
}

// A function of 8 KiB lies in 257 lines of 32 bytes at most, with the loop around it in a few more: once they are
// there, no round misses. 64 KiB are four lines for each set of two ways: each round misses all of them, for 20 cycles
// less the one that a hit takes in the pipeline, from the tile's own memory.
TEST(ModelledExecution, InstructionsAreFetched) {
  const std::string machine = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4-fitted.toml";
  const auto fetched = [&](const char* kib, const char* rounds) {
    const json core = report_of(machine, "model_instruction_fetch", {kib, rounds})["cores"][0];
    return std::array{core["fetches"].get<std::int64_t>(), core["fetch_misses"].get<std::int64_t>(),
                      core["fetch_ps"].get<std::int64_t>(), core["clock_ps"].get<std::int64_t>()};
  };
  const auto ten_rounds_more = [&](const char* kib) {
    auto more = fetched(kib, "20");
    const auto before = fetched(kib, "10");
    for (std::size_t i = 0; i < more.size(); ++i) more[i] -= before[i];
    return more;
  };
  const auto small = ten_rounds_more("8");
  EXPECT_GE(small[0], 10 * 256);
  EXPECT_LE(small[0], 10 * 264);
  EXPECT_EQ(small[1], 0);
  EXPECT_EQ(small[2], 0);
  const auto large = ten_rounds_more("64");
  EXPECT_GE(large[1], 10 * 2048);
  EXPECT_LE(large[1], 10 * 2056);
  EXPECT_NEAR(large[0], large[1], 10 * 4);  // the loop may come back to a line that it has just had
  EXPECT_EQ(large[2], large[1] * 19 * 20'000);
  // What does nothing counts as no instruction. A call's write waits for the one before, unless code is fetched between.
  EXPECT_NEAR(static_cast<double>(large[3] - small[3]), static_cast<double>(large[2]), 10 * 20 * 20'000);
  EXPECT_EQ(report_of("flat", "model_instruction_fetch", {"8", "1"})["cores"][0]["fetches"], 0);  // no such cache
}

// 16 KiB of numbers lie in five pages or four, and what says where they lie in another. Two entries forget each before
// it comes again; eight keep all. A walk takes 30 cycles, and nothing else changes. The same for the pages of 64 KiB of
// code, and the loop around it.
TEST(ModelledExecution, PagesAreTranslated) {
  const scratch_folder folder;
  const auto nemesys_with = [&](const std::string& name, const std::string& keys) {
    std::ifstream stream{std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4-fitted.toml"};
    std::string text{std::istreambuf_iterator<char>{stream}, {}};
    text.insert(text.find("cycles = {"), keys);
    std::ofstream{folder.path() + "/" + name} << text;
    return folder.path() + "/" + name;
  };
  // Of ten rounds more: the core's time, and the TLB's misses.
  const auto ten_rounds_more = [&](const std::string& machine, const std::string& program, const std::string& size,
                                   const std::string& tlb) {
    const auto of = [&](const char* rounds) {
      const json report = report_of(machine, program, {size, rounds});
      std::int64_t misses = 0;
      for (const json& part : report["parts"])
        if (part["part"] == tlb) misses = part["misses"];
      return std::pair{report["cores"][0]["clock_ps"].get<std::int64_t>(), misses};
    };
    const auto before = of("10");
    const auto more = of("20");
    return std::pair{more.first - before.first, more.second - before.second};
  };
  const std::string page = "page = \"4 KiB\", walk = 30 }\n";
  const std::string without = nemesys_with("none.toml", "");
  const std::string small = nemesys_with("small.toml", "dtlb = { entries = 2, ways = 2, " + page);
  const std::string large = nemesys_with("large.toml", "dtlb = { entries = 8, ways = 8, " + page);
  const auto none = ten_rounds_more(without, "model_walk", "4096", "DTLB 0");
  const auto two = ten_rounds_more(small, "model_walk", "4096", "DTLB 0");
  EXPECT_GE(two.second, 10 * 5);
  EXPECT_LE(two.second, 10 * 7);
  EXPECT_EQ(two.first - none.first, two.second * 30 * 20'000);
  EXPECT_EQ(ten_rounds_more(large, "model_walk", "4096", "DTLB 0"), (std::pair{none.first, std::int64_t{0}}));

  const std::string code = nemesys_with("code.toml", "itlb = { entries = 8, ways = 8, " + page);
  const auto untranslated = ten_rounds_more(without, "model_instruction_fetch", "64", "ITLB 0");
  const auto eight = ten_rounds_more(code, "model_instruction_fetch", "64", "ITLB 0");
  EXPECT_GE(eight.second, 10 * 16);
  EXPECT_LE(eight.second, 10 * 19);
  EXPECT_EQ(eight.first - untranslated.first, eight.second * 30 * 20'000);
}

// Cycles of 1 and a width of 4: instructions of one class take one each, those of several overlap. A branch that nobody
// foresees costs 100 cycles more, but none of these loops has such ones but its end.
TEST(ModelledExecution, ACoreWithAWidthDoesClassesSideBySide) {
  const scratch_folder folder;
  const auto of_floating = [&](const std::string& of_core) {
    std::ifstream stream{std::string{SITU_TEST_SOURCE_DIR} + "/model/assumed_host.toml"};
    std::string text{std::istreambuf_iterator<char>{stream}, {}};
    const std::size_t at = text.find("cycles = {");
    text.replace(at, text.find('\n', at) - at,
                 "cycles = { integer = 1, multiply = 1, divide = 1, floating = 4, branch = 1, call = 1, mispredict = "
                 "100 }\nwindow = 256\nstore_buffer = 16\n" +
                     of_core);
    const std::string file = folder.path() + "/width.toml";
    std::ofstream{file} << text;
    const auto clock_ps = [&](const char* rounds) {
      return report_of(file, "model_instruction_classes", {"floating", rounds})["cores"][0]["clock_ps"]
          .get<std::int64_t>();
    };
    return static_cast<double>(clock_ps("2000") - clock_ps("1000")) / 333'000;  // cycles of 333 ps
  };
  EXPECT_NEAR(of_floating("width = 4\n"), 4, 0.1);  // the addition hides the loop around it
  EXPECT_GT(of_floating(""), 6.9);                  // a comparison, an addition and a branch besides
}

// 262144 ints are 16384 lines of 64 bytes: each costs a core that waits more than 95 ns.
TEST(ModelledExecution, ACoreWithAWindowGoesOnPastItsMisses) {
  std::ifstream stream{std::string{SITU_TEST_SOURCE_DIR} + "/model/assumed_host.toml"};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  const auto append = [&](const std::string& behind, const std::string& what) {
    const std::size_t at = text.find(behind);
    ASSERT_NE(at, std::string::npos) << behind;
    text.insert(at + behind.size(), what);
  };
  const scratch_folder folder;
  const auto modelled = [&](const std::string& name) {
    const std::string file = folder.path() + "/" + name;
    std::ofstream{file} << text;
    const json one = report_of(file, "model_walk", {"262144", "1"});
    EXPECT_EQ(one["printed"], "262144\n");
    EXPECT_EQ(one["trace"], report_of(file, "model_walk", {"262144", "1"})["trace"]);
    return one["modelled_ps"].get<std::uint64_t>();
  };
  const std::uint64_t waits = modelled("waits.toml");
  append("kind = \"core\"\n", "window = 256\nstore_buffer = 64\n");
  append("cache = \"data\"\n", "outstanding = 8\n");
  const std::uint64_t goes_on = modelled("goes_on.toml");
  EXPECT_GT(waits - goes_on, 16384u * 95'000 / 2);
  append("level = 2\n", "outstanding = 32\nprefetch_streams = 16\nprefetch_lines = 16\n");
  EXPECT_LT(modelled("fetches_ahead.toml"), goes_on);
}

TEST(ModelledExecution, StrictOrderComesToNearlyTheSame) {
  const double ahead = report_of("flat", "model_two_threads", {"20"})["cycles"].get<double>();
  const double strict = report_of("flat", "model_two_threads", {"20"}, {"--strict"})["cycles"].get<double>();
  EXPECT_NEAR(ahead / strict, 1.0, 0.07);
}

TEST(ModelledExecution, ADeadlockIsFoundAtOnceAndNamesWhoWaits) {
  const command_result result = model_run("flat", "model_stand_still", {"deadlock"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("deadlock: every thread sleeps"));
  EXPECT_THAT(result.err, HasSubstr("thread 1, core 1 of tile 0"));
  EXPECT_THAT(result.err, HasSubstr("thread 2, core 2 of tile 0"));
  EXPECT_THAT(result.err, HasSubstr("waits for a mutex"));
  EXPECT_THAT(result.err, HasSubstr("lock_both"));
}

TEST(ModelledExecution, ACrashNamesThreadAndCore) {
  const command_result result = model_run("flat", "model_stand_still", {"crash"});
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  EXPECT_THAT(result.err, HasSubstr("in thread 1, on core 1 of tile 0"));
  EXPECT_THAT(result.err, HasSubstr("write_to"));
}

// It belongs to the run, whose report comes after it.
TEST(ModelledExecution, AStaticDestructorMayWaitForAThread) {
  const command_result result = model_run("flat", "model_stand_still", {"destructor"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "ends\njoined\n");
  EXPECT_THAT(result.err, HasSubstr("ns modelled on flat"));
}

// By name, through what `situ model run` becomes: where it is, who called, and what all threads wait for.
TEST(ModelledExecution, GdbSeesTheProgramsThreads) {
  const command_result result =
      run_command({"/bin/sh", "-c",
                   "exec gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'set breakpoint pending on' -ex 'break "
                   "lock_both' -ex run -ex bt -ex continue -ex 'call (void)situ_model_print_threads()' -ex kill "
                   "--args " +
                       std::string{SITU_TEST_BIN_DIR} + "/situ model run --machine flat " + SITU_TEST_BIN_DIR +
                       "/tests/model_stand_still deadlock"});
  if (result.exit_code == 127) GTEST_SKIP() << "needs gdb";
  if (result.err.find("ptrace") != std::string::npos) GTEST_SKIP() << "gdb may not trace here: " << result.err;
  EXPECT_THAT(result.out, HasSubstr("lock_both"));
  EXPECT_THAT(result.out, testing::ContainsRegex("#[0-9]+ .*situ::model::engine::thread_entry"));
  const std::string all = result.out + result.err;
  EXPECT_THAT(all, HasSubstr("thread 0, core 0 of tile 0"));
  EXPECT_THAT(all, HasSubstr("waits for time to pass"));
  EXPECT_THAT(all, HasSubstr("thread 2, core 2 of tile 0"));
}

// As those of the host's threads do; without a limit they have 64 MiB.
TEST(ModelledExecution, StacksFollowTheLimit) {
  const auto run_under = [](const std::string& limit) {
    const std::string folder = SITU_TEST_BIN_DIR;
    return run_command({"/bin/sh", "-c",
                        "ulimit -s " + limit + " || exit 77; exec " + folder +
                            "/situ model run --machine flat --quiet " + folder + "/tests/model_stand_still stack"});
  };
  for (const char* const limit : {"49152", "unlimited"}) {
    const command_result fits = run_under(limit);
    if (fits.exit_code == 77) GTEST_SKIP() << "stacks may not be so large here: " << fits.err;
    EXPECT_EQ(fits.exit_code, 0) << limit << fits.err;
    EXPECT_EQ(fits.out, "main 640\nthread 640\n") << limit;
  }
  EXPECT_EQ(run_under("8192").exit_code, 128 + SIGSEGV);
}

TEST(ModelledExecution, AForkIsRefused) {
  const command_result result = model_run("flat", "model_stand_still", {"fork"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("fork is not modelled"));
}

const std::string nemesys = std::string{SITU_TEST_SOURCE_DIR} + "/../machines/nemesys-4x4-fitted.toml";

// 100 calls of i + 1, i from 0: 5050. Rings of 50 nodes hold 0 to 49: 1225, 20 times.
TEST(ModelledExecution, PlacesCallEachOther) {
  for (const std::string& machine : {std::string{"flat"}, nemesys})
    for (const char* places : {"1", "2", "4"}) {
      EXPECT_EQ(model_run(machine, "model_ping_pong", {"100"}, {"-n", places}).out, "5050\n") << machine << places;
      EXPECT_EQ(model_run(machine, "model_ping_pong", {"20", "50"}, {"-n", places}).out, "24500\n")
          << machine << places;
    }
}

command_result checked_run(const char* how) {
  return run_command({std::string{SITU_TEST_BIN_DIR} + "/tests/model_stale_read_modelled", how},
                     {"SITU_MODEL_MACHINE=" + nemesys, "SITU_MODEL_PLACES=2", "SITU_MODEL_COHERENCE=1"});
}

// Of stale_read.cpp: the number of the line that has this text.
std::string line_of(std::string_view text) {
  std::ifstream source{SITU_TEST_SOURCE_DIR "/model/stale_read.cpp"};
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.find(text) != std::string::npos) return std::to_string(number);
  }
  return "no such line";
}

TEST(ModelledExecution, AStaleReadIsReadAndFound) {
  const command_result broken = checked_run("broken");
  EXPECT_EQ(broken.out, "0 0\n");
  EXPECT_THAT(broken.err, HasSubstr("coherence: 1 stale reads, 0 lost writes"));
  EXPECT_THAT(broken.err, HasSubstr("first tile 0 read"));
  EXPECT_THAT(broken.err, HasSubstr("what tile 1 had written"));
  // By addr2line, which comes with every gcc.
  EXPECT_THAT(broken.err, HasSubstr("stale_read.cpp:" + line_of("return at.number.value;")));
  EXPECT_THAT(broken.err, HasSubstr("stale_read.cpp:" + line_of("at.number.value = 7;")));
  const command_result fixed = checked_run("fixed");
  EXPECT_EQ(fixed.out, "0 7\n");
  EXPECT_THAT(fixed.err, HasSubstr("coherence: 0 stale reads, 0 lost writes"));
  EXPECT_EQ(checked_run("returned").out, "0 7\n");
  EXPECT_EQ(checked_run("fetched").out, "0 0\n");  // the tile's seven has not been written back
}

TEST(ModelledExecution, AWriteThatIsDroppedIsLostAndFound) {
  const command_result lost = checked_run("dropped");
  EXPECT_EQ(lost.out, "0 0\n");
  EXPECT_THAT(lost.err, HasSubstr("coherence: 0 stale reads, 1 lost writes"));
  EXPECT_THAT(lost.err, HasSubstr("dropped at"));
  EXPECT_THAT(lost.err, HasSubstr("stale_read.cpp:" + line_of("situ::detail::invalidate(&at, line_bytes);")));
}

// All of imsuite's ways from place to place, where a place reads what its tile has. byzantine sends many messages at a
// time, and mis captures the links.
class ModelledImsuite : public testing::TestWithParam<const char*> {};
TEST_P(ModelledImsuite, IsRightWithoutCoherentCaches) {
  for (const char* const kernel : {"byzantine", "mis", "mst"}) {
    const command_result result =
        model_run(nemesys, "../imsuite_modelled", {kernel, "--nodes", "8", "--transfer", GetParam()},
                  {"-n", "4", "--quiet", "--check-coherence"});
    EXPECT_EQ(result.exit_code, 0) << kernel << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr("validated"));
    EXPECT_THAT(result.err, HasSubstr("coherence: 0 stale reads, 0 lost writes"));
  }
}
INSTANTIATE_TEST_SUITE_P(transfers, ModelledImsuite, testing::Values("message", "pull", "offload", "auto"),
                         [](const auto& info) { return std::string{info.param}; });

// The C library allocates under its own locks, of which two threads want the same one.
TEST(ModelledExecution, TwoThreadsThatPrintFirstDoNotStandStill) {
  EXPECT_EQ(model_run("flat", "model_library_calls", {"print"}).out, "one\ntwo\n");
}

TEST(ModelledExecution, WhoLooksInVainWaitsForWhoSleeps) {
  EXPECT_EQ(model_run("flat", "model_library_calls", {"look"}).out, "set\n");
  const command_result for_ever = model_run("flat", "model_library_calls", {"look-for-ever"});
  EXPECT_EQ(for_ever.exit_code, 3);
  EXPECT_THAT(for_ever.err, HasSubstr("nothing has changed for long"));
}

TEST(ModelledExecution, TheCLibrarysCallsAreTheMachines) {
  const auto printed = [](const char* what) {
    return model_run("flat:tiles=2,cores=3", "model_library_calls", {what}).out;
  };
  EXPECT_EQ(printed("allocate"), "1 1 1\n");
  EXPECT_EQ(printed("odd-times"), "-1 0\n");
  EXPECT_EQ(printed("clocks"), "1 1\n1 1\n");
  EXPECT_EQ(printed("cores"), "6 6\n");
  EXPECT_EQ(printed("lock-for-a-time"), "1\n");
  EXPECT_EQ(printed("detach"), "30\n");
  const command_result spins = model_run("flat", "model_library_calls", {"spin"});
  EXPECT_EQ(spins.exit_code, 2);
  EXPECT_THAT(spins.err, HasSubstr("pthread_spin_lock is not modelled"));
}

// Fails before the program begins; and where the report has no room, what it has printed is there.
TEST(ModelledExecution, AReportThatCannotBeWrittenIsSaid) {
  const command_result nowhere = model_run("flat", "model_walk", {"10", "1"}, {"--json", "/no/such/folder/x"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_EQ(nowhere.out, "");
  const command_result full = model_run("flat", "model_walk", {"10", "1"}, {"--json", "/dev/full"});
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_EQ(full.out, "10\n");
  EXPECT_THAT(full.err, HasSubstr("cannot write the report to /dev/full: No space left on device"));
}

// A job's memory was made longer than the limit, and the program ended by SIGXFSZ, without a word.
TEST(ModelledExecution, ALimitOnTheSizeOfFilesIsKeptOrNamed) {
  const auto limited = [](const std::string& kib, const std::string& arguments) {
    return run_command(
        {"/bin/bash", "-c", "ulimit -f " + kib + "; " SITU_TEST_BIN_DIR "/situ model run --machine flat " + arguments});
  };
  const command_result large = limited("10000000", "-n 2 --quiet " SITU_TEST_BIN_DIR "/hello");
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_THAT(large.out, HasSubstr("place 1 of 2"));
  const command_result small = limited("1000", "-n 2 --quiet " SITU_TEST_BIN_DIR "/hello");
  EXPECT_LT(small.exit_code, 128 + SIGXFSZ) << small.err;
  EXPECT_NE(small.exit_code, 0);
  EXPECT_THAT(small.err, HasSubstr("(ulimit -f)"));
  const scratch_folder folder;
  const command_result report =
      limited("1", "--json " + folder.path() + "/report " SITU_TEST_BIN_DIR "/tests/model_walk 10 1");
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.err, testing::AllOf(HasSubstr("cannot write the report"), HasSubstr("(ulimit -f)")));
}

TEST(ModelledExecution, TheGuidesFirstProgramRuns) {
  const command_result hello = model_run(nemesys, "../hello", {}, {"-n", "2", "--quiet"});
  EXPECT_EQ(hello.exit_code, 0) << hello.err;
  EXPECT_THAT(hello.out, HasSubstr("place 1 of 2"));
  EXPECT_THAT(hello.out, HasSubstr("a task at place 1"));
}

TEST(ModelledExecution, WhatCannotBeRunIsSaid) {
  for (const auto& [machine, said] :
       {std::pair{"flat:sets=8589934592", "is more than 1048576"}, std::pair{"flat:tiles=1025", "is more than 1024"},
        std::pair{"flat:cores=4294967297", "is more than 1024"},
        std::pair{"flat:tiles=1024,cores=1024,sets=1024", "tiles * cores * sets"}})
    EXPECT_THAT(model_run(machine, "model_walk").err, HasSubstr(said));

  EXPECT_THAT(model_run("nothing", "model_two_threads").err,
              HasSubstr("nothing: there is no such file, and no such machine: "));
  EXPECT_THAT(model_run("flat:cores=none", "model_two_threads").err, HasSubstr("\"none\" is no number above 0"));
  EXPECT_THAT(model_run("flat:rows=1", "model_two_threads").err, HasSubstr("there are tiles, cores"));
  EXPECT_THAT(model_run("flat", "model_two_threads", {}, {"--json", "/no/such/folder/x"}).err,
              HasSubstr("cannot write the report"));
  EXPECT_THAT(model_run("flat", "../situ").err, HasSubstr("is not built for modelled machines"));
  const command_result alone = run_command({std::string{SITU_TEST_BIN_DIR} + "/tests/model_two_threads_modelled"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("start it with `situ model run`"));
}

// tests/model/regions.cpp: 500 + 250 + 250 lines of 64 bytes in the region, on a machine whose misses take 100 ns.
TEST(ModelledExecution, ARegionHasItsOwnFigures) {
  const json report = report_of("flat:cores=2,miss=100", "model_regions", {"700"});
  ASSERT_EQ(report["regions"].size(), 1u);
  const json& part = report["regions"][0];
  EXPECT_EQ(part["name"], "part");
  EXPECT_EQ(part["times"], 2);
  std::uint64_t misses = 0;
  for (const json& core : part["cores"]) misses += core["to_machine"].get<std::uint64_t>();
  EXPECT_GE(misses, 1000u);
  EXPECT_LT(misses, 1300u);  // the thread is made, too
  EXPECT_GE(part["modelled_ps"], 1000 * 100'000);
  EXPECT_LT(part["modelled_ps"], 1300 * 100'000);
  EXPECT_GT(report["modelled_ps"], 2700 * 100'000);
}

TEST(ModelledExecution, FastForwardPricesNothingBeforeItsRegion) {
  const json all = report_of("flat:cores=2,miss=100", "model_regions");
  const json forward = report_of("flat:cores=2,miss=100", "model_regions", {}, {"--fast-forward", "part"});
  EXPECT_EQ(forward["printed"], all["printed"]);
  EXPECT_LT(forward["modelled_ps"].get<double>(), all["modelled_ps"].get<double>() - 0.9 * 1000 * 100'000);
  EXPECT_NEAR(forward["regions"][0]["modelled_ps"].get<double>(), all["regions"][0]["modelled_ps"].get<double>(),
              0.02 * all["regions"][0]["modelled_ps"].get<double>());
  const command_result missed = model_run("flat", "model_regions", {}, {"--fast-forward", "parts", "--quiet"});
  EXPECT_THAT(missed.err, HasSubstr("region parts never began"));
}

}  // namespace
