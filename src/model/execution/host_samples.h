// Samples the host's time, to find code without hooks in which the program spends its time (the C library's, an
// imported library's): such code is not modelled.
//
// A timer of the process's own processor time interrupts the process, and the handler records the address of the
// interrupted code. The handler allocates nothing, and the run does not depend on it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace situ::model {

// Begins sampling. The handler also calls `each_time` unless it is null. If the host has no such timer, nothing is
// sampled.
void begin_host_samples(void (*each_time)());
void end_host_samples() noexcept;
// The signal of the samples. It is none that programs use.
[[nodiscard]] int sampling_signal() noexcept;
[[nodiscard]] std::uint64_t host_samples() noexcept;

// Code without hooks that took more than a twentieth of the host's time.
struct code_without_hooks {
  std::string file;  // the library's name; empty: the program itself
  double percent = 0;
  std::vector<std::pair<std::string, double>> functions;  // the functions that took most of the time
};
// Returns the code without hooks; empty if there are too few samples. pre: sampling has ended.
[[nodiscard]] std::vector<code_without_hooks> find_code_without_hooks();
// Returns a warning for each entry, for a terminal.
[[nodiscard]] std::string to_text(const std::vector<code_without_hooks>& found);
// [{"file", "percent", "functions": [{"function", "percent"}]}]
[[nodiscard]] std::string to_json(const std::vector<code_without_hooks>& found);

}  // namespace situ::model
