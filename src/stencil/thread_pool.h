// The threads that run loops: bound to processors in the order of the place tree, so that neighbours share caches and
// memory. The calling thread is thread 0.
//
// run(f) calls f(thread) on all of them and returns when all have returned. Waits spin for a short while and sleep
// after that: loops follow each other closely, but the processors may be shared.
//
// run_open(f) waits for nobody who has not begun: f is called here, and by the others as they come, as long as it runs
// here. So f does its work whoever takes part, and finds out itself what is left.
//
// f computes with the floating-point settings of the calling thread on all of them. An exception out of f on any thread
// is thrown by run() and run_open().
#pragma once

#include <situ/machine/tree.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/float_settings.h"
#include "base/host.h"

namespace situ::stencil {

// About 20 us of polling: longer than the gap between two loops, shorter than a time slice.
inline constexpr int spins_before_sleep = 4000;
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class thread_pool {
 public:
  // count 0: one thread for each processor that the process may use.
  thread_pool(const machine::tree& tree, int count, bool bind);
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  [[nodiscard]] int size() const noexcept { return size_; }
  void run(const std::function<void(int)>& f);
  void run_open(const std::function<void(int)>& f);
  // Inside f of run_open: until phase() has another value than `old`. Others than thread 0 sleep as if they had not
  // come, so that nobody waits for them: false if the job has ended in the meantime, and f must return without touching
  // what belongs to it, or to its owner.
  [[nodiscard]] bool wait_outside(int thread, std::uint32_t old) noexcept;
  // How far open jobs have come. Of the pool, since who sleeps outside may look at it at any time.
  [[nodiscard]] std::atomic<std::uint32_t>& phase() noexcept { return job_phase_; }

 private:
  static constexpr std::uint64_t open_bit = std::uint64_t{1} << 31;
  static constexpr std::uint64_t count_mask = open_bit - 1;
  struct alignas(64) visitor {
    std::uint32_t generation = 0;
    bool is_inside = false;
  };
  void work(int thread);
  void barrier() noexcept;
  void bind_to(int thread) const;
  void publish(std::uint32_t generation) noexcept;
  bool enter(visitor& v) noexcept;
  void leave(visitor& v) noexcept;
  void call_job(const std::function<void(int)>& f, int thread) noexcept;
  void rethrow(std::exception_ptr own);

  int size_;
  std::vector<std::uint32_t> processors_;  // empty: not bound
  const std::function<void(int)>* job_ = nullptr;
  situ::detail::float_settings settings_ = situ::detail::float_settings::usual();  // of the job
  std::exception_ptr failure_;
  std::atomic<int> failed_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{
      0};  // of jobs, ascending: even ones are for all threads, odd ones are open
  alignas(64) std::atomic<std::uint64_t> gate_{
      0};  // of the open job: its generation, whether it still is, how many are inside
  alignas(64) std::atomic<std::uint32_t> job_phase_{1};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  std::atomic<bool> stop_{false};
  std::vector<visitor> visitors_;
  std::vector<situ::detail::worker> workers_;
};

}  // namespace situ::stencil
