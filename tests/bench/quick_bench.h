// A test of a whole `situ bench`: runs the command, in a directory of the test's own that is also the TMPDIR of what it
// starts.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "support/build_paths.h"
#include "support/programs.h"

namespace situ::bench {

class quick_bench : public ::testing::Test {
 protected:
  // The flags stand in every command.
  explicit quick_bench(std::string name, std::string flags = "--no-install")
      : name_{std::move(name)}, flags_{std::move(flags)} {
    std::string pattern = (std::filesystem::temp_directory_path() / "situ-bench-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    std::filesystem::create_directory(directory_ / "tmp");
  }
  ~quick_bench() override { std::filesystem::remove_all(directory_); }

  struct result {
    int status;
    std::string output;
  };
  result run(const std::string& arguments, const std::string& environment = "") const {
    const std::string command = "TMPDIR=" + (directory_ / "tmp").string() + " " + environment +
                                " /usr/bin/timeout 240 " + std::string{SITU_TEST_BIN_DIR} + "/situ bench " + name_ +
                                " " + flags_ + " " + arguments;
    test::shell_result ended = test::run_shell(command);
    return {ended.exit_code, std::move(ended.text)};
  }

  // The rows that a run left in a file: case and subject of each, which must be a figure of so many samples.
  static std::set<std::pair<std::string, std::string>> check_rows(const std::filesystem::path& file,
                                                                  int least_samples) {
    std::ifstream stream{file};
    std::set<std::pair<std::string, std::string>> seen;
    for (const nlohmann::json& row : nlohmann::json::parse(stream)) {
      seen.emplace(row["case"], row["subject"]);
      EXPECT_GT(row["median_ns"], 0) << row;
      EXPECT_GT(row["ratio_to_raw"], 0) << row;
      EXPECT_LE(row["p10_ns"], row["median_ns"]) << row;
      EXPECT_LE(row["median_ns"], row["p90_ns"]) << row;
      EXPECT_GE(row["samples"], least_samples) << row;
      EXPECT_TRUE(row["commit"].is_string() && row["machine"].is_string()) << row;
    }
    return seen;
  }

  // Every subject that needs no packages has a row in each of its cases. Cases: comparison_case.
  template <class Cases>
  static void expect_row_of_each(const Cases& cases, const std::set<std::pair<std::string, std::string>>& seen) {
    for (const auto& info : cases)
      for (const auto& subject : info.subjects)
        EXPECT_TRUE(!subject.packages.empty() || seen.contains({std::string{info.name}, std::string{subject.name}}))
            << info.name << ' ' << subject.name;
  }

  // A figure of a row that a run left in a file: "median_ns", "ratio_to_raw". 0 where there is none.
  static double figure(const std::filesystem::path& file, const std::string& of_case, const std::string& subject,
                       const char* what) {
    std::ifstream stream{file};
    for (const nlohmann::json& row : nlohmann::json::parse(stream))
      if (row["case"] == of_case && row["subject"] == subject) return row[what];
    ADD_FAILURE() << of_case << " has no " << subject;
    return 0;
  }

  std::string name_, flags_;
  std::filesystem::path directory_;
};

}  // namespace situ::bench
