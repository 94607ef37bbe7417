// Queues of units that are ready to run, which hold the numbers of their records.
//
// fresh_units: filled by the adding thread, first in, first out; every thread takes some from the head.
// own_units: filled by a thread with the units that it made ready, last in, first out; others take the oldest (Chase
// and Lev, 2005, with sequentially consistent accesses in place of fences, so that ThreadSanitizer follows).
//
// Both have room for all units of a graph, so adding never fails.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace situ::detail {

inline constexpr std::uint32_t no_unit = UINT32_MAX;

class fresh_units {
 public:
  explicit fresh_units(std::uint32_t room) : mask_{room - 1}, units_{new std::atomic<std::uint32_t>[room]} {}

  // Called by the adding thread only.
  void push(std::uint32_t unit) noexcept {
    const std::uint64_t at = tail_.load(std::memory_order_relaxed);
    units_[at & mask_].store(unit, std::memory_order_relaxed);
    tail_.store(at + 1, std::memory_order_release);
  }
  // Takes units into `into`: 1/share of the queue, but at least one and at most `most`. Returns how many; 0 if the
  // queue is empty.
  std::uint32_t take(std::uint32_t* into, std::uint32_t most, std::uint32_t share) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t tail = tail_.load(std::memory_order_acquire);
      if (head >= tail) {  // a head that was read before a tail never passes it, unless the read was of an old value
        const std::uint64_t again = head_.load(std::memory_order_acquire);
        if (again == head) return 0;
        head = again;
        continue;
      }
      const auto count = static_cast<std::uint32_t>(std::clamp<std::uint64_t>((tail - head) / share, 1, most));
      for (std::uint32_t i = 0; i < count; ++i) into[i] = units_[(head + i) & mask_].load(std::memory_order_relaxed);
      // If a unit was overwritten during the copy, another thread had taken it: then the head has moved.
      if (head_.compare_exchange_weak(head, head + count, std::memory_order_acq_rel, std::memory_order_acquire))
        return count;
    }
  }
  [[nodiscard]] bool is_empty() const noexcept {
    return head_.load(std::memory_order_seq_cst) >= tail_.load(std::memory_order_seq_cst);
  }

 private:
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::uint64_t mask_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> units_;
};

class own_units {
 public:
  explicit own_units(std::uint32_t room) : mask_{room - 1}, units_{new std::atomic<std::uint32_t>[room]} {}

  // Called by the owner only.
  void push(std::uint32_t unit) noexcept {
    const std::int64_t at = bottom_.load(std::memory_order_relaxed);
    units_[static_cast<std::uint64_t>(at) & mask_].store(unit, std::memory_order_relaxed);
    bottom_.store(at + 1, std::memory_order_release);
  }
  [[nodiscard]] std::uint32_t pop() noexcept {
    const std::int64_t at = bottom_.load(std::memory_order_relaxed) - 1;
    if (at < top_.load(std::memory_order_relaxed)) return no_unit;  // empty, even if another thread is stealing
    bottom_.store(at, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top > at) {
      bottom_.store(at + 1, std::memory_order_relaxed);
      return no_unit;
    }
    const std::uint32_t unit = units_[static_cast<std::uint64_t>(at) & mask_].load(std::memory_order_relaxed);
    if (top < at) return unit;
    const bool won = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
    bottom_.store(at + 1, std::memory_order_relaxed);
    return won ? unit : no_unit;
  }
  // Returns the unit that pop() would return, for prefetching.
  [[nodiscard]] std::uint32_t peek() const noexcept {
    const std::int64_t at = bottom_.load(std::memory_order_relaxed) - 1;
    return at < top_.load(std::memory_order_relaxed)
               ? no_unit
               : units_[static_cast<std::uint64_t>(at) & mask_].load(std::memory_order_relaxed);
  }

  // Called by any thread.
  [[nodiscard]] std::uint32_t steal() noexcept {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top >= bottom_.load(std::memory_order_seq_cst)) return no_unit;
    const std::uint32_t unit = units_[static_cast<std::uint64_t>(top) & mask_].load(std::memory_order_relaxed);
    return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed) ? unit
                                                                                                            : no_unit;
  }
  [[nodiscard]] bool is_empty() const noexcept {
    return top_.load(std::memory_order_seq_cst) >= bottom_.load(std::memory_order_seq_cst);
  }

 private:
  alignas(64) std::atomic<std::int64_t> bottom_{0};
  alignas(64) std::atomic<std::int64_t> top_{0};
  alignas(64) std::uint64_t mask_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> units_;
};

}  // namespace situ::detail
