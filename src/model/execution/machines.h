// Makes the machine that a run's settings name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <situ/machine/intent.h>

#include "model/execution/memory_port.h"

namespace situ::model {

// Makes a machine from a machine's file, or from "flat" or "flat:tiles=1,cores=2,miss=50": the smallest machine, times
// in ns. Throws if there is no machine of that name, or a figure is missing. memories: how many memories that belong to
// no tile are used, the first ones of the file; 0: all. settings: "KEY=VALUE" each; they replace figures of the file
// (machine_settings.h), or are appended to those of "flat". wanted: sorts the memories for the process; without it, they
// begin with those that parts_machine.h names.
[[nodiscard]] std::unique_ptr<memory_port> make_machine(const std::string& name, std::uint32_t memories,
                                                        const std::vector<std::string>& settings,
                                                        const std::optional<intent>& wanted);

}  // namespace situ::model
