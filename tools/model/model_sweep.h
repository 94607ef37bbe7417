// `situ model run --sweep`: the same program on machines that differ in some figures, several at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct sweep_options {
  std::vector<std::string> sweeps;    // "KEY=VALUE,VALUE,..."; all values of one with all of the others
  std::vector<std::string> settings;  // "KEY=VALUE", of each run
  std::uint32_t jobs = 0;             // processes at a time; 0: as many as there are processors
  std::string json;                   // a file, or empty
  std::string machine;
};

// Runs `file`, a modelled program, for each combination, with SITU_MODEL_* as they are in the environment but for
// SET and JSON; prints a table. Returns the first exit code that is not 0. Throws bad_argument for a sweep that is not
// of the form, bad_launch where the host starts no process.
[[nodiscard]] int run_sweep(const sweep_options& options, const std::string& file, std::vector<std::string> arguments);
