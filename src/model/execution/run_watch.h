// What is asked of a run while it runs: samples for a report over time, progress on a terminal, an end from outside.
#pragma once

#include <cstdint>

#include "model/execution/engine.h"
#include "model/execution/timeline.h"

namespace situ::model {

struct watch_options {
  timeline* over_time = nullptr;  // gets the samples that are due
  bool shows_progress = false;    // where standard error is a terminal
};

// SIGINT and SIGTERM end the run with a report from here on, as soon as a core comes by; the second one at once.
void begin_watch(engine& of, const watch_options& options);
// Clears the line of progress, and samples no more.
void end_watch() noexcept;
// Whether the run was ended by a signal: its report is not complete.
[[nodiscard]] bool was_ended() noexcept;

}  // namespace situ::model
