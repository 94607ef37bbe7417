// The machine that a run's settings name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/execution/memory_port.h"

namespace situ::model {

// A machine's file; or "flat", or "flat:tiles=1,cores=2,miss=50": the smallest machine, times in ns. Throws where there
// is none of that name, or a figure is missing. memories: how many of those that belong to no tile are used, the first
// ones of the file; 0: all. settings: "KEY=VALUE" each, figures that take the place of the file's (machine_settings.h),
// or that are put to those of "flat".
[[nodiscard]] std::unique_ptr<memory_port> make_machine(const std::string& name, std::uint32_t memories,
                                                        const std::vector<std::string>& settings);

}  // namespace situ::model
