// The commands of `situ`. Each adds a subcommand whose callback does the work; an exit code other than 0 leaves it as
// CLI::RuntimeError(code), an error as situ::error, which main prints.
#pragma once

#include <string>

namespace CLI {
class App;
}

inline constexpr int timeout_exit_code = 124;  // as timeout(1)

void add_run_command(CLI::App& app);                     // run.cpp
void add_host_agent_command(CLI::App& app);              // host_agent.cpp
void add_new_command(CLI::App& app);                     // new.cpp
void add_top_command(CLI::App& app);                     // top.cpp
void add_topo_command(CLI::App& app);                    // topo.cpp
void add_order_command(CLI::App& app);                   // order.cpp
void add_kernel_order_command(CLI::App& order_command);  // order_kernel.cpp
void add_model_command(CLI::App& app);                   // model.cpp
void add_pool_command(CLI::App& app);                    // pool.cpp
void add_rmem_command(CLI::App& app);                    // rmem.cpp
void add_bench_command(CLI::App& app);                   // bench.cpp
void add_study_command(CLI::App& app);                   // study.cpp

// Whether the running kernel places by itself.
[[nodiscard]] std::string kernel_order_line();  // order_kernel.cpp
