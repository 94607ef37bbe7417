// The program as people run it: what it prints, what it writes, what it says when it is asked for nonsense.
#include "command.h"
#include "copy_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace imsuite {
namespace {

using nlohmann::json;
using package_rank::test::command_result;
using package_rank::test::scratch_folder;
using package_rank::test::situ_run;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::set<std::string> names{"bfsBellmanFord",
                                  "bfsDijkstra",
                                  "byzantine",
                                  "dijkstraRouting",
                                  "dominatingSet",
                                  "kcommittee",
                                  "leader_elect_lcr",
                                  "leader_elect_hs",
                                  "leader_elect_dp",
                                  "mis",
                                  "mst",
                                  "vertexColoring"};

class imsuite_run : public testing::TestWithParam<std::tuple<unsigned, bool>> {};

TEST_P(imsuite_run, all_kernels_validate_and_log_their_graphs) {
  const auto [places, in_process] = GetParam();
  const command_result result =
      situ_run(places, in_process, "imsuite", {"all", "--nodes", "9", "--log-graphs", "--repeat", "2", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  const json j = json::parse(result.out);
  EXPECT_EQ(j["places"], places);
  EXPECT_EQ(j["transfer"], "auto");
  std::set<std::string> seen;
  for (const json& k : j["kernels"]) {
    const std::string name = k["kernel"];
    EXPECT_TRUE(seen.insert(name).second);
    EXPECT_TRUE(k["validated"].get<bool>()) << k.dump();
    EXPECT_EQ(k["nodes"], 9);
    EXPECT_EQ(k["seconds"].size(), 2u);
    const json& graphs = k["graphs"];
    EXPECT_GT(graphs["copies"], 0) << name;
    EXPECT_EQ(graphs["between_places"] == 0, places == 1) << name;
    EXPECT_LE(graphs["between_places"], graphs["copies"]);
    EXPECT_GE(graphs["objects"], 2) << name << ": closures are graphs, not single objects";
    std::uint64_t typical = 0;
    for (const json& t : graphs["typical"]) typical += t["copies"].get<std::uint64_t>();
    EXPECT_LE(typical, graphs["copies"]);
    EXPECT_GT(2 * typical, graphs["copies"]) << name;
  }
  EXPECT_EQ(seen, names);
}
INSTANTIATE_TEST_SUITE_P(, imsuite_run, testing::Combine(testing::Values(1, 2, 4, 7), testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "threads" : "processes");
                         });

// A closure that captures the links of n nodes holds n x n weights of four bytes: the paper's sizes.
TEST(imsuite_program, closures_hold_what_they_capture) {
  const command_result result =
      situ_run(2, false, "imsuite", {"bfsBellmanFord", "--nodes", "64", "--log-graphs", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json graphs = json::parse(result.out)["kernels"][0]["graphs"];
  ASSERT_EQ(graphs["typical"].size(), 1u);
  EXPECT_EQ(graphs["typical"][0]["objects"], (std::vector<int>{8, 8}));
  EXPECT_GT(graphs["typical"][0]["bytes"][0], 64 * 64 * 4);
  EXPECT_LT(graphs["typical"][0]["bytes"][1], 64 * 64 * 4 + 500);
}

// The number of messages is the algorithm's: it depends on the input alone, except where messages race
// (bfsBellmanFord).
TEST(imsuite_program, copies_do_not_depend_on_places_or_transfer) {
  std::vector<std::vector<std::uint64_t>> counts;
  for (const auto& [places, how] :
       {std::tuple{1u, "auto"}, std::tuple{2u, "message"}, std::tuple{3u, "pull"}, std::tuple{4u, "offload"}}) {
    const command_result result =
        situ_run(places, false, "imsuite", {"all", "--nodes", "8", "--log-graphs", "--transfer", how, "--json", "-"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    auto& of_run = counts.emplace_back();
    const json j = json::parse(result.out);
    for (const json& k : j["kernels"])
      if (k["kernel"] != "bfsBellmanFord") of_run.push_back(k["graphs"]["copies"]);
    ASSERT_EQ(of_run.size(), 11u);
    EXPECT_EQ(of_run, counts.front()) << places << " places, " << how;
  }
}

TEST(imsuite_program, prints_tables_and_writes_a_file) {
  const scratch_folder folder;
  const std::string file = folder.path() + "/out.json";
  const command_result result = situ_run(
      3, true, "imsuite",
      {"mst", "--nodes", "12", "--input", "rn", "--seed", "5", "--transfer", "pull", "--log-graphs", "--json", file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("IMSuite on 3 places, transfer pull, seed 5"));
  EXPECT_THAT(result.out, HasSubstr("11 links, weight"));
  EXPECT_THAT(result.out, HasSubstr("validated"));
  EXPECT_THAT(result.out, HasSubstr("typical combinations"));
  std::ifstream written{file};
  EXPECT_EQ(json::parse(written)["kernels"][0]["input"], "rn");
}

TEST(imsuite_program, says_what_is_wrong_once) {
  struct fault {
    std::vector<std::string> arguments;
    const char* message;
  };
  for (const fault& f :
       {fault{{}, "kernel is required"}, fault{{"quicksort"}, "quicksort not in"},
        fault{{"mis", "--nodes", "0"}, "--nodes"},
        fault{{"leader_elect_hs", "--input", "tree"}, "leader_elect_hs is not made for the input tree; it takes ring"},
        fault{{"mis", "--input", "star"}, "--input"}, fault{{"mis", "--transfer", "pigeon"}, "--transfer"},
        fault{{"mis", "--nodes", "4", "--json", "/nonexistent/x.json"}, "cannot write /nonexistent/x.json"}}) {
    const command_result result = situ_run(2, false, "imsuite", f.arguments);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_LT(result.exit_code, 128);
    const std::size_t first = result.err.find(f.message);
    ASSERT_NE(first, std::string::npos) << f.message << "\n" << result.err;
    EXPECT_EQ(result.err.find(f.message, first + 1), std::string::npos) << "said twice:\n" << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("lost")));
  }
}

TEST(imsuite_program, explains_itself) {
  const command_result result = situ_run(1, false, "imsuite", {"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("Examples:"));
  for (const std::string& name : names) EXPECT_THAT(result.out, HasSubstr(name));
}

TEST(imsuite_copy_log, puts_like_sizes_together) {
  const copy_summary s = summarise(
      {{2, 96, 30, 10}, {2, 128, 30, 20}, {8, 900, 1, 0}, {14, 4884, 20, 20}, {15, 4908, 20, 0}, {3, 9000, 1, 0}});
  EXPECT_EQ(s.copies, 102u);
  EXPECT_EQ(s.between_places, 50u);
  EXPECT_NEAR(s.objects, (2 * 60 + 8 + 14 * 20 + 15 * 20 + 3) / 102.0, 1e-12);
  EXPECT_NEAR(s.bytes, (96 * 30 + 128 * 30 + 900 + 4884 * 20 + 4908 * 20 + 9000) / 102.0, 1e-9);
  ASSERT_EQ(s.typical.size(), 2u);
  EXPECT_EQ(std::tuple(s.typical[0].least_objects, s.typical[0].most_objects, s.typical[0].least_bytes,
                       s.typical[0].most_bytes, s.typical[0].copies),
            std::tuple(2u, 2u, 96u, 128u, 60u));
  EXPECT_EQ(std::tuple(s.typical[1].least_objects, s.typical[1].most_objects, s.typical[1].least_bytes,
                       s.typical[1].most_bytes, s.typical[1].copies),
            std::tuple(14u, 15u, 4884u, 4908u, 40u));
  EXPECT_EQ(summarise({}).copies, 0u);
}

}  // namespace
}  // namespace imsuite
