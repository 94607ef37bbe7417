// What the parts of `situ pool` share.
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

// How long a command waits for those who write the pool.
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

// Names come from a file that may be damaged: what is no text is shown by number.
[[nodiscard]] std::string printable(std::string_view name);
void print(const nlohmann::ordered_json& all);

}  // namespace situ_pool
