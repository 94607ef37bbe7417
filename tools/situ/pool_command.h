// What the parts of `situ pool` share.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace situ_pool {

void add_dump_command(CLI::App& pool_command);   // pool_dump.cpp
void add_file_commands(CLI::App& pool_command);  // pool_files.cpp: copy, diff, repair, compact

// Names come from a file that may be damaged: what is no text is shown by number.
[[nodiscard]] std::string printable(std::string_view name);
void print(const nlohmann::ordered_json& all);

}  // namespace situ_pool
