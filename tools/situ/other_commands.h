// Commands that are programs of their own, next to `situ`: `situ pool check FILE` starts `situ-pool check FILE`. So
// `situ` itself is built quickly, and an install may leave programs out.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

// Adds these commands to the help of `situ`, and to nothing else.
void add_other_commands(CLI::App& app);

// Replaces this process by the program situ-NAME next to it, NAME being arguments[0]. If that program is missing:
// throws bad_launch, which says what to build or install, if NAME is a command of Situ's, and returns if it is not.
void become_other_command(const std::vector<std::string>& arguments);
