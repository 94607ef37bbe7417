// `situ bench graph --quick` end to end, and how it fails. Only what must hold whatever the machine's load.
#include "graph_bench.h"
#include "graph_cases.h"

#include "bench/quick_bench.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace situ::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class graph_quick : public quick_bench {
 protected:
  graph_quick() : quick_bench{"graph"} {}
};

TEST_F(graph_quick, delivers_every_row_of_ours_and_leaves_nothing) {
  const fs::path file = directory_ / "rows.json";
  const result r = run("--quick --seconds 0.5 --subjects raw_walk,memcpy,situ,map_clone --json " + file.string());
  ASSERT_EQ(r.status, 0) << r.output;
  const auto seen = check_rows(file, 3);
  for (const char* subject : {"raw_walk", "memcpy", "situ", "map_clone"})
    for (const graph_form& form : graph_forms())
      for (const char* size : {"1e2", "1e3", "1e4"})
        EXPECT_TRUE(seen.contains({"clone_" + std::string{form.name} + "_" + size, subject}))
            << form.name << ' ' << size << ' ' << subject << '\n'
            << r.output;
  for (const char* transfer : {"message", "pull", "offload"}) {
    for (const graph_form& form : graph_forms())
      EXPECT_TRUE(seen.contains({fmt::format("ship_{}_{}_1e3", transfer, form.name), "situ"}))
          << transfer << ' ' << form.name << '\n'
          << r.output;
    EXPECT_TRUE(seen.contains({fmt::format("free_{}_dlist_1e4", transfer), "situ"})) << transfer << '\n' << r.output;
  }
  EXPECT_THAT(r.output, HasSubstr("aim <= 6 ns"));
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp")) << "left in the temporary directory";
}

TEST_F(graph_quick, refuses_what_does_not_exist) {
  EXPECT_THAT(run("--cases clone_ring").output, HasSubstr("no case 'clone_ring'"));
  EXPECT_THAT(run("--subjects cista").output, HasSubstr("no subject 'cista'"));
}

TEST_F(graph_quick, skips_an_absent_rival_with_a_word) {
  const result r = run("--quick --seconds 0.1 --cases clone_dlist_1e2 --subjects situ,boost",
                       "PATH=" + (directory_ / "nothing").string());
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("boost is skipped: no c++"));
  EXPECT_THAT(r.output, HasSubstr("clone_dlist_1e2            situ"));
}

TEST(graph_cases, are_those_of_the_agreed_form) {
  EXPECT_EQ(all_graph_cases().size(), 4u * 7u * 6u + 4u * 3u);
  for (const char* name : {"clone_dlist_1e2", "clone_dlist_shuffled_1e6", "clone_ptr_array_1e3", "clone_tree_1e5",
                           "clone_random4_1e7", "clone_flat_1e4", "clone_primitives_1e6", "ship_pull_tree_1e6",
                           "ship_offload_primitives_1e7", "free_offload_dlist_1e6"})
    EXPECT_NE(find_graph_case(name), nullptr) << name;
  EXPECT_EQ(find_graph_case("clone_dlist_2e6"), nullptr);
  EXPECT_EQ(find_graph_case("free_offload_tree_1e6"), nullptr);
  EXPECT_FALSE(measures_graph("boost", *find_graph_case("ship_message_dlist_1e2")));
  EXPECT_TRUE(measures_graph("situ", *find_graph_case("clone_dlist_1e7")));
  EXPECT_FALSE(measures_graph("boost", *find_graph_case("clone_dlist_1e7"))) << "it recurses";
  EXPECT_TRUE(measures_graph("boost", *find_graph_case("clone_tree_1e7")));
}

TEST(graph_cases, aims_are_held_against_what_was_measured) {
  const std::vector<sample> samples{{"clone_dlist_1e4", "situ", 7, 60, 1.5, 0},
                                    {"clone_dlist_shuffled_1e6", "situ", 150, 60, 120, 0},
                                    {"clone_dlist_1e3", "situ", 7, 60, 1.5, 0}};
  const std::string table = to_graph_table(summarize(samples), {"c0ffee", "a machine", "Release", ""});
  EXPECT_THAT(table, HasSubstr("aim <= 6 ns: MISSED"));
  EXPECT_THAT(table, HasSubstr("aim <= 1.5 x: met"));
  EXPECT_EQ(table.find("aim", table.find("aim <= 1.5 x") + 1), std::string::npos);
}

TEST(plan_graph, keeps_to_the_time_and_repeats_small_graphs) {
  graph_options options;
  options.cases = {"clone_dlist_1e"};
  options.seconds = 30;
  const std::vector<std::string> subjects{"situ", "boost"};
  const auto plan = plan_graph(options, subjects);
  ASSERT_EQ(plan.size(), 6u);
  double seconds = 0;
  for (const planned_graph_run& run : plan) seconds += run.seconds;
  EXPECT_NEAR(seconds, 30, 1e-9);
  EXPECT_EQ(plan[0].cases.size(), 6u);
  EXPECT_EQ(plan[1].cases.size(), 5u);
  EXPECT_EQ(plan[2].cases.size(), 4u);
}

}  // namespace
}  // namespace situ::bench
