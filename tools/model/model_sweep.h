// `situ model run --sweep`: the same program on machines that differ in some figures, several at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct sweep_options {
  std::vector<std::string> sweeps;    // "KEY=VALUE,VALUE,..."; every combination of the keys' values
  std::vector<std::string> settings;  // "KEY=VALUE", for each run
  std::uint32_t jobs = 0;             // processes at a time; 0: as many as there are processors
  std::string json;                   // a file, or empty
  std::string machine;
};

// Runs `file`, a modelled program, for each combination, with the environment's SITU_MODEL_* except for SET and JSON;
// prints a table. Returns the first exit code that is not 0. Throws bad_argument if a sweep is malformed, bad_launch
// if the host starts no process.
[[nodiscard]] int run_sweep(const sweep_options& options, const std::string& file,
                            const std::vector<std::string>& arguments);
