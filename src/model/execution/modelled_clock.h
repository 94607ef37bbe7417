// The program's clocks: modelled time, from a date that is the same in each run.
#pragma once

#include <ctime>

#include "model/execution/memory_port.h"

namespace situ::model {

// Returns the modelled time at which that clock shows `shown`.
[[nodiscard]] time_ps modelled_time(clockid_t clock, const timespec& shown) noexcept;

// Returns when this much time has passed for the running core.
[[nodiscard]] time_ps time_after(const timespec& time) noexcept;

}  // namespace situ::model
