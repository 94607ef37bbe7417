#include "at_timers.h"

#include <situ/situ.h>

namespace imsuite {

// A place has a thread of its own.
place_timers& timers_here() noexcept {
  thread_local place_timers mine;
  return mine;
}

void start_timers() noexcept { timers_here() = {.is_on = true, .sum = {}}; }
void stop_timers() noexcept { timers_here().is_on = false; }

at_times collect_timers() {
  at_times all;
  for (const at_times& each : situ::gather(timers_here().sum, 0)) all += each;
  return all;
}

}  // namespace imsuite
