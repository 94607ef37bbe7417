// Pages of 2 MiB that a program asks for: the TLB's look-ups and the walks, by the report.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model/modelled_run.h"

namespace {

using nlohmann::json;
using situ::test::run_on;

const std::string folder = SITU_TEST_SOURCE_DIR "/model/";

// The machine of four_cores.toml with TLBs.
json pages_of(const std::string& how, const std::vector<std::string>& options = {}) {
  const package_rank::test::scratch_folder scratch;
  std::ifstream stream{folder + "four_cores.toml"};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  text.insert(text.find("cycles = {"),
              "dtlb = { entries = 64, ways = 4, page = \"4 KiB\" }\ndtlb_2m = { entries = 32, ways = 4 }\n"
              "page_walks = \"through_caches\"\nwalk_cache = 16\n");
  const std::string machine = scratch.path() + "/pages.toml";
  std::ofstream{machine} << text;
  const situ::test::modelled_run run = run_on(machine, options, "model_large_pages", {how});
  EXPECT_EQ(run.result.exit_code, 0) << run.result.err;
  EXPECT_EQ(run.result.out, "0\n");
  json made{{"clock_ps", run.report["cores"][0]["clock_ps"]}, {"reads", run.report["cores"][0]["reads"]}};
  for (const json& part : run.report["parts"])
    if (part["part"] == "DTLB 0") made["tlb"] = part;
  for (const json& part : run.report["regions"].at(0)["parts"])
    if (part["part"] == "DTLB 0") made["in_region"] = part;
  return made;
}

// 2048 small pages have an entry each, in 256 lines that are read from memory; the program looks at some 20 others. Four
// large pages, or five where the mapping does not begin at one, take their place; the rest of these is small pages.
TEST(ModelledLargePages, AreAskedForByTheProgram) {
  const json usual = pages_of("usual");
  EXPECT_GE(usual["tlb"]["misses"], 2048);
  EXPECT_LE(usual["tlb"]["misses"], 2048 + 40);
  EXPECT_FALSE(usual["tlb"].contains("misses_2m"));

  const json huge = pages_of("huge");
  EXPECT_EQ(huge["tlb"]["misses_2m"], 4);
  EXPECT_LE(huge["tlb"]["misses"], 4 + 40);
  EXPECT_LE(usual["reads"], 2048 + 40) << "walks are none of the program's reads";
  EXPECT_LE(huge["reads"], 2048 + 40);
  EXPECT_LT(huge["clock_ps"].get<std::int64_t>(), usual["clock_ps"].get<std::int64_t>() - 256 * 90'000)
      << "256 lines of the page table are not read";

  // A counter that begins with the region's first large page is one of the region alone, and moves no other.
  EXPECT_EQ(huge["in_region"]["misses_2m"], 4);
  EXPECT_EQ(huge["in_region"]["hits_2m"], 0) << "each page is walked through once";
  EXPECT_EQ(huge["in_region"]["walks"], huge["in_region"]["misses"]);
  EXPECT_LT(huge["in_region"]["walk_ps"], huge["tlb"]["walk_ps"]);

  const json advised = pages_of("advised");
  EXPECT_GE(advised["tlb"]["misses_2m"], 3);
  EXPECT_LE(advised["tlb"]["misses_2m"], 4);
  EXPECT_LE(advised["tlb"]["misses"], 4 + 512 + 40);

  EXPECT_FALSE(pages_of("taken_back")["tlb"].contains("misses_2m"));
}

// A setting of the machine makes all pages large: those of the stack and of malloc, too.
TEST(ModelledLargePages, MayBeTheUsualOnes) {
  const json all = pages_of("usual", {"--set", "core.page_size=2MiB"});
  EXPECT_GE(all["tlb"]["misses_2m"], 4);
  EXPECT_EQ(all["tlb"]["misses_2m"], all["tlb"]["misses"]);
  EXPECT_LE(all["tlb"]["misses"], 5 + 20);
}

}  // namespace
