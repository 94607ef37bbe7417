// The whole program, through `situ run`: 1 to 7 places, as processes and as threads, on an invented archive whose graph
// is known.
#include "command.h"
#include "package_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace package_rank::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> names(const archive& a, const std::vector<vertex>& vertices) {
  std::vector<std::string> result;
  for (const vertex v : vertices) result.push_back(a.names[v]);
  return result;
}

// The written files of an archive, and the arguments that read them.
struct written_archive {
  explicit written_archive(const archive& a)
      : list{folder.write("Packages", a.list)},
        status{folder.write("status", a.status)},
        automatic{folder.write("extended_states", a.automatic)} {}
  [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--input", list, "--status", status, "--auto", automatic});
    return more;
  }
  scratch_folder folder;
  std::string list, status, automatic;
};

void expect_ranks(const json& j, const archive& a) {
  const rank_result expected = reference_ranks(a.dependencies, {});
  std::vector<vertex> order(a.names.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](vertex x, vertex y) { return expected.ranks[x] > expected.ranks[y]; });
  const graph dependents = transpose(a.dependencies);
  ASSERT_TRUE(j["converged"].get<bool>());
  double sum = 0;
  for (std::size_t i = 0; i < j["top"].size(); ++i) {
    const vertex v = a.find(j["top"][i]["package"]);
    ASSERT_LT(v, a.names.size());
    const double rank = j["top"][i]["rank"];
    sum += rank;
    EXPECT_NEAR(rank, expected.ranks[v], 1e-12);
    EXPECT_NEAR(rank, expected.ranks[order[i]], 1e-12) << "in the order of the ranks";
    EXPECT_EQ(j["top"][i]["needed_by"], dependents.row(v).size());
  }
  if (j["top"].size() == a.names.size()) {
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
}

void expect_traffic(const json& j, unsigned places) {
  ASSERT_EQ(j["traffic"]["bytes"].size(), places);
  std::uint64_t bytes = 0, messages = 0, bytes_of_phases = 0, messages_of_phases = 0;
  for (unsigned from = 0; from < places; ++from) {
    for (unsigned to = 0; to < places; ++to) {
      bytes += j["traffic"]["bytes"][from][to].get<std::uint64_t>();
      messages += j["traffic"]["messages"][from][to].get<std::uint64_t>();
      // Every place's part, at least, comes from place 0.
      if (from == 0 && to != 0) {
        EXPECT_GT(j["traffic"]["bytes"][from][to], 0);
      }
    }
    EXPECT_EQ(j["traffic"]["bytes"][from][from], 0);
    EXPECT_EQ(j["traffic"]["messages"][from][from], 0);
  }
  for (const json& phase : j["phases"]) {
    bytes_of_phases += phase.value("bytes", std::uint64_t{0});
    messages_of_phases += phase.value("messages", std::uint64_t{0});
  }
  EXPECT_EQ(bytes, bytes_of_phases);
  EXPECT_EQ(messages, messages_of_phases);
  EXPECT_EQ(messages == 0, places == 1);
}

class PackageRankRun : public testing::TestWithParam<std::tuple<unsigned, bool>> {};

TEST_P(PackageRankRun, AgreesWithTheGraphThatWasNeverParsed) {
  const auto [places, in_process] = GetParam();
  const archive a = make_archive(1000 + places, 600);
  const written_archive files{a};
  std::vector<std::string> arguments{"--json", "--top", "600"};
  std::vector<vertex> targets;
  for (vertex v = 7; v < 600; v += 61) targets.push_back(v);
  for (const vertex v : targets) arguments.insert(arguments.end(), {"--why", a.names[v]});
  const command_result result = situ_run(places, in_process, "package_rank", files.arguments(arguments));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());

  const json j = json::parse(result.out);
  EXPECT_EQ(j["packages"], 600);
  EXPECT_EQ(j["edges"], a.dependencies.edge_count());
  EXPECT_TRUE(j["check"]["passed"].get<bool>());
  ASSERT_EQ(j["top"].size(), 600u);
  expect_ranks(j, a);
  expect_traffic(j, places);

  const graph dependents = transpose(a.dependencies);
  ASSERT_EQ(j["why"].size(), targets.size());
  std::size_t found = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::vector<vertex> chain = reference_chain(dependents, a.marks, targets[i]);
    EXPECT_EQ(j["why"][i]["chain"].get<std::vector<std::string>>(), names(a, chain));
    EXPECT_EQ(j["why"][i]["installed"], (a.marks[targets[i]] & usable) != 0);
    EXPECT_EQ(j["why"][i]["root"], (a.marks[targets[i]] & root) != 0);
    found += !chain.empty();
  }
  EXPECT_GT(found, 2u) << "the archive is too empty to tell anything";

  std::uint64_t packages = 0, edges = 0;
  ASSERT_EQ(j["places"].size(), places);
  for (const json& part : j["places"]) {
    packages += part["packages"].get<std::uint64_t>();
    edges += part["edges"].get<std::uint64_t>();
  }
  EXPECT_EQ(packages, 600u);
  EXPECT_EQ(edges, a.dependencies.edge_count());
}

INSTANTIATE_TEST_SUITE_P(, PackageRankRun, testing::Combine(testing::Values(1, 2, 4, 7), testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "threads" : "processes");
                         });

TEST(PackageRank, MorePlacesThanPackages) {
  const archive a = make_archive(5, 3);
  const written_archive files{a};
  for (const bool in_process : {false, true}) {
    const command_result result =
        situ_run(7, in_process, "package_rank", files.arguments({"--json", "--why", a.names[1]}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json j = json::parse(result.out);
    EXPECT_TRUE(j["check"]["passed"].get<bool>());
    ASSERT_EQ(j["top"].size(), 3u);
    expect_ranks(j, a);
  }
}

TEST(PackageRank, TheSameBitsEveryTime) {
  const written_archive files{make_archive(77, 400)};
  std::vector<std::string> tops;
  for (int round = 0; round < 3; ++round) {
    const command_result result = situ_run(4, round == 1, "package_rank", files.arguments({"--json", "--top", "400"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json j = json::parse(result.out);
    tops.push_back(j["top"].dump() + j["why"].dump() + j["traffic"].dump());
  }
  EXPECT_EQ(tops[0], tops[1]);
  EXPECT_EQ(tops[0], tops[2]);
}

// A hub with so many dependents that its owner fills several messages for every other place.
TEST(PackageRank, AFrontierOfManyMessages) {
  const scratch_folder folder;
  std::string text = "Package: a-hub\n\n";
  for (int i = 0; i < 20000; ++i) text += "Package: p" + std::to_string(100000 + i) + "\nDepends: a-hub\n\n";
  const std::string list = folder.write("Packages", text);
  for (const bool in_process : {false, true}) {
    const command_result result = situ_run(
        4, in_process, "package_rank",
        {"--input", list, "--root", "p119999", "--root", "p112345", "--why", "a-hub", "--iterations", "3", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json j = json::parse(result.out);
    EXPECT_TRUE(j["check"]["passed"].get<bool>());
    EXPECT_THAT(j["why"][0]["chain"], testing::ElementsAre("p112345", "a-hub"));
    EXPECT_EQ(j["top"][0]["needed_by"], 20000);
    // The steps to the dependents, of eight bytes each, all start at place 0.
    const std::uint64_t elsewhere = 20001 - j["places"][0]["packages"].get<std::uint64_t>();
    EXPECT_GE(j["phases"].back()["bytes"], 8 * elsewhere);
    EXPECT_GE(j["phases"].back()["messages"], 8 * elsewhere / 4096);
  }
}

TEST(PackageRank, ExplainsFromRoots) {
  const scratch_folder folder;
  const std::string list = folder.write("Packages",
                                        "Package: app\nDepends: lib | other\n\nPackage: lib\nDepends: base\n\nPackage: "
                                        "base\n\nPackage: other\n\nPackage: alone\n");
  const command_result result =
      situ_run(2, false, "package_rank",
               {"--input", list, "--root", "app", "--why", "base", "--why", "alone", "--why", "app", "--top", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Why is base installed?\n  app  (root)\n  └ needs lib\n    └ needs base\n"));
  EXPECT_THAT(result.out, HasSubstr("Why is alone installed?\n  No root needs it.\n"));
  EXPECT_THAT(result.out, HasSubstr("Why is app installed?\n  It is a root itself.\n"));
  EXPECT_THAT(result.out, HasSubstr("Top 2 by PageRank"));
  EXPECT_THAT(result.out, HasSubstr("Check: passed."));
}

TEST(PackageRank, TextForWhatIsInstalled) {
  const scratch_folder folder;
  const std::string list =
      folder.write("Packages", "Package: app\nDepends: lib\n\nPackage: lib\n\nPackage: gone\n\nPackage: left\n");
  const std::string status =
      folder.write("status",
                   "Package: app\nStatus: install ok installed\n\nPackage: lib\nStatus: install ok installed\n\n"
                   "Package: left\nStatus: install ok installed\n\nPackage: local\nStatus: install ok installed\n");
  const std::string automatic =
      folder.write("auto", "Package: lib\nAuto-Installed: 1\n\nPackage: left\nAuto-Installed: 1\n");
  const command_result result = situ_run(3, false, "package_rank",
                                         {"--input", list, "--status", status, "--auto", automatic, "--why", "lib",
                                          "--why", "app", "--why", "gone", "--why", "left"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("4 packages are installed here, 1 of them asked for or essential; 1 not in the list"));
  EXPECT_THAT(result.out, HasSubstr("Why is lib installed?\n  app  (asked for, or essential)\n  └ needs lib\n"));
  EXPECT_THAT(result.out, HasSubstr("Why is app installed?\n  It was asked for, or is essential.\n"));
  EXPECT_THAT(result.out, HasSubstr("Why is gone installed?\n  It is not.\n"));
  EXPECT_THAT(result.out,
              HasSubstr("Why is left installed?\n  No installed package that was asked for needs it any more.\n"));
}

TEST(PackageRank, ReadsStandardInputAtPlaceZero) {
  const archive a = make_archive(9, 50);
  const written_archive files{a};
  const command_result result = situ_run(
      3, false, "package_rank",
      {"--input", "-", "--status", files.status, "--auto", files.automatic, "--json", "--top", "50"}, {}, files.list);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_ranks(json::parse(result.out), a);
}

TEST(PackageRank, NoRecommendsLeavesThemOut) {
  const scratch_folder folder;
  const std::string list =
      folder.write("Packages", "Package: a\nDepends: b\nRecommends: c\n\nPackage: b\n\nPackage: c\n");
  for (const auto& [flag, edges] : {std::pair{"--recommends", 2}, std::pair{"--no-recommends", 1}}) {
    const command_result result = situ_run(1, false, "package_rank", {"--input", list, "--root", "a", "--json", flag});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["edges"], edges);
  }
}

TEST(PackageRank, StopsAtItsLimitOfIterations) {
  const written_archive files{make_archive(3, 60)};
  const command_result result = situ_run(2, false, "package_rank", files.arguments({"--json", "--iterations", "3"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json j = json::parse(result.out);
  EXPECT_EQ(j["iterations"], 3);
  EXPECT_FALSE(j["converged"].get<bool>());
  EXPECT_TRUE(j["check"]["passed"].get<bool>());
}

// A stand-in for apt-cache, so that the test does not depend on the machine's lists.
TEST(PackageRank, ReadsAptCache) {
  const archive a = make_archive(21, 80);
  const written_archive files{a};
  (void)files.folder.write("apt-cache", "#!/bin/sh\n[ \"$1\" = dumpavail ] && exec /bin/cat " + files.list + "\n",
                           true);
  const command_result result =
      situ_run(4, false, "package_rank", {"--status", files.status, "--auto", files.automatic, "--json", "--top", "80"},
               {"PATH=" + files.folder.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json j = json::parse(result.out);
  EXPECT_EQ(j["source"], "apt-cache dumpavail");
  expect_ranks(j, a);
}

// What the user gets wrong, or the machine lacks: one clear line, from one place, and every place ends with the same
// code.
struct fault {
  const char* name;
  std::vector<std::string> arguments;
  const char* message;
  const char* apt_cache = "#!/bin/sh\nexit 0\n";
  const char* list = "Package: a\nDepends: b\n\nPackage: b\n";
};

class PackageRankFault : public testing::TestWithParam<fault> {};

TEST_P(PackageRankFault, IsOneClearError) {
  const fault& f = GetParam();
  const scratch_folder folder;
  const std::string list = folder.write("Packages", f.list);
  if (f.apt_cache != nullptr) (void)folder.write("apt-cache", f.apt_cache, true);
  std::vector<std::string> arguments = f.arguments;
  for (std::string& argument : arguments)
    if (argument == "LIST") argument = list;
  for (const bool in_process : {false, true}) {
    const command_result result = situ_run(3, in_process, "package_rank", arguments, {"PATH=" + folder.path()});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_LT(result.exit_code, 128);
    EXPECT_THAT(result.out, Not(HasSubstr("Top")));
    const std::size_t first = result.err.find(f.message);
    ASSERT_NE(first, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find(f.message, first + 1), std::string::npos) << "said twice:\n" << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("lost")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , PackageRankFault,
    testing::Values(
        fault{"no_such_file",
              {"--input", "/nonexistent/Packages"},
              "cannot open /nonexistent/Packages: No such file or directory"},
        fault{"a_folder", {"--input", "/"}, "/: cannot be read: Is a directory"},
        fault{"empty", {"--input", "LIST"}, "holds no package", "", ""},
        fault{"malformed",
              {"--input", "LIST"},
              "line 2: neither a field nor a continuation",
              "",
              "Package: a\nwhat is this\n"},
        fault{"bad_relation",
              {"--input", "LIST"},
              "(package a), field depends: expected a comparison and a version",
              "",
              "Package: a\nDepends: b (2)\n"},
        fault{"unknown_why", {"--input", "LIST", "--root", "a", "--why", "zzz"}, "--why zzz: no package of this name"},
        fault{"unknown_root", {"--input", "LIST", "--root", "zzz"}, "--root zzz: no package of this name"},
        fault{"no_status", {"--input", "LIST", "--status", "/nonexistent/status"}, "cannot open /nonexistent/status"},
        fault{"no_apt_lists", {}, "run `apt-get update`, or pass a saved list with --input FILE"},
        fault{"installed_only",
              {},
              "run `apt-get update`",
              "#!/bin/sh\necho 'Package: a\nStatus: install ok installed\n'\n"},
        fault{"apt_fails", {}, "`apt-cache dumpavail` failed", "#!/bin/sh\nexit 100\n"},
        fault{"no_apt", {}, "there is no apt-cache on this machine", nullptr},
        fault{"bad_option", {"--nonsense"}, "--nonsense"}, fault{"bad_damping", {"--damping", "1.5"}, "--damping"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace package_rank::test
