// Wake-ups of places, by their slots, and the guard of those who read another place's objects. With memory/detail/losses.h:
// the ends of places.
//
// Any process of the job and its launcher may call these functions.
#pragma once

#include <situ/memory/detail/losses.h>

#include <atomic>
#include <cstdint>

#include "memory/job.h"

namespace situ::detail {

// While it lives, this place may read objects offered by a task of place `source` that was told of `epoch` ends.
// Throws place_lost_error if a place was lost since then: the task may have given up its wait and freed the objects.
// Either the reader sees the new epoch, or the task, which is told only after the epoch was raised, sees the mark and
// waits. The guarded code must not wait. cost: two fenced stores.
class reading_guard {
 public:
  reading_guard(job_control& control, std::uint32_t self, std::atomic<std::uint32_t> place_slot::* mark,
                std::uint32_t source, std::uint32_t epoch);

 private:
  // A separate member, so that the mark is cleared even if the constructor throws.
  class reader_mark {
   public:
    reader_mark(std::atomic<std::uint32_t>& word, std::uint32_t source) noexcept : word_{word} {
      word_.store(source + 1, std::memory_order_seq_cst);
    }
    ~reader_mark() { take_back(); }
    reader_mark(const reader_mark&) = delete;
    reader_mark& operator=(const reader_mark&) = delete;
    void take_back() noexcept { word_.store(0, std::memory_order_release); }

   private:
    std::atomic<std::uint32_t>& word_;
  };
  reader_mark mark_;
};

// Wakes a place if it sleeps. cost: one load if it does not sleep.
void wake_slow(place_slot& slot) noexcept;
inline void wake(place_slot& slot) noexcept {
  if (slot.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_slow(slot);
}
// As wake(), after a change that the place may await. It orders the change before the look at `sleeping`.
inline void wake_after_change(place_slot& slot) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wake(slot);
}

}  // namespace situ::detail
