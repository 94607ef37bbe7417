// The marks of objects that move.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "heap/heap_core.h"

namespace situ::detail {

[[nodiscard]] inline std::atomic_ref<std::uint64_t> changing(std::uint64_t* entry) {
  return std::atomic_ref<std::uint64_t>{*entry};
}

// The marks that a mover has set, which it takes off again if it does not get as far as to publish.
class marked_entries {
 public:
  explicit marked_entries(std::uint32_t mover) noexcept
      : mark_{entry_is_moving | std::uint64_t{mover + 1} << entry_mover_shift} {}
  ~marked_entries() {
    for (std::uint64_t* each : entries_) take_off(each);
  }
  marked_entries(const marked_entries&) = delete;
  marked_entries& operator=(const marked_entries&) = delete;

  // Returns false if another one moves the object.
  [[nodiscard]] bool mark(std::uint64_t* entry) {
    std::uint64_t before = changing(entry).load(std::memory_order_acquire);
    do {
      if ((before & entry_is_moving) != 0) return false;
    } while (!changing(entry).compare_exchange_weak(before, before | mark_, std::memory_order_seq_cst));
    entries_.push_back(entry);
    return true;
  }
  void unmark_last() noexcept {
    take_off(entries_.back());
    entries_.pop_back();
  }
  // Publishes the entry that was marked last of those that still are. A thread may remember the object, or forget it,
  // at any time: that bit stays as it is.
  void publish_last(std::uint64_t value) {
    std::uint64_t before = changing(entries_.back()).load(std::memory_order_relaxed);
    while (!changing(entries_.back())
                .compare_exchange_weak(before, value | (before & entry_is_remembered), std::memory_order_acq_rel)) {}
    entries_.pop_back();
  }

 private:
  static void take_off(std::uint64_t* entry) noexcept {
    changing(entry).fetch_and(~(entry_is_moving | entry_mover_bits), std::memory_order_release);
  }
  std::uint64_t mark_;
  std::vector<std::uint64_t*> entries_;
};

}  // namespace situ::detail
