// Where the host's time goes, sampled: to find code that the program spends its time in and that has no hooks (the C
// library's, an imported library's), none of which is modelled.
//
// A timer of the process's own processor time interrupts it, and the handler notes the address that it came to: it
// allocates nothing, and nothing of the run depends on it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace situ::model {

// Begins. `each_time`: called by the handler, too; null: nothing is. Where the host has no such timer, nothing is
// sampled.
void begin_host_samples(void (*each_time)());
void end_host_samples() noexcept;

// Code without hooks that took more than a twentieth of the host's time.
struct code_without_hooks {
  std::string file;  // a library's name; empty: of the program itself
  double percent = 0;
  std::vector<std::pair<std::string, double>> functions;  // those that took most
};
// pre: sampling has ended. Nothing where there are too few samples to say.
[[nodiscard]] std::vector<code_without_hooks> find_code_without_hooks();
// A warning each, for a terminal.
[[nodiscard]] std::string to_text(const std::vector<code_without_hooks>& found);
// [{"file", "percent", "functions": [{"function", "percent"}]}]
[[nodiscard]] std::string to_json(const std::vector<code_without_hooks>& found);

}  // namespace situ::model
