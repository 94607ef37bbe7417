#include "model/execution/unit_thread.h"

#include <algorithm>
#include <utility>

namespace situ::model {

void unit_thread::submit(time_ps when, work asked) {
  if (core_ == nullptr) core_ = engine_.start_device(&serve, this).on;
  std::function<void()> arrival;
  {
    const outside_time scope;
    arrival = [this, when, asked = std::move(asked)] { arrive(asked, when); };
  }
  engine_.at(when, std::move(arrival));
}

void unit_thread::arrive(const work& asked, time_ps when) {
  ++counters_.works;
  if (waiting_.size() >= places_) ++counters_.blocked;
  waiting_.push_back({asked, when});
  counters_.most_waiting = std::max<std::uint64_t>(counters_.most_waiting, waiting_.size());
  engine_.wake_at(this, 1, when);
}

void* unit_thread::serve(void* self) {
  auto& unit = *static_cast<unit_thread*>(self);
  while (true) {
    if (unit.waiting_.empty()) {
      unit.engine_.sleep(&unit, never, unit.name_.c_str());
    } else {
      unit.serve_next();
    }
  }
}

void unit_thread::serve_next() {
  work next;
  {
    const outside_time scope;
    next = std::move(waiting_.front().asked);
    const time_ps begin = std::max(core_->clock, waiting_.front().since);
    counters_.waiting += begin - waiting_.front().since;
    waiting_.pop_front();
    take_turn(begin);
    take_turn(next.run(begin));
    counters_.busy += core_->clock - begin;
  }
  next.over();
  const outside_time scope;
  next = {};
}

// Called within outside_time, and returns to it.
void unit_thread::take_turn(time_ps now) {
  core_->clock = std::max(core_->clock, now);
  running = core_;
  engine_.take_turn();
  running = &nobody;
}

}  // namespace situ::model
