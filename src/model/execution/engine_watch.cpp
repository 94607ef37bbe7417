// Watching a run from outside of modelled time: samples, progress, an end by a signal.
#include <algorithm>
#include <utility>

#include "model/execution/engine.h"

namespace situ::model {

void engine::watch(std::function<time_ps(time_ps)> what, time_ps first) {
  watcher_ = std::move(what);
  watch_at_ = first;
}

// Everything runs on one thread of the host, so relaxed order suffices.
void engine::watch_soon() noexcept {
  watch_soon_.store(true, std::memory_order_relaxed);
  watch_at_.store(0, std::memory_order_relaxed);
  if (running != &nobody) running->quantum_end = 0;
}

// Calls the watcher. pre: outside of modelled time.
void engine::call_watcher(time_ps earliest) {
  watch_soon_.store(false, std::memory_order_relaxed);
  watch_at_.store(watcher_(earliest), std::memory_order_relaxed);
  if (watch_soon_.load(std::memory_order_relaxed)) watch_at_.store(0, std::memory_order_relaxed);  // by a signal
}

// Calls the watcher if all cores have reached watch_at_; this core has.
void engine::look(core& c) {
  time_ps earliest = std::min(c.clock, next_due());
  for (const core* const other : busy_) earliest = std::min(earliest, other->clock);
  c.quantum_end = c.turn_end;  // the limit without a watcher; cores that reach it later look again
  if (earliest < watch_at_.load(std::memory_order_relaxed)) return;
  const outside_time scope;
  call_watcher(earliest);
  c.quantum_end = std::min(c.turn_end, watch_at_.load(std::memory_order_relaxed));
}

void engine::end_quantum() {
  core& c = *running;
  if (&c == &nobody) return;
  if (held_ == 0 && c.clock >= watch_at_.load(std::memory_order_relaxed)) look(c);
  if (c.clock > c.turn_end) take_turn();
}

}  // namespace situ::model
