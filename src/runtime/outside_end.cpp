#include <situ/runtime/detail/outside_end.h>

#include <situ/memory/detail/place_context.h>
#include <situ/runtime/detail/scheduler.h>

#include <utility>

#include "memory/liveness.h"

namespace situ::detail {

void outside_end::end(std::exception_ptr failure) noexcept {
  const std::lock_guard lock{mutex_};
  failure_ = std::move(failure);
  is_over_.store(true, std::memory_order_release);  // publishes what this thread did before
  if (waiting_ != nullptr) wake_after_change(*waiting_);
}

void outside_end::wait() {
  // Registers the waiting place until the wait ends in any way, even with the runtime.
  struct presence {
    outside_end& self;
    explicit presence(outside_end& of) : self{of} { set(&current->job->slot(current->place)); }
    ~presence() { set(nullptr); }
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    void set(place_slot* slot) {
      const std::lock_guard lock{self.mutex_};
      self.waiting_ = slot;
    }
  };
  {
    const presence here{*this};
    current->scheduler->wait_until([this] { return is_over_.load(std::memory_order_acquire); },
                                   {.outlives_losses = true, .note = {.kind = wait_kind::other}});
  }
  const std::lock_guard lock{mutex_};
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace situ::detail
