#include "pool/batched_sync.h"

#include "pool/redo_log.h"

namespace situ::detail {

void batched_sync::start(redo_log& of, std::chrono::milliseconds every) {
  thread_ = std::make_unique<sleeper>();
  thread_->thread =
      os::worker{os::without_signals,
                 [this, &own = *thread_, &of, every](const std::stop_token& stopped) { run(stopped, own, of, every); }};
}

void batched_sync::stop() {
  thread_.reset();  // stops the thread and joins it, if it was started
}

void batched_sync::run(const std::stop_token& stopped, sleeper& own, redo_log& of, std::chrono::milliseconds every) {
  std::unique_lock asleep{own.sleep};
  while (!stopped.stop_requested() && failure() == 0) {
    own.wake.wait_for(asleep, stopped, every, [] { return false; });
    if (of.has_unsynced()) failure_.store(of.sync_batched(), std::memory_order_release);
  }
}

}  // namespace situ::detail
