// Runs programs of this folder on modelled machines, for tests that read their reports.
#pragma once

#include "examples/command.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/build_paths.h"

namespace situ::test {

struct modelled_run {
  package_rank::test::command_result result;
  nlohmann::json report;  // discarded if the run has left none
};

// Runs bin/tests/`program` by situ model run with these options, and reads its report.
inline modelled_run run_on(const std::string& machine, std::vector<std::string> options, const std::string& program,
                           const std::vector<std::string>& arguments = {}) {
  const package_rank::test::scratch_folder folder;
  const std::string bin = SITU_TEST_BIN_DIR;
  const std::string file = folder.path() + "/report.json";
  options.insert(options.begin(), {bin + "/situ", "model", "run", "--machine", machine, "--json", file});
  options.push_back(bin + "/tests/" + program);
  options.insert(options.end(), arguments.begin(), arguments.end());
  modelled_run made;
  made.result = package_rank::test::run_command(options);
  std::ifstream stream{file};
  made.report = nlohmann::json::parse(stream, nullptr, false);
  return made;
}

}  // namespace situ::test
