// What situ::launch (situ/runtime/launch.h) returns: how each place of a job ended.
#pragma once

#include <situ/memory/place.h>

#include <optional>
#include <string>
#include <vector>

namespace situ {

// The end of one place.
struct place_outcome {
  int exit_code = 0;   // the body's return value (0 for void), 1 if it threw; of a process its exit code
  int signal = 0;      // the signal that killed the process, else 0
  std::string reason;  // why the place is lost; empty if it left in order
};

// The end of a job. cost: a look at the outcomes; message() composes a text.
struct launch_result {
  std::vector<place_outcome> places;  // by place
  std::optional<place> first_lost;    // the place that was lost first in time
  std::optional<place> first_failed;  // the first in time that ended with a code other than 0, by a signal, or lost
  std::string statistics;             // a table, if launch_options::stats is set

  // True if every place left in order with exit code 0.
  [[nodiscard]] bool ok() const noexcept { return !first_failed; }
  // Names the first lost place, else the first failed place, and the reason; empty when ok().
  [[nodiscard]] std::string message() const;
  // Returns an exit code for the shell: 0 when ok(); else the exit code of the first lost (else the first failed)
  // place, or 128 + signal if a signal killed that place; never 0 then.
  [[nodiscard]] int exit_code() const noexcept;
};

}  // namespace situ
