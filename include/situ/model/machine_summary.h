// The name and the sizes of a modelled machine, for programs that list machines or choose one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace situ::model {

// A machine that runs programs.
struct machine_summary {
  std::string name;
  std::string description;
  std::uint32_t cores = 0;
  std::uint32_t tiles = 0;                                // with cores
  std::vector<std::uint32_t> core_of;                     // the core of each processor: of each hardware thread
  std::vector<std::uint32_t> processors_of_first_tile{};  // a program without places runs its threads there
};

// Summarizes the machine of a file, or of "flat" or "flat:KEY=NUMBER,...". settings: "KEY=VALUE" each; they replace
// figures, as `situ model run --set` does. Throws bad_file, with file and line, if a figure is missing that the model
// needs; std::runtime_error if figures of "flat" cannot be. cost: reads the file.
[[nodiscard]] machine_summary summarize_machine(const std::string& machine,
                                                const std::vector<std::string>& settings = {});

}  // namespace situ::model
