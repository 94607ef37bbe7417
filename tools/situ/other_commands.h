// The commands that are programs of their own, beside `situ`: `situ pool check FILE` starts `situ-pool check FILE`. So
// `situ` itself is built quickly, and an install may leave out what nobody needs there.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

// For the help of `situ` alone: what these commands are called, and what they do.
void add_other_commands(CLI::App& app);

// Starts situ-NAME, arguments[0] being NAME, if that is a program beside this one: the process becomes that program.
// Returns where there is none and NAME is no command of Situ's. Throws bad_launch where it is one, with what to build
// or install.
void become_other_command(const std::vector<std::string>& arguments);
