// `situ study` as a command.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

using ended = situ::test::shell_result;

ended run(const std::string& arguments) { return situ::test::run_shell(SITU_TEST_BIN_DIR "/situ study " + arguments); }

class folder {
 public:
  folder() : path_{testing::TempDir() + "situ_study_" + std::to_string(::getpid())} {
    std::filesystem::create_directory(path_);
  }
  ~folder() { std::filesystem::remove_all(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(std::filesystem::directory_iterator{path_}, std::filesystem::directory_iterator{});
  }

 private:
  std::string path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

// The row of how much faster the modelled reads are than the library's, of which the paper has 2.4 x: it is what the
// part's own curve says, its deviation is from the paper's figure, and it says so when it misses. It may come nearer to
// the paper; it is not below what it has been, and not above what its remark says is possible.
void expect_honest_read_ratio(const nlohmann::json& part) {
  const auto& row = part["rows"][1];
  ASSERT_EQ(row["figure"], "read beside the library, at best");
  EXPECT_EQ(row["from"], "predicted");
  EXPECT_EQ(row["paper"], 2.4);
  EXPECT_EQ(row["remark"], "what two overlap cannot be more than 2 x");
  const double ours = row["ours"].get<double>();
  double best = 0;
  for (const auto& line : part["grids"][0]["lines"]) best = std::max(best, std::stod(line[6].get<std::string>()));
  EXPECT_NEAR(ours, best, 0.006) << "the best of the curve, whose cells have two decimals";
  EXPECT_NEAR(row["deviation_percent"].get<double>(), (ours - 2.4) / 2.4 * 100, 0.01);
  EXPECT_GE(ours, 1.18);
  EXPECT_LE(ours, 2);
}

TEST(study_command, lists_studies) {
  const ended list = run("list");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.text.rfind("nemesys ", 0), 0U) << list.text;
  EXPECT_NE(list.text.find("\nhost "), std::string::npos) << list.text;
  EXPECT_NE(list.text.find("\nnemesys-fitted "), std::string::npos) << list.text;
}

// The table of what the machine's file assumes needs no run of a kernel.
TEST(study_command, what_the_machine_assumes_is_shown) {
  const ended done = run("run nemesys --only assumed");
  EXPECT_EQ(done.exit_code, 0) << done.text;
  for (const char* const each : {"ddr.occupancy", "80 ns to 260 ns", "adapter.entries", "1 to 5"})
    EXPECT_NE(done.text.find(each), std::string::npos) << done.text;
}

TEST(study_command, remote_memory_is_measured_and_simulated) {
  const folder files;
  const ended done = run("run rmem --quick --json " + files.file("rmem.json"));
  ASSERT_EQ(done.exit_code, 0) << done.text;
  const auto parts = nlohmann::json::parse(text_of(files.file("rmem.json")))["parts"];
  ASSERT_EQ(parts.size(), 6U);
  const auto cells_of = [&](std::size_t part) { return parts[part]["grids"][0]["lines"]; };
  ASSERT_EQ(cells_of(0).size(), 25U);
  for (const auto& line : cells_of(0))  // touches, local, the optimum, four policies
    for (std::size_t i = 3; i < 7; ++i)
      EXPECT_LE(std::stod(line[i].get<std::string>()), std::stod(line[2].get<std::string>())) << line;
  for (const std::size_t timed : {2U, 3U, 4U})
    for (const auto& line : cells_of(timed))
      for (std::size_t i = timed == 2 ? 2 : 1; i < line.size(); ++i)
        EXPECT_GT(std::stod(line[i].get<std::string>()), 0) << line;
  EXPECT_EQ(cells_of(3).size(), 12U);
  EXPECT_EQ(cells_of(4).size(), 5U);
  // Modelled: the same everywhere.
  EXPECT_EQ(cells_of(5).size(), 12U);
  EXPECT_EQ(parts[5]["rows"].size(), 6U);
  for (const auto& row : parts[5]["rows"]) {
    if (row["from"] == "calibrated") {
      EXPECT_LT(std::abs(row["deviation_percent"].get<double>()), 2) << row;
    }
  }
  expect_honest_read_ratio(parts[5]);
}

// Counts are those of the published programs, and numbers are right on all designs.
TEST(study_command, memories_that_compute_are_counted_and_right) {
  const folder files;
  const ended done = run("run pim --quick --json " + files.file("pim.json"));
  ASSERT_EQ(done.exit_code, 0) << done.text;
  const auto parts = nlohmann::json::parse(text_of(files.file("pim.json")))["parts"];
  ASSERT_EQ(parts.size(), 6U);
  ASSERT_EQ(parts[0]["rows"].size(), 12U);
  for (const auto& row : parts[0]["rows"]) EXPECT_EQ(row["ours"], row["paper"]) << row;
  for (const auto& row : parts[1]["rows"]) EXPECT_LT(std::abs(row["deviation_percent"].get<double>()), 0.5) << row;
  for (const std::size_t part : {2U, 4U})
    for (const auto& line : parts[part]["grids"][0]["lines"]) EXPECT_EQ(line.back(), "4 of 4 right") << line;
  EXPECT_EQ(parts[2]["grids"][0]["lines"].size(), 8U);
  EXPECT_EQ(parts[3]["grids"][0]["lines"].size(), 4U);
  EXPECT_EQ(parts[4]["grids"][0]["lines"].size(), 5U);
  if (!std::filesystem::exists(SITU_TEST_BIN_DIR "/situ_bench_pim_allocators")) {
    ASSERT_EQ(parts[5]["missing"].size(), 1U);
    return;
  }
  EXPECT_EQ(parts[5]["rows"].size(), 6U);
  EXPECT_EQ(parts[5]["grids"][0]["lines"].size(), 11U);
}

TEST(study_command, writes_a_table_a_page_and_figures) {
  const folder files;
  const ended study =
      run("run nemesys --quick --only figure8 --html " + files.file("n.html") + " --json " + files.file("n.json"));
  EXPECT_EQ(study.exit_code, 0) << study.text;
  EXPECT_NE(study.text.find("(c) hashing, an element from 64 on"), std::string::npos) << study.text;
  const auto json = nlohmann::json::parse(text_of(files.file("n.json")));
  EXPECT_EQ(json["study"], "nemesys");
  EXPECT_FALSE(json["was_stopped"]);
  const std::string html = text_of(files.file("n.html"));
  std::size_t plots = 0;
  for (std::size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at + 1)) ++plots;
  EXPECT_EQ(plots, 4U);
}

// A study that does not come to its end leaves the last one's page, and nothing beside it.
TEST(study_command, keeps_an_old_report_until_a_new_one_is_whole) {
  const folder files;
  std::ofstream{files.file("n.html")} << "the last one";
  const ended failed =
      run("run nemesys --quick --only figure8 --html " + files.file("n.html") + " --json /nowhere/at/all.json");
  EXPECT_NE(failed.exit_code, 0);
  EXPECT_EQ(text_of(files.file("n.html")), "the last one");
  EXPECT_EQ(files.count(), 1);
  const ended good = run("run nemesys --quick --only figure8 --html " + files.file("n.html"));
  EXPECT_EQ(good.exit_code, 0) << good.text;
  EXPECT_NE(text_of(files.file("n.html")).find("<svg"), std::string::npos);
  EXPECT_EQ(files.count(), 1);
}

TEST(study_command, says_what_is_wrong) {
  const ended unknown = run("run nemesis");
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_NE(unknown.text.find("there is no study nemesis: there is nemesys"), std::string::npos) << unknown.text;
  const ended part = run("run nemesys --quick --only figure7");
  EXPECT_NE(part.exit_code, 0);
  EXPECT_NE(part.text.find("has no part figure7: there is figure8, table5"), std::string::npos) << part.text;
  const ended unwritable = run("run nemesys --quick --only figure8 --json /nowhere/at/all.json");
  EXPECT_NE(unwritable.exit_code, 0);
  EXPECT_NE(unwritable.text.find("/nowhere/at/all.json cannot be written"), std::string::npos) << unwritable.text;
}

// As in an install, which has the command and not all programs that a study starts.
TEST(study_command, says_in_one_line_which_programs_it_lacks) {
  const folder files;
  const std::string command = files.file("situ-study");
  std::filesystem::copy_file(SITU_TEST_BIN_DIR "/situ-study", command);
  const std::string table5 = command + " run nemesys --quick --only table5";
  const ended lacking = situ::test::run_shell(table5);
  const std::string line =
      "situ: the study nemesys lacks programs: situ and imsuite are not in " + files.path() + " or " +
      std::filesystem::path{files.path()}.parent_path().string() +
      "/libexec/situ: in Situ's sources run `cmake --build build/release --target situ-study situ-model situ imsuite`, "
      "then `build/release/bin/situ study`\n";
  EXPECT_EQ(lacking.text.rfind(line, 0), 0U) << lacking.text;

  for (const char* const name : {"situ", "imsuite"}) {
    std::ofstream{files.file(name)} << "#!/bin/sh\nexit 3\n";
    std::filesystem::permissions(files.file(name), std::filesystem::perms::owner_all);
  }
  const ended there = situ::test::run_shell(table5);
  EXPECT_EQ(there.text.find("lacks programs"), std::string::npos) << there.text;
  EXPECT_NE(there.text.find("imsuite did not end well (3)"), std::string::npos) << there.text;
}

}  // namespace
