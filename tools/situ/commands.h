// The commands that `situ` itself contains (other_commands.h: the others). Each adds a subcommand whose callback does
// the work (command_line.h).
#pragma once

#include <string>

namespace CLI {
class App;
}

void add_run_command(CLI::App& app);                     // run.cpp
void add_host_agent_command(CLI::App& app);              // run.cpp
void add_new_command(CLI::App& app);                     // new.cpp
void add_top_command(CLI::App& app);                     // top.cpp
void add_topo_command(CLI::App& app);                    // topo.cpp
void add_order_command(CLI::App& app);                   // order.cpp
void add_kernel_order_command(CLI::App& order_command);  // order_kernel.cpp

// Describes whether the running kernel places by itself.
[[nodiscard]] std::string kernel_order_line();  // order_kernel.cpp
