#include "other_commands.h"

#include "os/child.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace fs = std::filesystem;

namespace {

struct other_command {
  std::string_view name, words;
};
constexpr std::array<other_command, 6> other_commands{{
    {"study", "Experiments of papers on modelled machines, beside their figures"},
    {"model", "Run a program on a modelled machine"},
    {"pams", "Programs of PAMS, a sequencer of active messages"},
    {"pool", "Look at a persistent pool"},
    {"rmem", "Serve remote memory, and look at its servers"},
    {"bench", "Measure Situ beside the raw limit and its rivals"},
}};

// Returns a sentence that says how to build or install the program.
std::string how_to_get(const std::string& program, const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder.parent_path() / "CMakeCache.txt", ignored))
    return fmt::format("it is not built here: cmake --build {} --target {}", folder.parent_path().string(), program);
  return fmt::format("{} was not installed with `situ`: install Situ with it, or put it into {}", program,
                     folder.string());
}

}  // namespace

void add_other_commands(CLI::App& app) {
  for (const other_command& each : other_commands) app.add_subcommand(std::string{each.name}, std::string{each.words});
}

void become_other_command(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].empty() || arguments[0].find_first_of("/-") != std::string::npos) return;
  const std::string program = "situ-" + arguments[0];
  std::error_code failure;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failure).parent_path();
  const std::string file = (folder / program).string();
  std::vector<std::string> words{arguments};
  words[0] = file;
  const int why = failure ? 0 : situ::os::become_program(file, std::move(words));
  if (std::ranges::find(other_commands, arguments[0], &other_command::name) == other_commands.end()) return;
  situ::throw_error(situ::errc::bad_launch,
                    failure         ? fmt::format("the command {} is the program {}, which lies beside this one, and "
                                                          "where that is cannot be told: {}",
                                                  arguments[0], program, failure.message())
                    : why == ENOENT ? fmt::format("the command {} is the program {}: {}", arguments[0], program,
                                                  how_to_get(program, folder))
                                    : fmt::format("cannot start {}: {}", file, std::strerror(why)));
}
