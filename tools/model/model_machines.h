// `situ model machines`: the machines that come with Situ, and whether they run programs.
#pragma once

#include <filesystem>
#include <string>

// Returns why a machine's file runs no program: the figure that it lacks. Empty if it runs programs.
[[nodiscard]] std::string missing_in(const std::filesystem::path& machine);

// Prints a line for each machine that runs programs, with its cores, then one for each of the others.
void print_machines();
