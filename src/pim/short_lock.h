// A lock for sections of some 100 ns, as a search of one bank is. A thread that waits looks a while, then gives its
// processor to others: the holder may be one of them. Meets BasicLockable.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/host.h"

namespace situ::pim::detail {

class short_lock {
 public:
  void lock() noexcept {
    while (is_held_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() noexcept { is_held_.store(false, std::memory_order_release); }

 private:
  void wait() const noexcept {
    constexpr std::uint32_t looks_on_a_host = 100;
    for (std::uint32_t look = 0;; ++look) {
      // Relaxed: the exchange that follows acquires.
      if (!is_held_.load(std::memory_order_relaxed)) return;
      if (look >= situ::detail::idle_looks(looks_on_a_host)) situ::detail::give_way();
    }
  }

  std::atomic<bool> is_held_{false};
};

}  // namespace situ::pim::detail
