#include "stencil/execute.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>

namespace situ::stencil {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Datasets as bits; two may share one, which costs a barrier at most.
struct touch_masks {
  std::uint64_t read = 0;
  std::uint64_t written = 0;

  [[nodiscard]] bool conflicts_with(const touch_masks& o) const noexcept {
    return (written & (o.read | o.written)) != 0 || (read & o.written) != 0;
  }
  void operator|=(const touch_masks& o) noexcept { read |= o.read, written |= o.written; }
};

struct loop_facts {
  touch_masks touches;
  std::array<bool, max_dims> splittable{};
};

std::vector<loop_facts> facts_of(chain loops) {
  std::vector<loop_facts> facts;
  for (const auto& l : loops) {
    auto& f = facts.emplace_back();
    // A line's accumulator may go to another thread in the next tile: a loop with reductions conflicts with itself.
    if (l->has_reduction()) f.touches.written |= std::uint64_t{1} << 63;
    for (const auto& a : l->arguments()) {
      if (a.data == nullptr) continue;
      const auto bit = std::uint64_t{1} << (a.data->index % 63);
      if (reads(a.mode)) f.touches.read |= bit;
      if (writes(a.mode)) f.touches.written |= bit;
    }
    for (int d = 0; d < max_dims; ++d) f.splittable[d] = l->is_splittable(d);
  }
  return facts;
}

template <class IsSplittable>
box cut(const box& part, int dims, const IsSplittable& is_splittable, int thread, int threads) {
  int best = -1;
  for (int d = dims - 1; d >= 0; --d) {
    if (!is_splittable(d)) continue;
    if (part.extent(d) >= 2 * threads) {
      best = d;
      break;
    }
    if (best < 0 || part.extent(d) > part.extent(best)) best = d;
  }
  box r = part;
  if (best < 0) {
    if (thread != 0) r.high = r.low;
    return r;
  }
  const std::int64_t n = part.extent(best);
  r.low[best] = part.low[best] + static_cast<int>(n * thread / threads);
  r.high[best] = part.low[best] + static_cast<int>(n * (thread + 1) / threads);
  return r;
}

}  // namespace

box slice(const box& part, int dims, const std::function<bool(int)>& is_splittable, int thread, int threads) {
  return cut(part, dims, is_splittable, thread, threads);
}

void chain_runner::run(chain loops, const plan& p, std::span<loop_time> times) { run_tiles(loops, p, 0, p.tile_count(), times); }

void chain_runner::run_tiles(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::span<loop_time> times) {
  const auto facts = facts_of(loops);
  const int threads = pool_.size();
  std::atomic<bool> has_failed{false};
  std::mutex failure_lock;
  std::exception_ptr failure;
  pool_.run([&](int thread) {
    auto& memory = memories_[static_cast<std::size_t>(thread)];
    touch_masks shared;  // by loops since the last barrier that all threads run
    touch_masks alone;   // by those that thread 0 runs
    for (std::int64_t tile = first; tile < last; ++tile) {
      const auto at = p.tile_index(tile);
      for (std::size_t l = 0; l < loops.size(); ++l) {
        const box part = p.part(static_cast<int>(l), loops[l]->range(), at);
        if (part.empty()) continue;
        const auto start = times.empty() || thread != 0 ? std::chrono::steady_clock::time_point{} : std::chrono::steady_clock::now();
        const auto& f = facts[l];
        const bool is_small = threads == 1 || part.points() < small_points_;
        if (threads > 1 && (f.touches.conflicts_with(shared) || (!is_small && f.touches.conflicts_with(alone)))) {
          pool_.barrier();
          shared = alone = {};
        }
        box mine = part;
        if (!is_small) {
          mine = cut(part, loops[l]->dims(), [&](int d) { return f.splittable[static_cast<std::size_t>(d)]; }, thread, threads);
          shared |= f.touches;
        } else {
          if (thread != 0) mine.high = mine.low;
          alone |= f.touches;
        }
        if (!mine.empty() && !has_failed.load(std::memory_order_relaxed)) {
          try {
            loops[l]->run(mine, memory);
          } catch (...) {
            const std::lock_guard guard{failure_lock};
            if (!failure) failure = std::current_exception();
            has_failed.store(true, std::memory_order_relaxed);
          }
        }
        if (!times.empty() && thread == 0) times[l].seconds += seconds_since(start);
      }
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace situ::stencil
