// The common part of the command-line programs: `situ`, and the programs next to it that `situ NAME` starts. Each adds
// subcommands, whose callbacks do the work. A callback throws CLI::RuntimeError(code) for an exit code other than 0,
// and situ::error for an error.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

inline constexpr int timeout_exit_code = 124;  // as timeout(1)

// Returns the sentence at the top of the help.
[[nodiscard]] std::string situ_description();

// Returns the subcommand of this name, or null.
[[nodiscard]] const CLI::App* find_subcommand(const CLI::App& app, const std::string& name);

// Returns the sentence for a user who wrote `word` where a command of `among` belongs, or nothing (an empty word): the
// commands that there are, and the one that was meant. path: "situ pool".
[[nodiscard]] std::string no_such_command(const CLI::App& among, const std::string& path, const std::string& word);

// Parses the arguments, runs the command, and prints errors. Returns the exit code, which is not 0 if standard output
// could not be written.
[[nodiscard]] int run_command_line(CLI::App& app, const std::vector<std::string>& arguments);

// The main function of the program situ-NAME, whose arguments are those of `situ NAME`.
[[nodiscard]] int main_of_command(int argc, char** argv, const char* name, void (*add_to)(CLI::App&));
