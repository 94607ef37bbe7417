// Distributes the pieces of work among threads. Threads walk through the same epochs: pieces that may run in any order,
// and that must all be done before the next epoch begins. Each thread has pieces of its own, whose data is in its
// caches; it takes them in order, and then helps other threads from the other end.
//
// A thread never waits for a thread, only for pieces that another thread has begun: if a thread comes late, or the
// system has preempted it, it finds its pieces done. Processors that other programs use, too, cost a loop the time of
// one piece, not of a time slice.
//
// Invariants
//   1. A word belongs to one owner: the last epoch in which a thread took a piece of that owner, and how many pieces
//      were taken from the front and from the back. A word of an earlier epoch says that no piece is taken; a word of a
//      later epoch, that this epoch is over.
//   2. done_ counts the pieces of the current epoch that are done. The thread that adds the last piece moves the pool's
//      phase() to the next epoch, which publishes the writes of all.
//   3. No piece of an epoch is taken before the phase has reached it.
//   4. A thread that has slept outside the job touches nothing but the pool until it is inside again: all other objects
//      may be destroyed.
#pragma once

#include "stencil/thread_pool.h"

#include <algorithm>
#include <vector>

namespace situ::stencil {

class shared_pieces {
 public:
  static constexpr int most_of_owner = 65535;  // pieces in one epoch

  explicit shared_pieces(thread_pool& pool) : pool_{pool}, words_(static_cast<std::size_t>(pool.size())) {}

  // Returns the epoch that begins when all earlier ones are done. Called while no thread is at work.
  [[nodiscard]] std::uint32_t first_epoch() const noexcept { return phase().load(std::memory_order_relaxed); }

  // Does the remaining pieces of an epoch: run(owner, piece) for pieces [0, count(owner)), of `total` in all, and waits
  // until the epoch is over. Returns false if the thread was outside the job while it waited, and the job has ended;
  // finish() then touches nothing of the job. It always returns true to the job's calling thread.
  template <class Count, class Run>
  [[nodiscard]] bool finish(int thread, std::uint32_t epoch, int total, const Count& count, const Run& run) {
    const int threads = pool_.size();
    int done = 0;
    for (int n = 0; n < threads; ++n) {
      const int owner = (thread + n) % threads;
      const int all = count(owner);
      if (n > 0 && all > 0 && is_over_soon(owner, epoch)) break;
      for (int i = take(owner, epoch, all, n == 0); i >= 0; i = take(owner, epoch, all, n == 0)) run(owner, i), ++done;
    }
    if (done > 0 && done_.fetch_add(done, std::memory_order_acq_rel) + done == total) {
      done_.store(0, std::memory_order_relaxed);  // published by the phase
      phase().store(epoch + 1, std::memory_order_release);
      phase().notify_all();
      return true;
    }
    return wait_for(thread, epoch + 1);
  }

 private:
  // Helpers spin so long for an owner that has not begun: if it is about to begin, it does its pieces better itself.
  static constexpr int spins_before_help = 200;

  struct alignas(64) word {
    struct taken {
      std::uint32_t epoch = 0;
      std::uint16_t front = 0, back = 0;
    };
    std::atomic<taken> now{};
  };
  [[nodiscard]] std::atomic<std::uint32_t>& phase() const noexcept { return pool_.phase(); }
  static bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

  // Takes a piece and returns its number; -1 if none is left. The phase orders the data of the pieces.
  int take(int owner, std::uint32_t epoch, int all, bool is_own) noexcept {
    auto& w = words_[static_cast<std::size_t>(owner)].now;
    auto seen = w.load(std::memory_order_relaxed);
    while (true) {
      if (is_before(epoch, seen.epoch)) return -1;
      auto next = seen.epoch == epoch ? seen : typename word::taken{epoch, 0, 0};
      if (next.front + next.back >= all) return -1;
      const int piece = is_own ? next.front++ : all - 1 - next.back++;
      if (w.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return piece;
    }
  }

  bool is_over_soon(int owner, std::uint32_t epoch) const noexcept {
    const auto& w = words_[static_cast<std::size_t>(owner)].now;
    for (int i = 0; i < spins_before_help && w.load(std::memory_order_relaxed).epoch != epoch; ++i) {
      if (is_before(epoch, phase().load(std::memory_order_acquire))) return true;
      spin_pause();
    }
    return false;
  }

  bool wait_for(int thread, std::uint32_t epoch) noexcept {
    for (int i = 0; i < spins_before_sleep; ++i) {
      if (!is_before(phase().load(std::memory_order_acquire), epoch)) return true;
      spin_pause();
    }
    for (auto seen = phase().load(std::memory_order_acquire); is_before(seen, epoch);
         seen = phase().load(std::memory_order_acquire)) {
      if (!pool_.wait_outside(thread, seen)) return false;
    }
    return true;
  }

  thread_pool& pool_;
  std::vector<word> words_;
  alignas(64) std::atomic<int> done_{0};
};

}  // namespace situ::stencil
