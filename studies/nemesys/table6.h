// The paper's table 6: what its prototype counted, kernel by kernel. Constant data.
#pragma once

#include <cstddef>

#include "nemesys/macro_runs.h"

namespace situ::studies::nemesys {

// A line of the table: shares in percent, latencies in cycles of 50 MHz. Pegasus has no graph-copy unit.
struct counters {
  double bus_load, adapter_use, memory_use, megabytes, via_adapter, via_unit, unit_use, load_cycles, store_cycles;
};

// pre: `of` is NEMESYS or Pegasus, single or twin; `kernel` is a number in kernel_names, or their count: the mean.
[[nodiscard]] const counters& paper_counters(variant of, std::size_t kernel);

}  // namespace situ::studies::nemesys
