// `situ model compare`, on reports that are written here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

using nlohmann::json;
using situ::test::shell_result;

class compare_command : public testing::Test {
 protected:
  compare_command() : path_{testing::TempDir() + "situ_compare_" + std::to_string(::getpid())} {
    std::filesystem::create_directory(path_);
  }
  ~compare_command() override { std::filesystem::remove_all(path_); }

  std::string write_text(const std::string& name, const std::string& text) {
    const std::string file = path_ + "/" + name;
    std::ofstream{file} << text;
    return file;
  }
  std::string write(const std::string& name, const json& report) { return write_text(name, report.dump()); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  static shell_result compare(const std::string& arguments) {
    return situ::test::run_shell(SITU_TEST_BIN_DIR "/situ model compare " + arguments + " 2>&1");
  }

 private:
  std::string path_;
};

json counts(std::uint64_t ps, std::uint64_t reads, std::uint64_t writes, std::uint64_t misses) {
  // Two cores, with one half each.
  const json core{{"reads", reads / 2}, {"writes", writes / 2}, {"to_machine", misses / 2}};
  return {{"modelled_ps", ps}, {"cores", {core, core}}};
}
json region(const std::string& name, json figures) {
  figures["name"] = name;
  return figures;
}
json function(const std::string& name, std::uint64_t ps, std::uint64_t in_machine, std::uint64_t misses) {
  return {{"function", name}, {"ps", ps}, {"in_machine_ps", in_machine}, {"accesses", misses}};
}
json report(const std::string& machine, const json& whole, const json& regions) {
  json made = whole;
  made["machine"] = machine;
  made["exit_code"] = 0;
  made["is_complete"] = true;
  made["regions"] = regions;
  return made;
}

json before() {
  json made = report("A", counts(4'000'000, 200, 100, 40),
                     {region("load", counts(1'000'000, 20, 10, 4)), region("compute", counts(2'000'000, 100, 50, 0))});
  made["profile"] = {function("f", 3'000'000, 1'000'000, 30), function("g", 900'000, 0, 10),
                     function("gone", 100'000, 0, 0)};
  return made;
}
json after() {
  json made = report("B", counts(2'000'000, 100, 100, 60),
                     {region("compute", counts(3'000'000, 100, 26, 8)), region("store", counts(500'000, 2, 4, 6))});
  made["profile"] = {function("f", 1'000'000, 2'000'000, 60), function("g", 1'800'000, 0, 10),
                     function("new", 200'000, 100'000, 2)};
  return made;
}

TEST_F(compare_command, regions_and_functions_stand_side_by_side) {
  const shell_result done =
      compare(write("a.json", before()) + " " + write("b.json", after()) + " --json " + file("c.json"));
  ASSERT_EQ(done.exit_code, 0) << done.text;
  std::ifstream stream{file("c.json")};
  const json made = json::parse(stream);
  EXPECT_EQ(made["first"]["machine"], "A");
  EXPECT_EQ(made["second"]["machine"], "B");
  EXPECT_EQ(made["whole"]["ps"], json({{"first", 4'000'000}, {"second", 2'000'000}, {"ratio", 0.5}}));
  EXPECT_EQ(made["whole"]["reads"]["ratio"], 0.5);
  EXPECT_EQ(made["whole"]["writes"]["ratio"], 1.0);
  EXPECT_EQ(made["whole"]["misses"], json({{"first", 40}, {"second", 60}, {"ratio", 1.5}}));
  ASSERT_EQ(made["regions"].size(), 3U);  // those of the first report, then what only the second has
  EXPECT_EQ(made["regions"][0]["name"], "load");
  EXPECT_EQ(made["regions"][0]["ps"], json({{"first", 1'000'000}, {"second", nullptr}, {"ratio", nullptr}}));
  EXPECT_EQ(made["regions"][1]["name"], "compute");
  EXPECT_EQ(made["regions"][1]["ps"]["ratio"], 1.5);
  EXPECT_EQ(made["regions"][1]["misses"], json({{"first", 0}, {"second", 8}, {"ratio", nullptr}}));
  EXPECT_EQ(made["regions"][2]["name"], "store");
  EXPECT_EQ(made["regions"][2]["writes"], json({{"first", nullptr}, {"second", 4}, {"ratio", nullptr}}));
  ASSERT_EQ(made["functions"].size(), 4U);  // the largest difference of time first
  EXPECT_EQ(made["functions"][0]["function"], "f");
  EXPECT_EQ(made["functions"][0]["in_machine_ps"]["ratio"], 2.0);
  EXPECT_EQ(made["functions"][1]["function"], "g");
  EXPECT_EQ(made["functions"][1]["ps"]["ratio"], 2.0);
  EXPECT_EQ(made["functions"][2]["function"], "new");
  EXPECT_EQ(made["functions"][3]["function"], "gone");
}

TEST_F(compare_command, the_table_has_what_the_json_has) {
  const shell_result done = compare(write("a.json", before()) + " " + write("b.json", after()));
  ASSERT_EQ(done.exit_code, 0) << done.text;
  const auto expect = [&](const std::string& text) { EXPECT_NE(done.text.find(text), std::string::npos) << done.text; };
  expect("first : " + file("a.json") + ", on A\n");
  expect(
      "region compute\n"
      "  time ns                       2000                3000     1.500\n"
      "  reads                          100                 100     1.000\n"
      "  writes                          50                  26     0.520\n"
      "  misses                           0                   8         -\n"
      "region store\n"
      "  time ns                          -                 500         -\n");
  expect(
      "function f\n"
      "  time ns                       3000                1000     0.333\n"
      "  in machine ns                 1000                2000     2.000\n"
      "  misses                          30                  60     2.000\n");
}

TEST_F(compare_command, what_a_report_lacks_is_said) {
  json short_run = after();
  short_run.erase("profile");
  short_run["is_complete"] = false;
  short_run["exit_code"] = 3;
  const shell_result done = compare(write("a.json", before()) + " " + write("b.json", short_run));
  ASSERT_EQ(done.exit_code, 0) << done.text;
  EXPECT_NE(done.text.find("on B, not complete, exit code 3\n"), std::string::npos) << done.text;
  EXPECT_NE(done.text.find("no functions: one run was without --profile\n"), std::string::npos) << done.text;
}

TEST_F(compare_command, refuses_what_is_no_report) {
  const std::string good = write("a.json", before());
  json headless = before();
  headless.erase("regions");
  json bent = before();
  bent["cores"][0]["reads"] = "many";
  struct wrong {
    std::string file;
    const char* message;
  };
  for (const wrong& each :
       {wrong{write_text("text.json", "no JSON"), "text.json: is no report"},
        wrong{write_text("list.json", "[1]"), "list.json: is no report"},
        wrong{write_text("empty.json", ""), "empty.json: is no report"},
        wrong{write("other.json", json{{"parts", 1}}), "other.json: is no report of a modelled run"},
        wrong{write("headless.json", headless), "headless.json: is no report of a modelled run"},
        wrong{write("bent.json", bent), "bent.json: is no report of a modelled run"},
        wrong{write("sweep.json", json{{"runs", json::array()}}), "has the reports of a sweep"},
        wrong{file("nowhere.json"), "nowhere.json: cannot be read"}}) {
    for (const std::string& arguments : {each.file + " " + good, good + " " + each.file}) {
      const shell_result done = compare(arguments + " --json " + file("c.json"));
      EXPECT_EQ(done.exit_code, 1) << done.text;
      EXPECT_NE(done.text.find(each.message), std::string::npos) << done.text;
      EXPECT_FALSE(std::filesystem::exists(file("c.json")));
    }
  }
}

}  // namespace
