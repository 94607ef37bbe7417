// Runs programs beside `situ`, and gives a test a folder of its own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/build_paths.h"
#include "support/programs.h"

namespace package_rank::test {

using command_result = situ::test::ended_program;
using situ::test::run_command;

// A folder of its own, gone at the end.
class scratch_folder {
 public:
  scratch_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "situ-examples-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string write(const std::string& name, const std::string& text, bool executable = false) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream{file, std::ios::binary} << text;
    if (executable) std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file.string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// `situ run -n places [--in-process] <program beside situ> arguments...`
inline command_result situ_run(unsigned places, bool in_process, const std::string& program,
                               std::vector<std::string> arguments, std::vector<std::string> environment = {},
                               const std::string& input = "/dev/null") {
  const std::string bin = SITU_TEST_BIN_DIR;
  std::vector<std::string> all{bin + "/situ", "run", "-n", std::to_string(places)};
  if (in_process) all.push_back("--in-process");
  all.push_back(bin + "/" + program);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_command(std::move(all), std::move(environment), input);
}

}  // namespace package_rank::test
