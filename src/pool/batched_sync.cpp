#include "pool/batched_sync.h"

#include "pool/quiet_thread.h"
#include "pool/redo_log.h"

namespace situ::detail {

void batched_sync::start(redo_log& of, std::chrono::milliseconds every) {
  thread_ = start_quiet_thread([this, &of, every](const std::stop_token& stopped) { run(stopped, of, every); });
}

void batched_sync::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void batched_sync::run(const std::stop_token& stopped, redo_log& of, std::chrono::milliseconds every) {
  std::unique_lock asleep{sleep_};
  while (!stopped.stop_requested() && failure() == 0) {
    wake_.wait_for(asleep, stopped, every, [] { return false; });
    if (of.has_unsynced()) failure_.store(of.sync_batched(), std::memory_order_release);
  }
}

}  // namespace situ::detail
