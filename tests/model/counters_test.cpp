// The counters of reports, and the table of docs/design/model.md that has each of them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/modelled_run.h"
#include "support/build_paths.h"

namespace {

using nlohmann::json;

// docs/design/model.md has a row for each counter of a report: how it comes about, and its error.
TEST(ModelCounters, EveryCounterHasARow) {
  std::ifstream stream{SITU_TEST_SOURCE_DIR "/../docs/design/model.md"};
  const std::string page{std::istreambuf_iterator<char>{stream}, {}};
  const std::size_t begin = page.find("\n## Each counter"), end = page.find("\n## Where it is blind");
  ASSERT_LT(begin, end);
  std::string names;  // the first column of the table
  std::istringstream lines{page.substr(begin, end - begin)};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| `")) names += line.substr(0, line.find(" | ", 2));
  std::set<std::string> counters;
  const package_rank::test::scratch_folder folder;
  const std::string walking = folder.path() + "/walking.toml";  // TLBs, walks through the caches, a victim buffer
  std::ifstream four_cores{SITU_TEST_SOURCE_DIR "/model/four_cores.toml"};
  std::string text{std::istreambuf_iterator<char>{four_cores}, {}};
  text.insert(text.find("\n[[node]]\nid = \"pu\""),
              "dtlb = { entries = 4, ways = 4, page = \"4 KiB\" }\nstlb = { entries = 8, ways = 4, hit = 7 }\n"
              "page_walks = \"through_caches\"\nwalk_cache = 4\n");
  std::ofstream{walking} << text;
  const std::string machines = SITU_TEST_SOURCE_DIR "/../machines/";
  const struct {
    std::string machine;
    std::vector<std::string> options;
    std::string program = "model_walk";
    std::vector<std::string> arguments = {"2000", "1"};
  } runs[] = {{machines + "nemesys-4x4.toml", {}},
              {machines + "host.toml", {}},
              {machines + "knl-7210-cache.toml", {}},
              {machines + "tile64.toml", {"--places", "2"}, "model_homed_pages", {}},
              {walking, {"--set", "l1d.victim_lines=4"}}};
  for (const auto& [machine, options, program, arguments] : runs) {
    const situ::test::modelled_run run = situ::test::run_on(machine, options, program, arguments);
    ASSERT_EQ(run.result.exit_code, 0) << machine << run.result.err;
    const json& report = run.report;
    for (const char* list : {"parts", "cores"})
      for (const json& each : report[list])
        for (const auto& [name, value] : each.items())
          if (value.is_number() && name != "core" && name != "tile") counters.insert(name);
    for (const auto& [name, value] : report["sharing"].items()) counters.insert(name);
  }
  EXPECT_GE(counters.size(), 50u);
  for (const std::string& each : counters) EXPECT_NE(names.find("`" + each + "`"), std::string::npos) << each;
}

}  // namespace
