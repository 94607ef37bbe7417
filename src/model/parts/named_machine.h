// The machine that a user names: a machine's file, or "flat" with figures. The executor makes it; situ/model/
// machine_summary.h summarizes it.
#pragma once

#include <situ/machine/tree.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/parts/machine_spec.h"
#include "model/parts/time.h"

namespace situ::model {

inline constexpr std::uint32_t most_tiles = 1024;  // limit for machines that run programs; memory is laid out for it

// The figures of the smallest machine (execution/flat_machine.h).
struct flat_shape {
  std::uint32_t tiles = 16;
  std::uint32_t cores_a_tile = 4;
  std::uint32_t sets = 512;
  std::uint32_t line_bytes = 64;
  time_ps period_ps = 1000;
  machine::instruction_cycles cycles{.integer = 1, .multiply = 1, .divide = 1, .floating = 1, .branch = 1, .call = 1};
  time_ps hit_ps = 1000;
  time_ps miss_ps = 50'000;
  time_ps atomic_ps = 20'000;
};

// Returns whether the name is "flat" or "flat:KEY=NUMBER,...".
[[nodiscard]] bool is_flat(std::string_view name);
// Reads the figures of "flat:tiles=1,cores=2,miss=50" (times in ns), then the settings. Throws std::runtime_error for a
// key that it does not have, or a figure beyond its limit. pre: is_flat(name).
[[nodiscard]] flat_shape flat_shape_of(const std::string& name, const std::vector<std::string>& settings);
// Reads a machine's file; the settings ("KEY=VALUE" each) replace figures of it (machine_settings.h). Throws bad_file,
// with file and line, if a figure is missing.
[[nodiscard]] machine_spec machine_spec_of(const std::string& name, const std::vector<std::string>& settings);

}  // namespace situ::model
