// The whole program, through `situ run`: each transfer on 1, 2 and 4 places, as processes and as threads.
#include "command.h"
#include "package_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "support/build_paths.h"

namespace json_ship {
namespace {

using nlohmann::ordered_json;
using package_rank::test::command_result;
using package_rank::test::scratch_folder;
using package_rank::test::situ_run;
using testing::HasSubstr;
using testing::Not;

// The description of CMake's presets, which Debian's cmake-data installs: 80 KB of nested objects. Empty where it is
// not there.
std::string installed_document() {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/usr/share", ignored}) {
    const std::filesystem::path file = entry.path() / "Help/manual/presets/schema.json";
    if (entry.path().filename().string().starts_with("cmake-") && std::filesystem::exists(file, ignored))
      return file.string();
  }
  return {};
}

// An apt-cache that lists an invented archive.
class invented_packages {
 public:
  invented_packages() : archive_{package_rank::test::make_archive(5, 400)} {
    const std::string list = folder_.write("Packages", archive_.list);
    (void)folder_.write("apt-cache", "#!/bin/sh\n[ \"$1\" = dumpavail ] && exec /bin/cat " + list + "\n", true);
  }
  [[nodiscard]] std::string path() const { return "PATH=" + folder_.path(); }
  [[nodiscard]] const package_rank::test::archive& archive() const { return archive_; }

 private:
  scratch_folder folder_;
  package_rank::test::archive archive_;
};

std::string contents_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

class JsonShip : public testing::TestWithParam<std::tuple<unsigned, bool, const char*>> {
 protected:
  // Runs the program on a document and checks its figures and what it wrote against `text`.
  void ship(const std::string& document, const std::vector<std::string>& environment, std::string text) {
    const auto [places, in_process, transfer] = GetParam();
    const scratch_folder folder;
    const std::string out = folder.path() + "/out.json";
    const std::string figures = folder.path() + "/figures.json";
    const unsigned to = places - 1;
    std::vector<std::string> arguments{"--transfer", transfer, "--to",  std::to_string(to), "--out",
                                       out,          "--json", figures, "--repeat",         "2"};
    if (!document.empty()) arguments.push_back(document);
    const command_result result = situ_run(places, in_process, "json_ship", arguments, environment);
    ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("the rest is as it was"));
    const ordered_json written = ordered_json::parse(contents_of(out));
    if (text.empty()) {
      check_generated(written);
    } else {
      EXPECT_TRUE(written == ordered_json::parse(text)) << "what came back is not what was read";
    }

    const ordered_json j = ordered_json::parse(contents_of(figures));
    EXPECT_EQ(j["passed"], true);
    EXPECT_EQ(j["places"], places);
    EXPECT_EQ(j["destination"], to);
    ASSERT_EQ(j["journeys"].size(), 1U);
    const ordered_json& journey = j["journeys"][0];
    const std::string there_by = journey["there_by"];
    if (places == 1) {
      EXPECT_EQ(there_by, "copy here");
    } else if (std::string{transfer} != "auto") {
      EXPECT_EQ(there_by, transfer);
    }
    EXPECT_EQ(journey["back_by"], there_by);
    EXPECT_EQ(journey["stamps"], j["document"]["records"]);
    EXPECT_EQ(journey["difference"], "");
    const std::uint64_t values = j["document"]["records"].get<std::uint64_t>() +
                                 j["document"]["lists"].get<std::uint64_t>() +
                                 j["document"]["texts"].get<std::uint64_t>();
    EXPECT_GT(journey["objects_there"].get<std::uint64_t>(), values);
    for (const char* const time : {"there_ns", "change_ns", "back_ns", "undo_ns", "compare_ns"})
      EXPECT_GT(journey[time].get<double>(), 0) << time;
  }

  void check_generated(const ordered_json& written) {
    const package_rank::test::archive& a = packages.archive();
    const package_rank::graph dependents = package_rank::transpose(a.dependencies);
    ASSERT_EQ(written["packages"].size(), a.names.size());
    for (package_rank::vertex v = 0; v < a.names.size(); ++v) {
      const ordered_json& each = written["packages"][v];
      EXPECT_EQ(each["name"], a.names[v]);
      std::vector<std::string> needs;
      for (const package_rank::vertex target : a.dependencies.row(v)) needs.push_back(a.names[target]);
      EXPECT_EQ(each["needs"], ordered_json(needs));
      EXPECT_EQ(each["needed_by"], dependents.row(v).size());
      EXPECT_TRUE(each["rank"].is_number_float());
      EXPECT_EQ(each["first_dependent"].is_null(), dependents.row(v).empty());
    }
  }

  invented_packages packages;
};

TEST_P(JsonShip, CarriesADocumentThatAPackageInstalls) {
  const std::string document = installed_document();
  if (document.empty()) GTEST_SKIP() << "cmake-data is not installed";
  ship(document, {}, contents_of(document));
}

TEST_P(JsonShip, CarriesThePackageList) { ship("", {packages.path()}, ""); }

TEST_P(JsonShip, CarriesDocumentsOfOneValueAndOfAHundredThousandLevels) {
  const scratch_folder folder;
  for (const std::string& text :
       {std::string{"null"}, std::string{"[]"}, std::string(100'000, '[') + std::string(100'000, ']')}) {
    const auto [places, in_process, transfer] = GetParam();
    const std::string out = folder.path() + "/out.json";
    const command_result result =
        situ_run(places, in_process, "json_ship",
                 {"--transfer", transfer, "--repeat", "1", "--out", out, folder.write("in.json", text)});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contents_of(out) == text + "\n");
  }
}

INSTANTIATE_TEST_SUITE_P(ways, JsonShip,
                         testing::Combine(testing::Values(1U, 2U, 4U), testing::Bool(),
                                          testing::Values("auto", "message", "pull", "offload")),
                         [](const auto& info) {
                           return std::string{std::get<1>(info.param) ? "threads_" : "processes_"} +
                                  std::to_string(std::get<0>(info.param)) + "_" + std::get<2>(info.param);
                         });

TEST(JsonShipRun, TakesEachTransferInTurn) {
  const scratch_folder folder;
  const command_result result =
      situ_run(2, false, "json_ship",
               {"--transfer", "all", "--json", "-", folder.write("in.json", R"({"a": [1, {"b": "c"}]})")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ordered_json j = ordered_json::parse(result.out);
  ASSERT_EQ(j["journeys"].size(), 4U);
  const char* const by[] = {"message", "message", "pull", "offload"};  // automatic: what fits a message goes as one
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(j["journeys"][i]["there_by"], by[i]);
  EXPECT_EQ(j["journeys"][3]["stamps"], 2);
}

TEST(JsonShipRun, ReadsStandardInput) {
  const scratch_folder folder;
  const command_result result =
      situ_run(1, false, "json_ship", {"-", "--json", "-"}, {}, folder.write("in.json", "[1, 2, 3]"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(ordered_json::parse(result.out)["document"]["integers"], 3);
}

// No function of the way recurses or keeps much on its stack.
TEST(JsonShipRun, NeedsLittleStack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more stack themselves";
#endif
  const scratch_folder folder;
  const std::string file = folder.write("deep.json", std::string(100'000, '[') + std::string(100'000, ']'));
  const std::string bin = SITU_TEST_BIN_DIR;
  const command_result result = package_rank::test::run_command(
      {"/bin/sh", "-c", "ulimit -s 64 && exec " + bin + "/json_ship --repeat 1 " + file});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

struct fault {
  const char* name;
  std::vector<std::string> arguments;
  const char* message;
  const char* document = "[1]";
  const char* apt_cache = "exit 0";
};

void PrintTo(const fault& f, std::ostream* out) { *out << f.name; }

class JsonShipFault : public testing::TestWithParam<fault> {};

TEST_P(JsonShipFault, IsOneClearError) {
  const fault& f = GetParam();
  const scratch_folder folder;
  const std::string document = folder.write("in.json", f.document);
  if (f.apt_cache != nullptr) (void)folder.write("apt-cache", std::string{"#!/bin/sh\n"} + f.apt_cache + "\n", true);
  std::vector<std::string> arguments = f.arguments;
  for (std::string& argument : arguments)
    if (argument == "DOCUMENT") argument = document;
  for (const bool in_process : {false, true}) {
    const command_result result = situ_run(3, in_process, "json_ship", arguments, {"PATH=" + folder.path()});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_LT(result.exit_code, 128);
    EXPECT_EQ(result.out, "");
    const std::size_t first = result.err.find(f.message);
    ASSERT_NE(first, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find(f.message, first + 1), std::string::npos) << "said twice:\n" << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("lost")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , JsonShipFault,
    testing::Values(
        fault{"no_such_file", {"/nonexistent/a.json"}, "cannot open /nonexistent/a.json: No such file or directory"},
        fault{"a_folder", {"/"}, "cannot read /: Is a directory"},
        fault{"malformed",
              {"DOCUMENT"},
              "in.json: line 2, column 9 (byte 11): syntax error while parsing object",
              "{\n\"a\":1 \"b\":2}"},
        fault{"not_a_number",
              {"DOCUMENT"},
              "line 1, column 2 (byte 2): syntax error while parsing value - invalid literal",
              "[NaN]"},
        fault{"huge_number", {"DOCUMENT"}, "line 1, column 7 (byte 7): number overflow parsing '1e9999'", "[1e9999]"},
        fault{"too_deep",
              {"DOCUMENT", "--max-depth", "3"},
              "line 1, column 4 (byte 4): nested deeper than 3 levels; a larger --max-depth allows it",
              "[[[[]]]]"},
        fault{"no_such_place", {"DOCUMENT", "--to", "3"}, "there are 3 places, numbered from 0"},
        fault{"bad_transfer", {"DOCUMENT", "--transfer", "pigeon"}, "pigeon"},
        fault{"unwritable", {"DOCUMENT", "--out", "/nonexistent/out"}, "cannot write /nonexistent/out"},
        fault{"no_apt_lists", {}, "run `apt-get update`"},
        fault{"no_apt", {}, "there is no apt-cache on this machine", "", nullptr}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace json_ship
