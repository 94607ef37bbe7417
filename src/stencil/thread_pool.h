// The threads that run loops: bound to processors in the order of the place tree, so that neighbours share caches and memory. The
// calling thread is thread 0.
//
// run(f) calls f(thread) on all of them and returns when all have returned; barrier() is for use inside f. Both wait by spinning
// for a short while and by sleeping after that: loops follow each other closely, but the processors may be shared.
// An exception out of f on any thread is thrown by run(); f must not throw between barriers others wait at (they would wait for ever), so
// executors catch inside and go on to the barrier.
#pragma once

#include <situ/machine/tree.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

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
  void barrier() noexcept;

 private:
  void work(int thread);
  void bind_to(int thread) const;

  int size_;
  std::vector<std::uint32_t> processors_;  // empty: not bound
  const std::function<void(int)>* job_ = nullptr;
  std::exception_ptr failure_;
  std::atomic<int> failed_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};  // counts jobs
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  bool stop_ = false;  // written before generation_ moves
  std::vector<std::thread> threads_;
};

}  // namespace situ::stencil
