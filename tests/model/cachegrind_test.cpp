// Ten small programs (kinds/) on a modelled machine, and natively under cachegrind at the same geometry
// (cachegrind.toml). The counts of both are less those of a program that does nothing. The bounds are in percent of
// cachegrind's count, for gcc 12 as of today; docs/design/model.md has the reason of each that is not small.
#include "examples/command.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/build_paths.h"

namespace {

using nlohmann::json;
using package_rank::test::command_result;
using package_rank::test::run_command;
using package_rank::test::scratch_folder;

const std::string bin = SITU_TEST_BIN_DIR;

struct counts {
  double first_misses = 0;
  double last_misses = 0;
  double reads = 0;
  double writes = 0;
  double instructions = 0;
  double branches = 0;
};
constexpr double counts::* figures[] = {&counts::first_misses, &counts::last_misses,  &counts::reads,
                                        &counts::writes,       &counts::instructions, &counts::branches};

struct kind {
  const char* name;
  counts bounds;           // percent
  double more_lines = 16;  // beyond the bound for misses: lines of the C library, which a print or two touches
};

counts less(const counts& all, const counts& start) {
  counts left;
  for (const auto figure : figures) left.*figure = all.*figure - start.*figure;
  return left;
}

json report_of(const std::string& program) {
  const scratch_folder folder;
  const std::string file = folder.path() + "/report.json";
  const command_result result =
      run_command({bin + "/situ", "model", "run", "--machine", SITU_TEST_SOURCE_DIR "/model/cachegrind.toml", "--quiet",
                   "--json", file, bin + "/tests/model_kinds", program});
  EXPECT_EQ(result.exit_code, 0) << program << ": " << result.err;
  std::ifstream stream{file};
  json report = json::parse(stream);
  report["printed"] = result.out;
  return report;
}

double misses_of(const json& report, std::string_view cache) {
  for (const json& part : report["parts"])
    if (part["part"].get<std::string>().starts_with(cache)) return part["misses"].get<double>();
  ADD_FAILURE() << "no " << cache;
  return 0;
}

// Cachegrind counts an instruction that reads and writes the same bytes, atomics among them, as a read.
counts modelled(const std::string& program) {
  const json report = report_of(program);
  const json& core = report["cores"][0];
  const auto figure = [&](const char* name) { return core[name].get<double>(); };
  return {.first_misses = misses_of(report, "L1d"),
          .last_misses = misses_of(report, "L2"),
          .reads = figure("reads") + figure("atomics"),
          .writes = figure("writes") - figure("modified"),
          .instructions = figure("instructions"),
          .branches = figure("branches")};
}

// Returns the numbers of a line of cachegrind's summary behind its colon: "==1== D refs: 12,345 (1,000 rd + ...".
std::vector<double> numbers_of(const std::string& summary, std::string_view name) {
  std::size_t at = summary.find(name);
  std::vector<double> found;
  if (at == std::string::npos) return found;
  bool is_in_number = false;
  for (at += name.size(); at < summary.size() && summary[at] != '\n'; ++at) {
    if (std::isdigit(static_cast<unsigned char>(summary[at])) != 0) {
      if (!is_in_number) found.push_back(0);
      found.back() = found.back() * 10 + (summary[at] - '0');
      is_in_number = true;
    } else if (summary[at] != ',') {
      is_in_number = false;
    }
  }
  return found;
}

counts by_cachegrind(const std::string& valgrind, const std::string& program) {
  const command_result result = run_command({valgrind, "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes",
                                             "--I1=32768,8,64", "--D1=16384,4,64", "--LL=262144,16,64",
                                             "--cachegrind-out-file=/dev/null", bin + "/tests/model_kinds", program});
  EXPECT_EQ(result.exit_code, 0) << program << ": " << result.err;
  const auto read = [&](std::string_view line, std::size_t which) {
    const std::vector<double> numbers = numbers_of(result.err, line);
    EXPECT_GT(numbers.size(), which) << line << " of " << result.err;
    return numbers.size() > which ? numbers[which] : 0;
  };
  return {.first_misses = read("D1  misses:", 0),
          .last_misses = read("LLd misses:", 0),
          .reads = read("D   refs:", 1),
          .writes = read("D   refs:", 2),
          .instructions = read("I   refs:", 0),
          .branches = read("Branches:", 0)};
}

TEST(Cachegrind, CountsWhatTheModelCounts) {
  std::string valgrind = run_command({"/bin/sh", "-c", "command -v valgrind"}).out;
  if (valgrind.empty()) GTEST_SKIP() << "valgrind is not installed: nothing to compare with";
  valgrind.pop_back();  // the end of the line
  const kind kinds[] = {
      {"gemm", {1, 1, 0.2, 0.2, 1, 0.2}},          {"jacobi_2d", {1, 1, 0.2, 0.2, 1, 0.2}},
      {"atax", {1, 1, 0.2, 0.2, 1, 0.2}},          {"floyd_warshall", {1, 1, 0.2, 0.2, 1, 0.2}},
      {"doitgen", {1, 2.5, 2, 25, 1.5, 6}},        {"compressor", {1, 1.5, 1.5, 0.2, 1, 0.5}},
      {"interpreter", {1, 1, 0.2, 0.2, 0.2, 0.2}}, {"sorted_table", {1, 5, 1, 1.5, 1, 1}},
      {"thread_pool", {6, 8, 6, 3.5, 3, 4}},       {"exceptions", {99, 99, 97, 97, 92, 92}},
  };
  const counts model_start = modelled("nothing");
  const counts start = by_cachegrind(valgrind, "nothing");
  std::printf("%-15s %19s %19s %19s %19s %19s %19s\n", "model, %", "L1 misses", "LL misses", "reads", "writes",
              "instructions", "branches");
  for (const kind& each : kinds) {
    EXPECT_EQ(run_command({bin + "/tests/model_kinds", each.name}).out, report_of(each.name)["printed"]);
    const counts model = less(modelled(each.name), model_start);
    const counts other = less(by_cachegrind(valgrind, each.name), start);
    std::printf("%-15s", each.name);
    for (const auto figure : figures) {
      const double off = 100 * (model.*figure / other.*figure - 1);
      std::printf(" %10.0f %+7.2f%%", model.*figure, off);
      const bool is_of_lines = figure == &counts::first_misses || figure == &counts::last_misses;
      EXPECT_LE(std::abs(model.*figure - other.*figure),
                other.*figure * (each.bounds.*figure) / 100 + (is_of_lines ? each.more_lines : 0))
          << each.name << ": " << model.*figure << " by the model, " << other.*figure << " by cachegrind";
    }
    std::printf("\n");
  }
}

}  // namespace
