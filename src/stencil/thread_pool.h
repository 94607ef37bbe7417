// The threads that run loops: bound to processors in the order of the place tree, so that neighbours share caches and
// memory. The calling thread is thread 0.
//
// run(f) calls f(thread) on all threads and returns when all have returned. Waits spin for a short while and sleep
// after that: loops follow each other closely, but the processors may be shared.
//
// run_open(f) does not wait for a thread that has not begun: f is called on the calling thread, and on the others as
// they come, as long as it runs on the calling thread. So f must complete its work with any subset of the threads, and
// find out itself which work is left.
//
// On all threads f computes with the floating-point settings of the calling thread. run() and run_open() rethrow an
// exception of f on any thread.
#pragma once

#include <situ/machine/tree.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/float_settings.h"
#include "os/host.h"
#include "os/worker.h"

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
  // Starts the threads. count 0: one thread for each processor that the process may use.
  thread_pool(const machine::tree& tree, int count, bool bind);
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  [[nodiscard]] int size() const noexcept { return size_; }
  void run(const std::function<void(int)>& f);
  void run_open(const std::function<void(int)>& f);
  // Called from f in run_open: blocks until phase() differs from `old`. Threads other than thread 0 leave the job for
  // the wait, so that no thread waits for them. Returns false if the job has ended in the meantime: f must then return
  // without touching data of the job, or of its owner.
  [[nodiscard]] bool wait_outside(int thread, std::uint32_t old) noexcept;
  // Returns the progress of open jobs. It belongs to the pool, since threads that sleep outside a job may read it at
  // any time.
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
      0};  // of jobs, ascending: even generations are for all threads, odd ones are open
  alignas(64) std::atomic<std::uint64_t> gate_{
      0};  // of the open job: its generation, whether it is still open, the number of threads inside
  alignas(64) std::atomic<std::uint32_t> job_phase_{1};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  std::atomic<bool> stop_{false};
  std::vector<visitor> visitors_;
  std::vector<situ::os::worker> workers_;
};

}  // namespace situ::stencil
