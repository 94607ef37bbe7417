// The services of a run while it runs: samples for a report over time, progress on a terminal, and an end from outside.
#pragma once

#include <cstdint>

#include "model/execution/engine.h"
#include "model/execution/timeline.h"

namespace situ::model {

struct watch_options {
  timeline* over_time = nullptr;  // receives due samples
  bool shows_progress = false;    // takes effect if standard error is a terminal
};

// Begins the watch. From here on SIGINT and SIGTERM end the run with a report at a core's next look; a second signal
// ends it at once.
void begin_watch(engine& of, const watch_options& options);
// Clears the line of progress, and stops sampling.
void end_watch() noexcept;
// Returns whether a signal ended the run: its report is not complete.
[[nodiscard]] bool was_ended() noexcept;

}  // namespace situ::model
