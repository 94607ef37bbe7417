// The study `manycore-heap` as a command, quickly: the VM on one and two modelled tiles.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

using json = nlohmann::json;
using ended = situ::test::shell_result;

ended run(const std::string& before, const std::string& arguments) {
  return situ::test::run_shell(before + SITU_TEST_BIN_DIR "/situ study run manycore-heap --quick " + arguments);
}

std::string image_path() {
  const char* const named = std::getenv("SITU_SQUEAK_IMAGE");
  return named != nullptr ? named : "/usr/share/scratch/Scratch.image";
}

const json& part_named(const json& all, const std::string& name) {
  for (const json& each : all)
    if (each["name"] == name) return each;
  throw std::runtime_error{"no part " + name};
}

// Ours of each configuration with two tiles, by its name.
std::map<std::string, double> ratios_of(const json& part) {
  std::map<std::string, double> made;
  for (const json& line : part["grids"][0]["lines"])
    if (line[1] == "2") made[line[0]] = std::stod(line[3].get<std::string>());
  return made;
}

// All figures are modelled: another compiler changes them by some percent.
TEST(manycore_study, two_tiles_beside_one) {
  if (!std::filesystem::exists(image_path())) {
    ASSERT_EQ(std::getenv("SITU_SQUEAK_IS_NEEDED"), nullptr) << "there is no " << image_path();
    GTEST_SKIP() << "there is no " << image_path() << ": install Debian's package scratch, or set SITU_SQUEAK_IMAGE";
  }
  const std::string file = testing::TempDir() + "situ_manycore_" + std::to_string(::getpid()) + ".json";
  const ended done = run("", "--json " + file);
  ASSERT_EQ(done.exit_code, 0) << done.text;
  std::ifstream stream{file};
  const json parts = json::parse(stream)["parts"];
  std::filesystem::remove(file);
  ASSERT_EQ(parts.size(), 6U);
  for (const json& each : parts) EXPECT_TRUE(each["missing"].empty()) << each["missing"];

  // Each step of the paper makes two tiles faster; with one heap the baton hardly ever goes.
  auto ratios = ratios_of(part_named(parts, "ratios"));
  ASSERT_EQ(ratios.size(), 6U) << done.text;
  EXPECT_GT(ratios["64 KB pages, clock calls"], ratios["64 KB pages"]);
  EXPECT_GT(ratios["64 KB pages"], ratios["16 MB pages"]);
  EXPECT_GT(ratios["16 MB pages"], ratios["methods read-mostly"]);
  EXPECT_GT(ratios["methods read-mostly"] + 0.1, ratios["all read-mostly, split"]);
  EXPECT_GT(ratios["all read-mostly, split"], ratios["all read-mostly, one heap"]);
  EXPECT_GE(ratios["16 MB pages"], 1.3);
  EXPECT_LE(ratios["16 MB pages"], 1.9);
  EXPECT_LE(ratios["all read-mostly, one heap"], 1.15);

  const json& doubled = part_named(parts, "bundles")["rows"][0];
  EXPECT_EQ(doubled["from"], "calibrated");
  EXPECT_NEAR(doubled["ours"].get<double>(), 2, 0.1);

  const json& traffic = part_named(parts, "traffic");
  ASSERT_EQ(traffic["rows"].size(), 2U);
  EXPECT_NEAR(traffic["rows"][0]["ours"].get<double>(), 6570, 300) << "batons of objects dealt to two tiles";
  EXPECT_LE(traffic["rows"][1]["ours"].get<double>(), 10) << "batons with one heap";
  for (const json& line : traffic["grids"][0]["lines"])
    EXPECT_NEAR(std::stod(line[2].get<std::string>()), 168'600, 2'000) << "bytecodes, " << line;

  const json& notes = part_named(parts, "coherence")["notes"];
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].get<std::string>().find("coherence: 0 stale reads, 0 lost writes"), std::string::npos) << notes;
}

TEST(manycore_study, says_which_image_it_lacks) {
  const ended without = run("env -u SITU_SQUEAK_IS_NEEDED SITU_SQUEAK_IMAGE=/nowhere/at.image ", "");
  EXPECT_EQ(without.exit_code, 0) << without.text;
  EXPECT_NE(without.text.find("not yet: there is no /nowhere/at.image: install Debian's package scratch"),
            std::string::npos)
      << without.text;
  const ended needed = run("env SITU_SQUEAK_IS_NEEDED=1 SITU_SQUEAK_IMAGE=/nowhere/at.image ", "");
  EXPECT_NE(needed.exit_code, 0);
  EXPECT_NE(needed.text.find("there is no /nowhere/at.image"), std::string::npos) << needed.text;
}

}  // namespace
