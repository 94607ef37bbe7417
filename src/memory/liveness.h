// Tracks which places of a job are alive, and notifies the others of the end of a place.
//
// A thread that learns of a loss first marks the place, then raises failure_epoch (the number of ends so far) and wakes
// all places. A task is told of each end once (docs/design/runtime.md, "How a wait learns of a loss"). Any process of
// the job and its launcher may call these functions, unless a comment says otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "memory/job.h"

namespace situ {
class place_lost_error;
}

namespace situ::detail {

// Marks a place as lost (the first reason stands) and wakes every place; does nothing to a place that has left in
// order. If the place is marked already, makes sure that the others are notified. Any process of the job and its
// launcher may call it. cost: a system call for each sleeping place.
void mark_lost(job_control& control, std::uint32_t place, std::string_view reason) noexcept;

// Throws place_lost_error for the first lost place, at place `self` (no_place: one that has not joined yet), once no
// place or agent reads objects of `self` any more (reading_guard): the code that catches the error may free objects
// that it had offered. The running task has then been told of every end so far (note_told). pre: failure_epoch > 0.
[[noreturn]] void throw_place_lost(job_control& control, std::uint32_t self);

// Records that the running task is told, by an exception about to reach it, of every place that has ended so far: none
// of these ends interrupts its next wait (docs/design/runtime.md, "How a wait learns of a loss"). Raises the epoch to
// that number, and waits for readers of this place's objects that began under an earlier epoch. cost: a look at each
// place.
void note_told() noexcept;
// As note_told, for the first `ends` ends, which the task knows already (survivors()); it is still to be told of later
// ones.
void note_told_of(std::uint32_t ends) noexcept;

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

// Returns the error for a caller that needs a place that has ended: the place's own loss or, if the place has merely
// gone, the first loss, which is the cause.
[[nodiscard]] place_lost_error loss_error(job_control& control, std::uint32_t place);
// Throws that error; the running task has then been told.
[[noreturn]] void throw_loss_of(job_control& control, std::uint32_t place);

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

// Marks that a place leaves a job in which another place is lost, and wakes every place, so that none waits for it. A
// lost place stays lost.
void leave_broken_job(job_control& control, std::uint32_t place) noexcept;

// Returns the reason of a lost place, or that a place has gone; else an empty text.
[[nodiscard]] std::string_view lost_reason(job_control& control, std::uint32_t place) noexcept;

}  // namespace situ::detail
