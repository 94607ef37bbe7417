// Who does which piece of the work at hand. Threads walk through the same epochs: pieces that may run in any order, and
// that all have to be done before the next epoch begins. Each thread has pieces of its own, which lie in its caches,
// takes them in order, and then helps others from the other end.
//
// Nobody waits for a thread, only for pieces that one has begun: a thread that comes late, or that the system has put
// aside, finds its pieces done. Processors that other programs use, too, cost a loop the time of one piece, not of a
// time slice.
//
// Invariants
//   1. A word belongs to one owner: the last epoch in which somebody took a piece of that owner, and how many from the
//      front and from the back. A word of an earlier epoch says that nothing is taken; one of a later epoch, that this
//      one is over.
//   2. done_ counts the pieces of the current epoch that are done. Whoever adds the last moves the pool's phase() to
//      the next epoch, which publishes what they wrote.
//   3. No piece of an epoch is taken before the phase has reached it.
//   4. A thread that has slept outside the job touches nothing but the pool until it is inside again: all else may be
//      gone.
#pragma once

#include "stencil/thread_pool.h"

#include <algorithm>
#include <vector>

namespace situ::stencil {

class shared_pieces {
 public:
  static constexpr int most_of_owner = 65535;  // pieces in one epoch

  explicit shared_pieces(thread_pool& pool) : pool_{pool}, words_(static_cast<std::size_t>(pool.size())) {}

  // The epoch that begins when all before it are done. Called while no thread is at work.
  [[nodiscard]] std::uint32_t first_epoch() const noexcept { return phase().load(std::memory_order_relaxed); }

  // Does what is left of an epoch: run(owner, piece) for pieces [0, count(owner)), of `total` in all. False: the thread
  // was outside the job while it waited, and the job has ended; it returns without touching anything of it. The calling
  // thread of the job gets true.
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
  // An owner that has not begun gets a moment: if it is about to, its pieces are better done by it.
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

  // The number of a piece; -1: none is left. What pieces hold is ordered by the phase.
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
