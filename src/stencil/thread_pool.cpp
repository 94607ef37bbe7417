#include "stencil/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <exception>
#include <utility>

namespace situ::stencil {
namespace {

template <class T>
void wait_for_change(const std::atomic<T>& word, T old) noexcept {
  for (int i = 0; i < spins_before_sleep; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    spin_pause();
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

std::vector<std::uint32_t> usable_processors(const machine::tree& tree) {
  const auto allowed = machine::processor_set::of_this_thread();
  std::vector<std::uint32_t> found;
  for (machine::node_id id = 0; id < tree.nodes().size(); ++id) {
    if (tree.is_processor(id) && allowed.contains(tree.at(id).os_index)) found.push_back(tree.at(id).os_index);
  }
  return found;
}

}  // namespace

thread_pool::thread_pool(const machine::tree& tree, int count, bool bind) {
  auto processors = usable_processors(tree);
  size_ = count > 0 ? count : std::max<int>(1, static_cast<int>(processors.size()));
  // More threads than processors: the system's scheduler knows better.
  if (bind && size_ <= static_cast<int>(processors.size())) processors_ = std::move(processors);
  for (int t = 1; t < size_; ++t) threads_.emplace_back([this, t] { work(t); });
}

thread_pool::~thread_pool() {
  stop_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (auto& t : threads_) t.join();
}

// Thread 0 belongs to the program, which may have reasons for where it runs: it stays unbound.
void thread_pool::bind_to(int thread) const {
  if (processors_.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processors_[static_cast<std::size_t>(thread)], &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // a refusal costs speed only
}

void thread_pool::run(const std::function<void(int)>& f) {
  if (size_ == 1) return f(0);
  job_ = &f;
  failed_.store(0, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  std::exception_ptr own;
  try {
    f(0);
  } catch (...) {
    own = std::current_exception();
  }
  barrier();
  if (own) std::rethrow_exception(own);
  if (failed_.load(std::memory_order_acquire) != 0) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void thread_pool::work(int thread) {
  bind_to(thread);
  std::uint32_t seen = 0;
  while (true) {
    wait_for_change(generation_, seen);
    ++seen;
    if (stop_) return;
    try {
      (*job_)(thread);
    } catch (...) {
      if (failed_.exchange(1, std::memory_order_acq_rel) == 0) failure_ = std::current_exception();
    }
    barrier();
  }
}

void thread_pool::barrier() noexcept {
  if (size_ == 1) return;
  const auto phase = phase_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);  // published by the phase
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
  } else {
    wait_for_change(phase_, phase);
  }
}

}  // namespace situ::stencil
