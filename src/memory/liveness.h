// Which places of a job are still there, and how the others hear that one has ended.
//
// Whoever learns of a loss first marks the place, raises failure_epoch (the number of ends so far) and wakes everybody.
// A task is told of each end once (docs/design/runtime.md, "How a wait learns of a loss"). Callable from any process of
// the job, and from its launcher, where nothing else is said.
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

// Whether others must no longer wait for the place. Not for `left`: then nobody waits.
[[nodiscard]] constexpr bool has_ended(place_state state) noexcept {
  return state == place_state::lost || state == place_state::gone;
}

// Marks a place as lost (the first reason stands) and wakes every place; does nothing to a place that has left in
// order. Of a place that is marked already, whoever marked it, it makes sure that the others are told. Callable from
// any process of the job and its launcher. cost: a system call for each sleeping place.
void mark_lost(job_control& control, std::uint32_t place, std::string_view reason) noexcept;

// Throws place_lost_error for the first lost place, at place `self` (no_place: one that has not joined yet), once
// nobody reads objects of that place any more (reading_guard): whoever catches it may free what it had offered. The
// running task has then been told of every end so far (note_told). pre: failure_epoch > 0.
[[noreturn]] void throw_place_lost(job_control& control, std::uint32_t self);

// The running task learns, by an exception that is about to reach it, of every place that has ended so far: none of
// these ends its next wait (docs/design/runtime.md, "How a wait learns of a loss"). The epoch is raised to that, and
// who reads objects of this place under an earlier one is awaited. cost: a look at each place.
void note_told() noexcept;
// The same of that many ends, which it knows already (survivors()); of further ones it is still to be told.
void note_told_of(std::uint32_t ends) noexcept;

// While it lives, objects that a task of place `source`, told of `epoch` ends, has offered may be read. Throws
// place_lost_error where a place was lost since: then that task may have given up waiting, and freed them. Either the
// reader sees the new epoch, or the task, which is told only after that epoch was raised, sees the mark and waits. What
// is done under it must not wait. cost: two fenced stores.
class reading_guard {
 public:
  reading_guard(job_control& control, std::uint32_t self, std::atomic<std::uint32_t> place_slot::* mark,
                std::uint32_t source, std::uint32_t epoch);

 private:
  // A part of its own, so that it is taken back whatever ends the constructor.
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

// The error for who needs a place that has ended: its own loss, or, where it has merely gone, the first loss, which is
// the cause.
[[nodiscard]] place_lost_error loss_error(job_control& control, std::uint32_t place);
// Throws it; the running task has then been told.
[[noreturn]] void throw_loss_of(job_control& control, std::uint32_t place);

// Wakes a place if it sleeps. cost: one load where it does not.
void wake_slow(place_slot& slot) noexcept;
inline void wake(place_slot& slot) noexcept {
  if (slot.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_slow(slot);
}
// The same after a change that the place may await: whose order is the change first, and then the look at `sleeping`.
inline void wake_after_change(place_slot& slot) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wake(slot);
}

// Which counter of place_slot::changes is a word's. Words of an array lie a power of two of lines apart, so lines alone
// would bring all of them into one.
[[nodiscard]] inline std::size_t change_bucket(const void* word) noexcept {
  const std::uintptr_t line = reinterpret_cast<std::uintptr_t>(word) / signal_line_bytes;
  return (line + line / place_slot::change_buckets) % place_slot::change_buckets;
}
// After a change of a word that lies elsewhere, and that a task of the place awaits behind a change_gate.
inline void wake_after_change(place_slot& slot, const void* word) noexcept {
  slot.changes[change_bucket(word)].fetch_add(1);
  wake_after_change(slot);
}

// Keeps a task that awaits a word elsewhere from looking there in each turn: such a look is a remote access, and where
// many wait, their looks are what the memory is busy with. It opens for the first look, and again once somebody has
// changed a word of that bucket. It does not open for the end of a place, which ends waits by itself.
class change_gate {
 public:
  // For a word that a task of `place` awaits.
  change_gate(job_control& control, std::uint32_t place, const void* word) noexcept
      : changes_{control.slot(place).changes[change_bucket(word)]} {}
  // Whether to look. The look comes after it.
  [[nodiscard]] bool is_open() noexcept {
    const std::uint32_t now = changes_.load(std::memory_order_acquire);
    return std::exchange(seen_, now) != now;
  }
  // There may be more to see.
  void open() noexcept { seen_ = never_seen; }
  // Before what somebody else will answer: nothing is to be seen until they have.
  void close() noexcept { (void)is_open(); }

 private:
  static constexpr std::uint64_t never_seen = ~std::uint64_t{0};
  const std::atomic<std::uint32_t>& changes_;
  std::uint64_t seen_ = never_seen;
};

// A place leaves a job in which another is lost: wakes every place, so that nobody waits for this one. A lost place
// stays lost.
void leave_broken_job(job_control& control, std::uint32_t place) noexcept;

// The reason of a lost place; that a place has gone; else empty.
[[nodiscard]] std::string_view lost_reason(job_control& control, std::uint32_t place) noexcept;

}  // namespace situ::detail
