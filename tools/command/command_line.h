// What the programs of the command line have in common: `situ`, and those beside it that `situ NAME` starts. Each adds
// subcommands whose callbacks do the work; an exit code other than 0 leaves a callback as CLI::RuntimeError(code), an
// error as situ::error.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

inline constexpr int timeout_exit_code = 124;  // as timeout(1)

// What `situ` and each of its commands say they are.
[[nodiscard]] std::string situ_description();

// The subcommand of this name, or null.
[[nodiscard]] const CLI::App* find_subcommand(const CLI::App& app, const std::string& name);

// Does what the arguments ask for, and says what went wrong. Returns the exit code, also where standard output could
// not be written.
[[nodiscard]] int run_command_line(CLI::App& app, const std::vector<std::string>& arguments);

// The main function of the program situ-NAME, whose arguments are those of `situ NAME`.
[[nodiscard]] int main_of_command(int argc, char** argv, const char* name, void (*add_to)(CLI::App&));
