// Shared by the parts of `situ pool`.
#pragma once

#include <situ/pool/pool.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace situ_pool {

void add_dump_command(CLI::App& pool_command);   // pool_dump.cpp
void add_file_commands(CLI::App& pool_command);  // pool_files.cpp: copy, diff, repair, compact

// The option that limits a command's wait for the pool's writers.
class patience_option {
 public:
  void add_to(CLI::App& command);
  [[nodiscard]] std::chrono::nanoseconds value() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>{seconds_});
  }
  [[nodiscard]] situ::pool_opening to_read() const { return {.access = situ::pool_access::read, .patience = value()}; }

 private:
  double seconds_ = std::chrono::duration<double>{situ::pool_opening{}.patience}.count();
};

// Returns a name as text. It comes from a file that may be damaged, so other bytes are shown as numbers.
[[nodiscard]] std::string printable(std::string_view name);
void print(const nlohmann::ordered_json& all);

}  // namespace situ_pool
