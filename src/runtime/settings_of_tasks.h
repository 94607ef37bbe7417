// The floating-point settings that the ready tasks of a place run with: those of the code that made each ready. Tasks
// are taken in order, and most have the same settings as the task before, so only changes are stored. Belongs to the
// place's thread.
#pragma once

#include <situ/runtime/detail/scheduler.h>

#include <deque>
#include <utility>

#include "base/float_settings.h"

namespace situ::detail {

class settings_of_tasks {
 public:
  void added(const ready_task* task) {
    const float_settings now = float_settings::of_this_thread();
    if (now != last_) changes_.emplace_back(task, last_ = now);
  }
  void taken(const ready_task* task) {
    if (changes_.empty() || changes_.front().first != task) return;
    taken_ = changes_.front().second;
    changes_.pop_front();
  }
  // Returns the settings of the task that was taken last.
  [[nodiscard]] float_settings of_taken() const noexcept { return taken_; }

 private:
  std::deque<std::pair<const ready_task*, float_settings>> changes_;
  float_settings last_ = float_settings::usual();
  float_settings taken_ = float_settings::usual();
};

}  // namespace situ::detail
