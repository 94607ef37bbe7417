// The range-operations unit next to a tile's cache (4.4.1). The unit issues a command for each line of a range, and
// then, if one is asked for, a request to the graph-copy unit: invalidate-and-trigger, step (3c) of the paper. Not
// thread-safe.
#pragma once

#include "model/graph_units/ports.h"

#include <cstdint>
#include <functional>

namespace situ::model {

enum class range_operation : std::uint8_t { write_back, invalidate, flush };

class range_operations_unit {
 public:
  struct counters {
    std::uint64_t ranges = 0;
    std::uint64_t lines = 0;
    std::uint64_t modified_lines = 0;  // lines written to memory
    time_ps busy = 0;
  };
  // cache: must outlive the unit. command_time: the unit's own time for one line.
  explicit range_operations_unit(cache_port& cache, time_ps command_time = 20'000) noexcept
      : cache_{cache}, command_time_{command_time} {}

  // Applies the operation to all lines that hold bytes of [begin, end). Returns when the last line is done. An empty
  // range costs nothing.
  time_ps run(range_operation what, std::uintptr_t begin, std::uintptr_t end, time_ps now);
  // Does the same, then calls trigger with the end time and returns that time. The core that asked is free at `now`.
  time_ps run_and_trigger(range_operation what, std::uintptr_t begin, std::uintptr_t end, time_ps now,
                          const std::function<void(time_ps)>& trigger) {
    const time_ps done = run(what, begin, end, now);
    trigger(done);
    return done;
  }
  [[nodiscard]] const counters& counted() const noexcept { return counters_; }

 private:
  cache_port& cache_;
  time_ps command_time_;
  time_ps free_from_ = 0;  // the unit serves one range after the other
  counters counters_;
};

}  // namespace situ::model
