#include "stencil/thread_pool.h"

#include <exception>
#include <utility>

#include "os/thread_stacks.h"

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
  // With more threads than processors the system's scheduler places them better.
  if (bind && size_ <= static_cast<int>(processors.size())) processors_ = std::move(processors);
  visitors_.resize(static_cast<std::size_t>(size_));
  const situ::detail::program_stacks for_kernels;
  for (int t = 1; t < size_; ++t) workers_.emplace_back([this, t] { work(t); });
}

thread_pool::~thread_pool() {
  stop_.store(true, std::memory_order_relaxed);  // published by the generation
  publish((generation_.load(std::memory_order_relaxed) + 2) & ~1u);
  workers_.clear();
}

// Thread 0 belongs to the program, which may have reasons for where it runs: it stays unbound.
void thread_pool::bind_to(int thread) const {
  if (processors_.empty()) return;
  situ::detail::bind_to_processor(processors_[static_cast<std::size_t>(thread)]);  // a refusal costs speed only
}

void thread_pool::publish(std::uint32_t generation) noexcept {
  generation_.store(generation, std::memory_order_release);
  generation_.notify_all();
}

void thread_pool::run(const std::function<void(int)>& f) {
  if (size_ == 1) return f(0);
  job_ = &f;
  settings_ = situ::detail::float_settings::of_this_thread();
  failed_.store(0, std::memory_order_relaxed);
  publish((generation_.load(std::memory_order_relaxed) + 2) & ~1u);
  std::exception_ptr own;
  try {
    f(0);
  } catch (...) {
    own = std::current_exception();
  }
  barrier();
  rethrow(std::move(own));
}

void thread_pool::rethrow(std::exception_ptr own) {
  if (own) std::rethrow_exception(own);
  if (failed_.load(std::memory_order_acquire) != 0) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void thread_pool::run_open(const std::function<void(int)>& f) {
  if (size_ == 1) return f(0);
  job_ = &f;
  settings_ = situ::detail::float_settings::of_this_thread();
  failed_.store(0, std::memory_order_relaxed);
  const auto generation = (generation_.load(std::memory_order_relaxed) + 1) | 1u;
  gate_.store(std::uint64_t{generation} << 32 | open_bit, std::memory_order_release);
  publish(generation);
  std::exception_ptr own;
  try {
    f(0);
  } catch (...) {
    own = std::current_exception();
  }
  auto gate = gate_.fetch_and(~open_bit, std::memory_order_acq_rel) & ~open_bit;
  for (int i = 0; (gate & count_mask) != 0; ++i, gate = gate_.load(std::memory_order_acquire)) {
    if (i < spins_before_sleep) {
      spin_pause();
    } else {
      gate_.wait(gate, std::memory_order_acquire);
    }
  }
  rethrow(std::move(own));
}

bool thread_pool::enter(visitor& v) noexcept {
  auto gate = gate_.load(std::memory_order_relaxed);
  while (gate >> 32 == v.generation && (gate & open_bit) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return v.is_inside = true;
  }
  return false;
}

void thread_pool::leave(visitor& v) noexcept {
  if (!std::exchange(v.is_inside, false)) return;
  const auto gate = gate_.fetch_sub(1, std::memory_order_acq_rel);
  if ((gate & open_bit) == 0 && (gate & count_mask) == 1) gate_.notify_all();
}

bool thread_pool::wait_outside(int thread, std::uint32_t old) noexcept {
  if (thread == 0) {
    job_phase_.wait(old, std::memory_order_acquire);
    return true;
  }
  auto& v = visitors_[static_cast<std::size_t>(thread)];
  leave(v);
  job_phase_.wait(old, std::memory_order_acquire);
  return enter(v);
}

void thread_pool::call_job(const std::function<void(int)>& f, int thread) noexcept {
  settings_.apply_unless_own();
  try {
    f(thread);
  } catch (...) {
    if (failed_.exchange(1, std::memory_order_acq_rel) == 0) failure_ = std::current_exception();
  }
}

void thread_pool::work(int thread) {
  const situ::detail::watched_stack watched{"a thread of a stencil context"};
  bind_to(thread);
  auto& me = visitors_[static_cast<std::size_t>(thread)];
  while (true) {
    wait_for_change(generation_, me.generation);
    me.generation = generation_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (me.generation % 2 == 0) {
      call_job(*job_, thread);
      barrier();
    } else if (enter(me)) {
      call_job(*job_, thread);
      leave(me);
    }
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
