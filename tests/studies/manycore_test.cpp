// The counts of a run of the VM on a modelled machine, read from its reports.
#include "manycore/heap_runs.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace situ::studies::manycore {
namespace {

using json = nlohmann::json;

constexpr std::int64_t cycles(double thousands) {
  return static_cast<std::int64_t>(thousands * 1000 * 1e6 / 700);  // in ps, of 700 MHz
}

json part(const char* name, const char* kind, json values) {
  values["part"] = name;
  values["kind"] = kind;
  return values;
}

json core(std::uint64_t instructions, std::int64_t data_ps) {
  return {{"instructions", instructions}, {"writes", 10}, {"fetch_ps", cycles(3)}, {"to_machine_ps", data_ps}};
}

// Two tiles; one of them reads 100 words of the other.
json report() {
  const json parts = {
      part("DTLB 0", "tlb", {{"misses", 20}, {"walk_ps", cycles(4)}}),
      part("ITLB 0", "tlb", {{"misses", 5}, {"walk_ps", cycles(1)}}),
      part("L2 0", "cache", {{"misses", 7}, {"pure_miss_ps", cycles(6)}}),
      part("L2 1", "cache", {{"misses", 1}, {"pure_miss_ps", cycles(1)}}),
      part("L1i 0", "cache", {{"misses", 30}}),
      part("L1d 0", "cache", {{"misses", 40}}),
      part("tile 0", "adapter", {{"homed_reads", 100}, {"load_ps", cycles(11)}}),
      part("tile 1", "adapter", {{"load_ps", cycles(1)}}),
      part("memory controller 0", "adapter", {{"load_ps", cycles(50)}}),
  };
  const json last = {{"name", "last"},
                     {"modelled_ps", cycles(100)},
                     {"cores", {core(5000, cycles(20)), core(2000, cycles(2))}},
                     {"parts", parts}};
  const auto function = [](const char* name, double all, double in_machine) {
    return json{{"function", name}, {"ps", cycles(all)}, {"in_machine_ps", cycles(in_machine)}};
  };
  return {{"regions", {{{"name", "evaluations"}, {"modelled_ps", 7}}, last}},
          {"profile", {function("load", 900, 0), function("loop", 60, 30), function("look_up", 20, 10)}}};
}

json evaluation(const char* answer) {
  return {{"ok", true}, {"answer", answer}, {"bytecodes", 168548}, {"sends", 18238}, {"batons", 6654}};
}
json program() { return {evaluation("false"), evaluation("false")}; }

TEST(manycore_run, is_read_from_its_reports) {
  const heap_run run = read_run(report().dump(), program().dump());
  EXPECT_EQ(run.evaluations, 2U);
  EXPECT_EQ(run.bytecodes, 168548);
  EXPECT_EQ(run.batons, 6654);
  EXPECT_NEAR(run.cycles, 100e3, 1);
  EXPECT_EQ(run.bundles, 7000);
  EXPECT_EQ(run.stores, 20);
  EXPECT_EQ(run.walks, 20) << "those of code are not among them";
  EXPECT_NEAR(run.walk_cycles, 4e3, 1);
  EXPECT_NEAR(run.code_cycles, 6e3, 1);
  EXPECT_NEAR(run.data_cycles, 22e3, 1);
  EXPECT_EQ(run.remote_reads, 100);
  EXPECT_NEAR(run.remote_cycles, 5e3, 1) << "12 of the tiles' adapters, less 7 of the L2s";
  EXPECT_NEAR(run.other_data_cycles(), 6e3, 1);
  EXPECT_NEAR(run.stalls(), 28e3, 1);
}

TEST(manycore_run, has_its_functions_by_evaluation_most_stalls_first) {
  const heap_run run = read_run(report().dump(), program().dump());
  ASSERT_EQ(run.functions.size(), 3U);
  EXPECT_EQ(run.functions[0].name, "loop");
  EXPECT_NEAR(run.functions[0].cycles, 30e3, 1);
  EXPECT_NEAR(run.functions[0].stalls, 15e3, 1);
  EXPECT_EQ(run.functions[1].name, "look_up");
}

// One tile reads no word of another; its adapter's loads are those of its L2.
TEST(manycore_run, of_one_tile_reads_nothing_of_others) {
  json alone = report();
  for (json& each : alone["regions"][1]["parts"]) each.erase("homed_reads");
  const heap_run run = read_run(alone.dump(), program().dump());
  EXPECT_EQ(run.remote_reads, 0);
  EXPECT_EQ(run.remote_cycles, 0);
}

TEST(manycore_run, refuses_what_is_wrong_or_missing) {
  const auto refusal = [](const json& machine, const json& own) -> std::string {
    try {
      (void)read_run(machine.dump(), own.dump());
    } catch (const error& e) {
      return std::string{e.message()};
    }
    return "none";
  };
  EXPECT_EQ(refusal(report(), program()), "none");
  EXPECT_NE(refusal(report(), json::array({evaluation("true")})).find("answer is wrong"), std::string::npos);
  json failed = program();
  failed[1]["ok"] = false;
  EXPECT_NE(refusal(report(), failed).find("answer is wrong"), std::string::npos);
  json without_region = report();
  without_region["regions"].erase(1);
  EXPECT_NE(refusal(without_region, program()).find("no region last"), std::string::npos);
  json without_count = program();
  without_count[1].erase("batons");
  EXPECT_NE(refusal(report(), without_count).find("is not what it was"), std::string::npos);
}

class environment {
 public:
  environment(const char* name, const char* value) : name_{name} {
    const char* const before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    if (value != nullptr)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }
  ~environment() {
    if (had_)
      ::setenv(name_, before_.c_str(), 1);
    else
      ::unsetenv(name_);
  }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

TEST(manycore_image, that_is_missing_is_told_of_or_an_error_if_it_is_needed) {
  const environment path{"SITU_SQUEAK_IMAGE", "/nowhere/at.image"};
  {
    const environment needed{"SITU_SQUEAK_IS_NEEDED", nullptr};
    EXPECT_EQ(missing_image(),
              "there is no /nowhere/at.image: install Debian's package scratch, or set SITU_SQUEAK_IMAGE");
  }
  const environment needed{"SITU_SQUEAK_IS_NEEDED", "1"};
  EXPECT_THROW((void)missing_image(), error);
}

}  // namespace
}  // namespace situ::studies::manycore
